# SPDX-License-Identifier: Apache-2.0
"""Keeps the log of a node, in memory and as files."""
