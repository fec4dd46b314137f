# SPDX-License-Identifier: Apache-2.0
"""Shows runs that have ended."""
