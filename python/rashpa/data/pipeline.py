# SPDX-License-Identifier: Apache-2.0
"""The name by which programs of users import pipelines; they lie in `rashpa.data.kernels.pipeline`, and `rashpa.Pipeline` is the same."""

from rashpa.data.kernels.pipeline import Found, Pipeline

__all__ = ["Found", "Pipeline"]
