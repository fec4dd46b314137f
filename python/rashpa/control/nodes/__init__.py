# SPDX-License-Identifier: Apache-2.0
"""Starts nodes, connects to them, and reads their state."""
