# SPDX-License-Identifier: Apache-2.0
"""Computes the needs of a plan for links, memory and units, and proposes settings that fit."""
