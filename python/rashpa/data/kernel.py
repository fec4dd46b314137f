# SPDX-License-Identifier: Apache-2.0
"""Keeps the module name from which users' kernels import their declarations; the code is in `rashpa.data.kernels.kernel`."""

from rashpa.data.kernels.kernel import Axis, Column, PythonKernel, kernel

__all__ = ["Axis", "Column", "PythonKernel", "kernel"]
