# SPDX-License-Identifier: Apache-2.0
"""Draws images and curves."""
