# SPDX-License-Identifier: Apache-2.0
"""The name by which kernels of users import their declarations; it lies in `rashpa.data.kernels.kernel`."""

from rashpa.data.kernels.kernel import Axis, Column, PythonKernel, kernel

__all__ = ["Axis", "Column", "PythonKernel", "kernel"]
