# SPDX-License-Identifier: Apache-2.0
"""Names the ways in which values of pixels are marked as no counts. It imports nothing, since run files use the names, too."""

from typing import Literal

Kind = Literal["none", "maximum", "negative", "minimum", "not_a_number"]
"""The masking of an array."""

MaskedName = Literal["delivered", "minimum"]
"""The masking of a detector or a file: as detectors mask their type, or as kernels do."""
