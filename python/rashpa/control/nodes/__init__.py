# SPDX-License-Identifier: Apache-2.0
"""Starts nodes, reaches them, and asks what they know of themselves."""
