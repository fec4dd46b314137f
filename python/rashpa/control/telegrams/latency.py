# SPDX-License-Identifier: Apache-2.0
"""Holds latencies as histograms with the same bounds on all nodes, so that they can be added."""

BOUNDS_S: tuple[float, ...] = tuple(2**power / 1e9 for power in range(10, 35))
"""The bounds of `Latency.below`: 1.024 µs, and twice the one before, up to 17 s."""
