# SPDX-License-Identifier: Apache-2.0
"""Collects images of a run for its report. It asks the receivers at the end of the run, and never during the run."""

import contextlib
from collections.abc import Iterable, Mapping

from rashpa.control.nodes.gather_limited import gather_limited
from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.nodes.running_time import within
from rashpa.control.plan.model import Plan, PlannedBuffer

SHOWN = ("accepted", "vetoed", "partial")
MOST_BUFFERS = 4
"""The first buffers of a run that are shown: a report stays small."""
MOST_SIDE = 560
"""Values of a picture's longer side."""
_PATIENCE_S = 5.0

Pictures = dict[str, dict[str, bytes]]
"""Views by buffer and kind of image, as nodes answer `/view`."""


async def take_pictures(plan: Plan, clients: Mapping[str, NodeClient], receivers: Iterable[str]) -> Pictures:
    """Return the images that these receivers have kept, except images that do not arrive in time."""
    wanted = set(receivers)
    buffers = [buffer for buffer in plan.buffers[:MOST_BUFFERS] if buffer.receiver in wanted]
    found: Pictures = {buffer.section.name: {} for buffer in buffers}

    async def ask(buffer: PlannedBuffer) -> None:
        name = buffer.section.name
        step = str(-(-max(buffer.width, buffer.height) // MOST_SIDE))
        for of in SHOWN:
            with contextlib.suppress(NodeError):
                content = await clients[buffer.receiver].view({"buffer": name, "of": of, "step": step})
                if content is not None:
                    found[name][of] = content

    with contextlib.suppress(TimeoutError):
        async with within(_PATIENCE_S):
            await gather_limited(ask, buffers)
    return found
