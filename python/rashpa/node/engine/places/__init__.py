# SPDX-License-Identifier: Apache-2.0
"""Chooses the NUMA node on which a node sets up its engine."""
