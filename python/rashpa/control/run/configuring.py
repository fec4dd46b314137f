# SPDX-License-Identifier: Apache-2.0
"""Sends nodes the orders that connect their DTPs, and checks the answers for each DTP."""

from collections.abc import Mapping

from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.orders.plan_telegrams import destination_telegram, join_telegram, source_telegram
from rashpa.control.plan.emulators import PlannedEmulator
from rashpa.control.plan.model import Plan
from rashpa.control.plan.receivers import PlannedReceiver
from rashpa.control.telegrams.telegram import Endpoint, Placement

Ends = dict[int, tuple[Endpoint, Placement]]
"""The memory to which DTPs write, by id."""


async def configure_receiver(plan: Plan, receiver: PlannedReceiver, client: NodeClient) -> Ends:
    """Configure a receiver; return the memory to which its DTPs write. Raise NodeError when it refuses."""
    answer = await client.configure(destination_telegram(plan, receiver, client.run_id))
    ids = [dtp.id for dtp in plan.dtps_of(receiver.name)]
    _expect(receiver.label, "Configure", len(ids), endpoints=len(answer.endpoints), placements=len(answer.placements))
    return dict(zip(ids, zip(answer.endpoints, answer.placements, strict=True), strict=True))


async def configure_emulator(
    plan: Plan, emulator: PlannedEmulator, client: NodeClient, ends: Mapping[int, tuple[Endpoint, Placement]]
) -> dict[int, Endpoint]:
    """Configure an emulator; return the endpoints from which its DTPs send, by id. Raise NodeError when it refuses."""
    answer = await client.configure(source_telegram(plan, emulator, ends))
    ids = [dtp.id for dtp in plan.dtps_from(emulator.name)]
    _expect(emulator.label, "Configure", len(ids), endpoints=len(answer.endpoints))
    return dict(zip(ids, answer.endpoints, strict=True))


async def join_emulator(
    plan: Plan, member: str, emulator: NodeClient, ends: Mapping[int, tuple[Endpoint, Placement]]
) -> tuple[Endpoint, ...]:
    """Add a member to a group; return the endpoints from which its DTPs send. Raise NodeError when the emulator refuses."""
    answer = await emulator.join(join_telegram(plan, member, ends))
    _expect(emulator.name, "Join", len(ends), endpoints=len(answer.endpoints))
    return answer.endpoints


def _expect(node: str, order: str, dtps: int, **answered: int) -> None:
    """Raise NodeError unless the node's answer has as many entries of each kind as there are DTPs."""
    if any(count != dtps for count in answered.values()):
        said = " and ".join(f"{count} {what}" for what, count in answered.items())
        raise NodeError(node, f"{node} answers {order} with {said} for {dtps} DTP{'s' * (dtps != 1)}", "telegram")
