# SPDX-License-Identifier: Apache-2.0
"""Checks whether a run has a hit curve."""

from rashpa.data.stored.joined_run import JoinedRun
from rashpa.data.stored.reader import Run


def no_hits(run: Run | JoinedRun) -> str:
    """Return the reason why a run has no hit curve, and a remedy; empty when it has one."""
    column = run.hit_column
    members = run.members if isinstance(run, JoinedRun) else (run,)
    if column is None or not any(one.summary(0).judged for one in members):
        return "no kernel of its pipeline has a verdict, so that there is no hit curve; one that counts spots has, such as bragg_count"
    if not (run.tables.counted(column) >= 0).any():
        return (
            f"no image came as far as the kernel that counts {column.replace('_', ' ')}, so that there is no hit curve"
        )
    return ""
