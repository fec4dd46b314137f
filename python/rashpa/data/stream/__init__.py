# SPDX-License-Identifier: Apache-2.0
"""Receives live images and decisions."""
