# SPDX-License-Identifier: Apache-2.0
"""Keeps the module name from which users import pipelines; the code is in `rashpa.data.kernels.pipeline`, and `rashpa.Pipeline` is the same."""

from rashpa.data.kernels.pipeline import Found, Pipeline

__all__ = ["Found", "Pipeline"]
