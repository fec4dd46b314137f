# SPDX-License-Identifier: Apache-2.0
"""Asks the machine of a node for its facts, and takes the output of its processes."""
