# SPDX-License-Identifier: Apache-2.0
"""How a run whose length nobody knew is ended: all emulators after the same frame."""

import asyncio
from collections.abc import Sequence

from rashpa.control import telegram
from rashpa.control.node_client import NodeClient


async def end_sources(emulators: Sequence[NodeClient]) -> int:
    """Pauses those that still send, takes the latest frame that any has begun, and tells them to go on to it. How many frames the run has.
    NodeError."""
    statuses = await asyncio.gather(*(emulator.status() for emulator in emulators))
    going = [one for one, status in zip(emulators, statuses, strict=True) if status.state == "running"]
    await asyncio.gather(*(emulator.order(telegram.Pause()) for emulator in going))
    statuses = await asyncio.gather(*(emulator.status() for emulator in emulators))
    frames = max((status.source.frames_begun for status in statuses if status.source), default=0)
    await asyncio.gather(*(emulator.order(telegram.Stop(frames=frames)) for emulator in going))
    return frames
