# SPDX-License-Identifier: Apache-2.0
"""Writes the log of a node, in memory and as files."""
