# SPDX-License-Identifier: Apache-2.0
"""Holds the common parts of all readers: texts, limits, errors, masked pixels and books."""
