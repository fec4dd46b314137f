# SPDX-License-Identifier: Apache-2.0
"""Holds replacements of nodes and machines, and measures, for tests."""
