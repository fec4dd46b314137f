# SPDX-License-Identifier: Apache-2.0
"""Compares, image by image, the fates that the emulator's log records with the results at the receiver (docs/explanations/books.md)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rashpa.control.plan.model import Plan, PlannedBuffer

OPEN, COMPLETE, PARTIAL, MISSING = range(4)
STATE_NAMES = ("open", "complete", "partial", "missing")
DECISION_NAMES = ("none", "accepted", "vetoed", "errored")

Table = NDArray[np.uint8]


@dataclass(frozen=True)
class BufferAccount:
    """Holds the account of one buffer: images by their fate in the log, and the number of images with another result at the receiver."""

    name: str
    expected_complete: int
    expected_partial: int
    expected_missing: int
    unexplained: int
    first_unexplained: str


def image_fates(fates: list[Table]) -> Table:
    """Return the expected fate of each image, from the fates of its DTPs: complete when all are complete, missing when all are missing, otherwise
    partial. A DTP's image that was never sent is missing, also after the last image of that DTP when others have sent more."""
    images = max(fate.size for fate in fates)
    parts = np.stack(
        [
            np.pad(np.where(fate == OPEN, MISSING, fate), (0, images - fate.size), constant_values=MISSING)
            for fate in fates
        ]
    )
    result = np.full(parts.shape[1], PARTIAL, np.uint8)
    result[(parts == COMPLETE).all(axis=0)] = COMPLETE
    result[(parts == MISSING).all(axis=0)] = MISSING
    return result


def account_buffer(buffer: PlannedBuffer, fates: Mapping[int, Table], completeness: Table) -> BufferAccount:
    """Return the account of one buffer."""
    due = image_fates([fates[dtp.id] for dtp in buffer.dtps])
    # images that a run had given up before its early end: they were never sent
    due = np.pad(due, (0, max(0, completeness.size - due.size)), constant_values=MISSING)
    if due.shape != completeness.shape:
        text = f"buffer {buffer.section.name}: the log has {due.size} images, the receiver {completeness.size}"
        return BufferAccount(buffer.section.name, 0, 0, 0, max(due.size, completeness.size), text)
    differing = np.flatnonzero(due != completeness)
    first = ""
    if differing.size:
        index = int(differing[0])
        first = (
            f"buffer {buffer.section.name} image {index} (frame {buffer.frame_of(index)}): the emulator's log says {STATE_NAMES[due[index]]}, "
            f"the receiver found {STATE_NAMES[completeness[index]]}"
        )
    counts = [int((due == state).sum()) for state in (COMPLETE, PARTIAL, MISSING)]
    return BufferAccount(buffer.section.name, counts[0], counts[1], counts[2], int(differing.size), first)


def account_run(plan: Plan, fates: Mapping[int, bytes], completeness: Mapping[str, bytes]) -> tuple[BufferAccount, ...]:
    """Return the accounts of all buffers. Tables are as nodes send them, one byte for each image."""
    tables = {dtp: np.frombuffer(table, np.uint8) for dtp, table in fates.items()}
    return tuple(
        account_buffer(buffer, tables, np.frombuffer(completeness[buffer.section.name], np.uint8))
        for buffer in plan.buffers
        if plan.group_of(buffer.receiver) is None  # the others are compared together: group_accounting
    )


def account_received(plan: Plan, completeness: Mapping[str, bytes]) -> tuple[BufferAccount, ...]:
    """Return the accounts of the buffers of a detector that sends by itself. It has no log, so that only the losses found at the receiver are known."""
    found = []
    for buffer in plan.buffers:
        states = np.frombuffer(completeness[buffer.section.name], np.uint8)
        counts = [int((states == state).sum()) for state in (COMPLETE, PARTIAL, MISSING)]
        found.append(BufferAccount(buffer.section.name, counts[0], counts[1], counts[2], 0, ""))
    return tuple(found)
