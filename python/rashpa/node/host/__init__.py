# SPDX-License-Identifier: Apache-2.0
"""Asks the machine of a node, and takes what its processes print."""
