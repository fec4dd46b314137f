# SPDX-License-Identifier: Apache-2.0
"""Finds the first image that each receiver lacks, for a run that was given up."""

import time
from collections.abc import Mapping

from rashpa.control.books.outcome import modules_behind
from rashpa.control.plan.model import Plan
from rashpa.control.plan.receivers import PlannedReceiver
from rashpa.control.telegrams.telegram import Status


def first_missing(plan: Plan, last: Mapping[str, Status], heard: Mapping[str, float], lost: str) -> str:
    """Return a line for each receiver that lacks an image, the line of the receiver `lost` first. `heard`: the monotonic time of each last status."""
    receivers = sorted(plan.receivers, key=lambda receiver: receiver.name != lost)
    lines = [_of_receiver(plan, receiver, last, heard, receiver.name == lost) for receiver in receivers]
    return "\n".join(line for line in lines if line) or "no image is missing"


def _of_receiver(
    plan: Plan, receiver: PlannedReceiver, last: Mapping[str, Status], heard: Mapping[str, float], lost: bool
) -> str:
    said = f"first missing image of {receiver.label}" if receiver.shown_name else "first missing image"
    status = last.get(receiver.name)
    if status is None or status.destination is None:
        return f"{said}: 0 of every buffer; the receiver was lost before it said anything"
    if not lost and status.destination.first_incomplete:
        return f"{said}: {status.destination.first_incomplete}"
    ago = time.monotonic() - heard.get(receiver.name, time.monotonic())
    for buffer, known in zip(plan.buffers_of(receiver.name), status.destination.buffers, strict=False):
        due = known.books.expected
        if known.books.decided < due:
            when = f", as last heard {ago:.1f} s before" if lost else ""
            index = known.books.decided
            behind = modules_behind(known)
            waits = f", which waits for module {' and '.join(map(str, behind))}" if behind else ""
            frame = "" if plan.group_of(receiver.name) else f" (frame {buffer.frame_of(index)})"
            return f"{said}: buffer {known.name} image {index}{frame}{waits}{when}"
    return ""
