# SPDX-License-Identifier: Apache-2.0
"""The answers of nodes to the orders that connect DTPs."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rashpa.control.nodes.node_client import NodeError
from rashpa.control.plan.groups import Joined
from rashpa.control.plan.run_plan import joined_plan
from rashpa.control.run.configuring import configure_emulator, configure_receiver, join_emulator
from rashpa.control.telegrams.telegram import Configured, Endpoint, Placement
from rashpa.testing.group_plan import plan_of

END = Endpoint(address="127.0.0.1", port=9, qpn=1, rkey=2, credit_offset=3)
PLACE = Placement(
    pixels_offset=0, slot_bytes=64, slots=4, first_line_offset=0, pitch=16, line_bytes=16, lines=4, records_offset=256
)


class Node:
    """Answers every order with the given numbers of endpoints and placements."""

    name = "node n"
    run_id = ""

    def __init__(self, endpoints: int, placements: int = 0) -> None:
        self._answer = Configured(node=self.name, endpoints=(END,) * endpoints, placements=(PLACE,) * placements)

    async def configure(self, _: object) -> Configured:
        return self._answer

    join = configure


def test_what_each_dtp_is_answered_goes_by_its_number(tmp_path: Path) -> None:
    plan: Any = plan_of(tmp_path)
    receiver, (emulator,) = plan.receivers[1], plan.emulators
    count = len(plan.dtps)

    async def asked() -> None:
        ends = await configure_receiver(plan, receiver, Node(1, 1))  # type: ignore[arg-type]
        assert ends == {plan.dtps_of(receiver.name)[0].id: (END, PLACE)}
        everywhere = {dtp.id: (END, PLACE) for dtp in plan.dtps}
        sources = await configure_emulator(plan, emulator, Node(count), everywhere)  # type: ignore[arg-type]
        assert list(sources) == [dtp.id for dtp in plan.dtps]
        more = joined_plan(plan, Joined("farm", {"name": "c"}))
        assert await join_emulator(more, "c", Node(1), {2: (END, PLACE)}) == (END,)  # type: ignore[arg-type]

    asyncio.run(asked())


@pytest.mark.parametrize(("endpoints", "placements"), [(0, 0), (2, 2), (1, 0), (0, 1), (1, 2)])
def test_an_answer_for_another_number_of_dtps_is_refused_with_the_node_s_name(
    tmp_path: Path, endpoints: int, placements: int
) -> None:
    plan: Any = plan_of(tmp_path)
    with pytest.raises(
        NodeError, match=f"answers Configure with {endpoints} endpoints and {placements} placements for 1 DTP"
    ):
        asyncio.run(configure_receiver(plan, plan.receivers[0], Node(endpoints, placements)))  # type: ignore[arg-type]


def test_emulators_are_held_to_their_dtps_as_well(tmp_path: Path) -> None:
    plan: Any = plan_of(tmp_path)
    ends = {dtp.id: (END, PLACE) for dtp in plan.dtps}
    with pytest.raises(NodeError, match="answers Configure with 7 endpoints for 2 DTPs"):
        asyncio.run(configure_emulator(plan, plan.emulators[0], Node(7), ends))  # type: ignore[arg-type]
    more = joined_plan(plan, Joined("farm", {"name": "c"}))
    with pytest.raises(NodeError, match="node n answers Join with 0 endpoints for 1 DTP"):
        asyncio.run(join_emulator(more, "c", Node(0), {2: (END, PLACE)}))  # type: ignore[arg-type]
