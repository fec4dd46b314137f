# SPDX-License-Identifier: Apache-2.0
"""Stand-ins and measures for tests."""
