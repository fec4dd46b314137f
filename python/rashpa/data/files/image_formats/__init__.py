# SPDX-License-Identifier: Apache-2.0
"""Reads image files of the field strictly: lengths and checksums are checked first, and absent parts are an error, never zeros."""
