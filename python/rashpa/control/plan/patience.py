# SPDX-License-Identifier: Apache-2.0
"""Computes the longest silence of a healthy run from its rates and deadlines."""

from collections.abc import Sequence

from rashpa.control.plan.model import PlannedBuffer
from rashpa.control.runfile.run_file import RunFile

_STALL_S = 8.0  # without any news, beyond what rate and deadlines explain


def patience_s(file: RunFile, buffers: Sequence[PlannedBuffer]) -> float:
    """Return the longest silence, in seconds, that a healthy run can show for these buffers."""
    period = 1.0 / file.detector.rate_hz if file.detector.rate_hz > 0 else 0.0
    slowest = max(buffer.section.every * buffer.section.stack for buffer in buffers) * period
    deadline_s = max(buffer.section.deadline_ms for buffer in buffers) / 1000.0
    stall_us: int = file.faults.stall_us
    return _STALL_S + 2.0 * slowest + deadline_s + stall_us / 1e6
