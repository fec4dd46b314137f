# SPDX-License-Identifier: Apache-2.0
"""Holds the state of a node: its owner, and the effects of its telegrams."""
