# SPDX-License-Identifier: Apache-2.0
"""Reads the facts of a node's machine, and captures the output of its processes."""
