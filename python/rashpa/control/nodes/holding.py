# SPDX-License-Identifier: Apache-2.0
"""Suspends the deadlines of receivers while their sources, one after the other, get the order to pause or to end, so that no image is late in that
time."""

import contextlib
from collections.abc import AsyncIterator, Collection

from rashpa.control.nodes.gather_limited import gather_all
from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.telegrams import telegram


@contextlib.asynccontextmanager
async def deadlines_held(receivers: Collection[NodeClient]) -> AsyncIterator[None]:
    """Suspend the deadlines of images during the context, because a source that pauses first has not sent images that others have. Refusals
    by receivers raise no error."""
    await hold_deadlines(receivers, held=True)
    try:
        yield
    finally:
        await hold_deadlines(receivers, held=False)


async def hold_deadlines(receivers: Collection[NodeClient], *, held: bool) -> None:
    """Send the order to all receivers at once. It ignores receivers that fail, because the observer of the receivers reports them."""
    await gather_all(_tell(receiver, telegram.HoldDeadlines(held=held)) for receiver in receivers)


async def _tell(receiver: NodeClient, order: telegram.HoldDeadlines) -> None:
    with contextlib.suppress(NodeError):
        await receiver.order_unless_finished(order)
