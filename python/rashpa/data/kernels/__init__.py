# SPDX-License-Identifier: Apache-2.0
"""Calls kernels on arrays, one alone or several in sequence."""
