# SPDX-License-Identifier: Apache-2.0
"""Holds the deadlines of receivers while their sources get the order to pause or to end, one after the other: no image is late in that time."""

import contextlib
from collections.abc import AsyncIterator, Collection

from rashpa.control.nodes.gather_limited import gather_all
from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.telegrams import telegram


@contextlib.asynccontextmanager
async def deadlines_held(receivers: Collection[NodeClient]) -> AsyncIterator[None]:
    """Hold the deadlines of images for the time of the context: a source that pauses first has not sent images that another has. Raise no refusal of a receiver."""
    await hold_deadlines(receivers, held=True)
    try:
        yield
    finally:
        await hold_deadlines(receivers, held=False)


async def hold_deadlines(receivers: Collection[NodeClient], *, held: bool) -> None:
    """Tell all receivers at once. The observer of the receivers reports one that does not obey."""
    await gather_all(_tell(receiver, telegram.HoldDeadlines(held=held)) for receiver in receivers)


async def _tell(receiver: NodeClient, order: telegram.HoldDeadlines) -> None:
    with contextlib.suppress(NodeError):
        await receiver.order_unless_finished(order)
