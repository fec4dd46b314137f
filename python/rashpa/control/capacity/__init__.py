# SPDX-License-Identifier: Apache-2.0
"""Computes what a plan takes of links, memory and units, and proposes settings that fit."""
