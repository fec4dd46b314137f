# SPDX-License-Identifier: Apache-2.0
"""Holds the state of a node: whose it is, and what its telegrams do."""
