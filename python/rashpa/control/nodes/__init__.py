# SPDX-License-Identifier: Apache-2.0
"""Starts nodes, reaches them, and asks for their state."""
