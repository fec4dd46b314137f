# SPDX-License-Identifier: Apache-2.0
"""Holds what all readers share: texts, limits, errors, masked pixels and books."""
