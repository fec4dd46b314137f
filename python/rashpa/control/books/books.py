# SPDX-License-Identifier: Apache-2.0
"""Collects the counters of all nodes and their tables of images at the end of a run, and compares them."""

from collections.abc import Mapping

from rashpa.control.books.accounting import account_received, account_run
from rashpa.control.books.group_accounting import account_groups
from rashpa.control.books.outcome import Outcome
from rashpa.control.nodes.gather_limited import gather_limited
from rashpa.control.nodes.node_client import NodeClient
from rashpa.control.plan.model import Plan
from rashpa.control.telegrams.telegram import Status


async def take_books(
    plan: Plan, clients: Mapping[str, NodeClient], last: Mapping[str, Status], outcome: Outcome
) -> None:
    """Add the books of all nodes to the outcome, which names the lost nodes; `last` has their last status. Raise NodeError when a node fails."""
    alive = [receiver.name for receiver in plan.receivers if receiver.name not in outcome.lost]
    names = [*(emulator.name for emulator in plan.emulators), *alive]
    # nodes beside each other, the questions to one after the other
    said = dict(zip(names, await gather_limited(lambda name: clients[name].status(), names), strict=True))
    outcome.emulators |= {emulator.name: said[emulator.name] for emulator in plan.emulators}
    outcome.receivers |= {
        name: last[name] for name in outcome.lost if name in last
    }  # one may be lost before it says anything
    outcome.receivers |= {name: said[name] for name in alive}
    sources = [emulator.name for emulator in plan.emulators]
    parts = await gather_limited(lambda name: _fates(plan, name, clients[name]), sources)
    found = {dtp: fates for part in parts for dtp, fates in part.items()}
    outcome.fates |= {dtp.id: found[dtp.id] for dtp in plan.dtps if dtp.id in found}
    for group in plan.groups:
        for name in group.members:
            dtp = plan.dtps_of(name)[0]
            outcome.dealt[name] = await clients[plan.emulator_of(dtp)].table("dealt", dtp=dtp.id)
    await gather_limited(lambda name: _take_tables(plan, name, clients[name], outcome), alive)
    outcome.groups = account_groups(
        plan, outcome.dealt, outcome.fates, outcome.completeness, outcome.lost, outcome.sources, outcome.joined
    )
    groups = tuple(group.as_buffer for group in outcome.groups)
    if plan.emulators:
        outcome.accounts = account_run(plan, outcome.fates, outcome.completeness) + groups
    else:
        outcome.accounts = account_received(plan, outcome.completeness)
    outcome.cautions += tuple(line for group in outcome.groups for line in group.cautions)


async def _fates(plan: Plan, emulator: str, client: NodeClient) -> dict[int, bytes]:
    return {dtp.id: await client.table("fates", dtp=dtp.id) for dtp in plan.dtps_from(emulator)}


async def _take_tables(plan: Plan, receiver: str, client: NodeClient, outcome: Outcome) -> None:
    for buffer in plan.buffers_of(receiver):
        name = buffer.section.name
        outcome.completeness[name] = await client.table("completeness", buffer=name)
        outcome.decisions[name] = await client.table("decisions", buffer=name)
