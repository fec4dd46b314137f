# SPDX-License-Identifier: Apache-2.0
"""Computes the load of a plan on links, memory and units, and proposes settings that fit."""
