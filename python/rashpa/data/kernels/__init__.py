# SPDX-License-Identifier: Apache-2.0
"""Calls kernels on arrays, alone and several in a row."""
