# SPDX-License-Identifier: Apache-2.0
"""A native emulator deals images among native receivers, one of which joins later; orders are given without a manager."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.control.orders.plan_telegrams import destination_telegram, join_telegram, source_telegram
from rashpa.control.plan.groups import Joined
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import joined_plan, load_plan
from rashpa.control.telegrams import telegram
from rashpa.node.engine.engine import Engine, EngineError
from rashpa.node.engine.native_engine import NativeFactory
from rashpa.testing.run_file import Table, run_file
from rashpa.testing.waiting import eventually

pytestmark = pytest.mark.whole


def run_text(output: Path, link: Table | None) -> str:
    return run_file(
        run={"name": "dealt", "frames": 600, "output": output},
        # Slow enough that one can join before the end, also on a machine that is busy.
        detector={"width": 32, "height": 16, "rate_hz": 250, "module": [{"x": 0, "y": 0}, {"x": 0, "y": 20}]},
        dataset={"modules": 2},
        link=link or {},
        receiver=[{"name": "a", "port": 0}, {"name": "b", "port": 0}],
        # Members that get no processor are not late: their images would be dealt again.
        group=[{"name": "farm", "receivers": ["a", "b"], "response_ms": 60_000}],
        buffer={"group": "farm", "slots": 16, "stack": 4},
    )


Ends = dict[int, tuple[telegram.Endpoint, telegram.Placement]]


class Farm:
    """Holds the configured engines of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.receivers: dict[str, Engine] = {}
        ends: Ends = {}
        for receiver in plan.receivers:
            ends |= self.configure(plan, receiver.name)
        self.emulator: Engine = NativeFactory("emulator").make(source_telegram(plan, plan.emulators[0], ends))
        sources = self.emulator.configured("emulator").endpoints
        for name, engine in self.receivers.items():
            engine.arm(telegram.Arm(endpoints=tuple(sources[dtp.id] for dtp in plan.dtps_of(name))))
            engine.start()

    def configure(self, plan: Plan, name: str) -> Ends:
        """Configure one more receiver; return where its DTPs must write."""
        engine = NativeFactory("receiver").make(destination_telegram(plan, plan.receiver(name)))
        self.receivers[name] = engine
        said = engine.configured(name)
        ids = [dtp.id for dtp in plan.dtps_of(name)]
        return dict(zip(ids, zip(said.endpoints, said.placements, strict=True), strict=True))

    def status(self) -> telegram.GroupStatus:
        status = self.emulator.status()
        assert isinstance(status, telegram.SourceStatus)
        (group,) = status.groups
        return group

    def end(self) -> None:
        for engine in (self.emulator, *self.receivers.values()):
            engine.abort()


def plan_of(folder: Path, link: Table | None = None) -> Plan:
    file = folder / "dealt.toml"
    file.write_text(run_text(output=folder / "out", link=link))
    return load_plan(file)


def until_settled(farm: Farm) -> None:
    eventually(lambda: farm.status().settled)


@pytest.mark.parametrize("link", [None, {"kind": "pcie"}])
def test_one_that_joins_is_held_until_it_is_fed_and_then_has_its_share(tmp_path: Path, link: Table | None) -> None:
    plan = plan_of(tmp_path, link)
    farm = Farm(plan)
    farm.emulator.start()
    more = joined_plan(plan, Joined("farm", {"name": "c"}))
    order = join_telegram(more, "c", farm.configure(more, "c"))
    sources = farm.emulator.join(order)
    assert len(sources) == 2
    farm.receivers["c"].arm(telegram.Arm(endpoints=sources))
    farm.receivers["c"].start()
    assert [(one.name, one.state, one.dealt) for one in farm.status().members][2] == ("c", "held", 0)
    status = farm.emulator.status()
    assert isinstance(status, telegram.SourceStatus)
    assert [dtp.id for dtp in status.dtps] == [0, 1, 2, 3, 4, 5]
    farm.emulator.deal(telegram.Feed(group="farm", member="c", fed=True))
    until_settled(farm)
    farm.end()
    dealt = [farm.emulator.table("dealt", str(dtp)).view("<u8") for dtp in (0, 2, 4)]
    assert sorted(np.concatenate(dealt).tolist()) == list(range(600))
    assert dealt[2].size > 20
    assert farm.emulator.table("fates", "5")[: dealt[2].size].tolist() == [1] * dealt[2].size


def test_who_does_not_fit_does_not_join_and_nothing_has_changed(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    farm = Farm(plan)
    more = joined_plan(plan, Joined("farm", {"name": "c"}))
    order = join_telegram(more, "c", farm.configure(more, "c"))
    with pytest.raises(EngineError, match="not running"):
        farm.emulator.join(order)
    farm.emulator.start()
    first, second = order.dtps
    for wrong, said in (
        (replace(order, group="form"), "no group form"),
        (replace(order, member=replace(order.member, name="a")), "a is already a member"),
        (replace(order, member=replace(order.member, stack=3)), "stacks of 3"),
        (replace(order, member=replace(order.member, dtps=(4, 7))), "no DTP 7"),
        (replace(order, member=replace(order.member, dtps=(4,))), "with 2 DTPs, and 1 are named"),
        (replace(order, dtps=(replace(first, id=0), second)), "there is a DTP 0"),
        (replace(order, dtps=(replace(first, every=2, images=300), second)), "another time slice"),
        (replace(order, dtps=(replace(first, module=5), second)), "module 5"),
        (replace(order, dtps=(replace(first, link="verbs"), second)), "takes the link verbs"),
    ):
        with pytest.raises(EngineError, match=said):
            farm.emulator.join(wrong)
        assert [member.name for member in farm.status().members] == ["a", "b"], said
    assert len(farm.emulator.join(order)) == 2
    until_settled(farm)
    farm.end()
    with pytest.raises(EngineError, match="not running"):
        farm.emulator.join(replace(order, member=replace(order.member, name="d")))
