# SPDX-License-Identifier: Apache-2.0
"""The end of a run: what all nodes have counted, and what they have noted of each image, compared."""

from collections.abc import Mapping

from rashpa.control.accounting import account_run
from rashpa.control.group_accounting import account_groups
from rashpa.control.node_client import NodeClient
from rashpa.control.outcome import Outcome
from rashpa.control.run_plan import Plan
from rashpa.control.telegram import Status


async def take_books(
    plan: Plan, clients: Mapping[str, NodeClient], last: Mapping[str, Status], outcome: Outcome
) -> None:
    """Into the outcome, which knows who was lost; of these `last` is what they said. NodeError."""
    for emulator in plan.emulators:
        outcome.emulators[emulator.name] = await clients[emulator.name].status()
    for receiver in plan.receivers:
        name = receiver.name
        outcome.receivers[name] = last[name] if name in outcome.lost else await clients[name].status()
    for dtp in plan.dtps:
        outcome.fates[dtp.id] = await clients[plan.emulator_of(dtp)].table("fates", dtp=dtp.id)
    for group in plan.groups:
        for name in group.members:
            dtp = plan.dtps_of(name)[0]
            outcome.dealt[name] = await clients[plan.emulator_of(dtp)].table("dealt", dtp=dtp.id)
    for buffer in (buffer for buffer in plan.buffers if buffer.receiver not in outcome.lost):
        name, client = buffer.section.name, clients[buffer.receiver]
        outcome.completeness[name] = await client.table("completeness", buffer=name)
        outcome.decisions[name] = await client.table("decisions", buffer=name)
    outcome.groups = account_groups(
        plan, outcome.dealt, outcome.fates, outcome.completeness, outcome.lost, outcome.sources
    )
    groups = tuple(group.as_buffer for group in outcome.groups)
    outcome.accounts = account_run(plan, outcome.fates, outcome.completeness) + groups
    outcome.cautions += tuple(line for group in outcome.groups for line in group.cautions)
