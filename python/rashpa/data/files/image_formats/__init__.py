# SPDX-License-Identifier: Apache-2.0
"""Image files of the field, read strictly: lengths and checksums are checked first, and absent parts are an error, never zeros."""
