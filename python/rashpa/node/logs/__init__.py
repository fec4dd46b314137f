# SPDX-License-Identifier: Apache-2.0
"""Writes what a node does: its log, in memory and as files."""
