# SPDX-License-Identifier: Apache-2.0
"""Reads run files: their sections, the values that they allow, and what is wrong in them."""
