# SPDX-License-Identifier: Apache-2.0
"""Image files of the field, read strictly: lengths and checksums are looked at first, and what is absent is an error, never zeros."""
