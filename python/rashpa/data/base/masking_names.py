# SPDX-License-Identifier: Apache-2.0
"""Names of the ways in which pixels hold no count. Imports nothing: run files know them, too."""

from typing import Literal

Kind = Literal["none", "maximum", "negative", "minimum", "not_a_number"]
"""The masking of an array."""

MaskedName = Literal["delivered", "minimum"]
"""The masking of a detector or a file: as detectors mask their type, or as kernels do."""
