# SPDX-License-Identifier: Apache-2.0
"""Several emulators in a run file: the modules that each plays, its order, and refusals."""

from pathlib import Path

import pytest

from rashpa.control.capacity.capacity import CapacityError, cautions, check_capacity
from rashpa.control.orders.grant import grant_of
from rashpa.control.orders.plan_telegrams import source_telegram
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams.telegram import Capabilities, Endpoint, Placement, Source
from rashpa.control.telegrams.telegram_xml import decode, encode
from rashpa.testing.fake_engine import FakeFactory

HEAD = """\
[run]
name = "plan"
frames = 100
[detector]
width = 1000
height = 100
rate_hz = 1000.0
module = [{ x = 0, y = 0 }, { x = 0, y = 100 }, { x = 0, y = 200 }, { x = 0, y = 300 }, { x = 0, y = 400 }]
[dataset]
kind = "pattern"
width = 1000
height = 100
modules = 5
"""
BUFFERS = """\
[[buffer]]
name = "full"
sink = [{ kind = "null" }]
[[buffer]]
name = "part"
region = [0, 50, 100, 100]
sink = [{ kind = "null" }]
"""


def plan_of(tmp_path: Path, text: str) -> Plan:
    path = tmp_path / "plan.toml"
    path.write_text(HEAD + text)
    return load_plan(path)


def emulators(*tables: str, link: str = "", buffers: str = BUFFERS) -> str:
    return f"[link]\n{link}" + "".join(f"[[emulator]]\n{table}" for table in tables) + buffers


def told(plan: Plan) -> dict[str, Source]:
    place = Placement(
        pixels_offset=0, slot_bytes=1, slots=2, first_line_offset=0, pitch=1, line_bytes=1, lines=1, records_offset=9
    )
    ends = {
        dtp.id: (Endpoint(address="127.0.0.1", port=7000 + dtp.id, qpn=dtp.id, rkey=1, credit_offset=0), place)
        for dtp in plan.dtps
    }
    found = {}
    for emulator in plan.emulators:
        order = source_telegram(plan, emulator, ends)
        assert decode(encode(order)) == order
        assert order.source is not None
        found[emulator.name] = order.source
    return found


def test_a_run_file_without_emulators_has_one_that_plays_everything(tmp_path: Path) -> None:
    link = '[emulator]\naddress = "::1"\nprocessor = 3\ndevice = "rxe0"\nnuma = 1\n[receiver]\naddress = "::1"\n'
    plan = plan_of(tmp_path, link + '[nodes]\nemulator = "https://far:4780"\n' + BUFFERS)
    (one,) = plan.emulators
    assert (one.name, one.label, one.shown_name, one.node) == ("emulator", "emulator", "", "https://far:4780")
    order = told(plan)["emulator"]
    assert (order.emulator, order.bind_address, order.first_processor, one.device) == (
        "emulator",
        "::1",
        3,
        "rxe0",
    )
    assert order.numa == "1"
    assert [dtp.id for dtp in order.dtps] == [0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("tables", "modules"),
    [
        (("", ""), ((0, 1), (2, 3, 4))),
        (("", "", ""), ((0,), (1, 2), (3, 4))),
        (("modules = [4, 0]\n", ""), ((4, 0), (1, 2, 3))),
        (("", "modules = [1]\n", ""), ((0, 2), (1,), (3, 4))),
        (("modules = [3, 4]\n", "modules = [0, 1, 2]\n"), ((3, 4), (0, 1, 2))),
    ],
)
def test_modules_are_dealt_evenly_in_order_to_those_that_name_none(
    tmp_path: Path, tables: tuple[str, ...], modules: tuple[tuple[int, ...], ...]
) -> None:
    plan = plan_of(tmp_path, emulators(*(f'name = "e{number}"\n{table}' for number, table in enumerate(tables))))
    assert tuple(emulator.modules for emulator in plan.emulators) == modules
    owned = [[dtp.id for dtp in plan.dtps_from(emulator.name)] for emulator in plan.emulators]
    assert sorted(number for ids in owned for number in ids) == [dtp.id for dtp in plan.dtps]


def test_an_emulator_is_told_the_dtps_of_its_modules_with_its_own_values_and_defaults_where_it_has_none(
    tmp_path: Path,
) -> None:
    own = 'name = "right"\naddress = "127.0.0.2"\nprocessor = 5\ndevice = "rxe1"\nmodules = [1]\n'
    plan = plan_of(tmp_path, emulators('name = "left"\n', own))
    orders = told(plan)
    left, right = orders["left"], orders["right"]
    assert [node.device for node in plan.emulators] == ["", "rxe1"]
    assert (left.bind_address, left.first_processor) == ("127.0.0.1", -1)
    assert (right.bind_address, right.first_processor) == ("127.0.0.2", 5)
    assert [(dtp.id, dtp.module, dtp.destination.port) for dtp in left.dtps] == [
        (0, 0, 7000),
        (2, 2, 7002),
        (3, 3, 7003),
        (4, 4, 7004),
        (5, 0, 7005),
    ]
    assert [(dtp.id, dtp.module, dtp.destination.port) for dtp in right.dtps] == [(1, 1, 7001), (6, 1, 7006)]
    assert left.modules == right.modules == 5, "of the whole detector: the dataset is the same for all"


def test_no_name_of_a_node_is_special(tmp_path: Path) -> None:
    text = emulators('name = "receiver"\n', 'name = "b"\n') + '[[receiver]]\nname = "emulator"\n'
    plan = plan_of(tmp_path, text)
    assert [node.label for node in plan.nodes] == ["receiver emulator", "emulator receiver", "emulator b"]
    assert grant_of(plan, plan.nodes[0].role, "t").write
    assert not grant_of(plan, plan.nodes[1].role, "t").write


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            emulators('name = "a"\nmodules = [0, 5]\n', 'name = "b"\n'),
            "plan.toml:17: emulator[0].modules: module 5 does not exist; modules are 0 … 4",
        ),
        (
            emulators('name = "a"\nmodules = [0, 1]\n', 'name = "b"\nmodules = [1, 2]\n', 'name = "c"\n'),
            "plan.toml:20: emulator[1].modules: module 1 is emulator a's, too; a module is played once",
        ),
        (
            emulators('name = "a"\nmodules = [0, 1, 0]\n', 'name = "b"\n'),
            "plan.toml:17: emulator[0].modules: module 0 is twice here; a module is played once",
        ),
        (
            emulators('name = "a"\nmodules = [0, 1]\n', 'name = "b"\nmodules = [2]\n'),
            "plan.toml:20: emulator[1].modules: no emulator plays modules 3, 4; name every module",
        ),
        (
            emulators('name = "a"\nmodules = [0, 1, 2, 3, 4]\n', 'name = "b"\n'),
            "plan.toml:19: emulator[1].name: no module is left for emulator b: the detector has 5",
        ),
        (
            emulators(
                'name = "a"\n',
                'name = "b"\n',
                buffers='[[buffer]]\nname = "top"\nregion = [0, 0, 9, 9]\nsink = [{ kind = "null" }]\n',
            ),
            "plan.toml:18: emulator[1].name: no buffer takes pixels of the modules of emulator b (2, 3, 4); widen a region",
        ),
        (
            emulators('name = "a"\n', 'name = "a"\n'),
            "plan.toml:18: emulator[1].name: a is the name of an earlier emulator; choose another",
        ),
        (
            emulators('name = "receiver"\n'),
            "plan.toml:16: emulator[0].name: receiver is the name of the receiver that no [[receiver]] names; choose another",
        ),
        (
            emulators('name = "a"\n', 'name = "b"\n') + '[[receiver]]\nname = "b"\n',
            "emulator[1].name: b is the name of a receiver; choose another",
        ),
        (
            emulators('name = "a"\nnode = "https://h:1"\n', 'name = "b"\nnode = "https://h:1/"\n'),
            "plan.toml:20: emulator[1].node: emulator a and emulator b are both the node https://h:1",
        ),
        (
            emulators('name = "a"\nnode = "http://far:1"\n'),
            "plan.toml:17: emulator[0].node: http://far:1; nodes elsewhere are reached by https",
        ),
        (
            emulators('name = "a"\nnode = "https://h:1"\n') + '[nodes]\nreceiver = "https://h:1"\n',
            "emulator a are both the node https://h:1",
        ),
        (emulators('name = "a"\nport = 1\n'), "plan.toml:17: emulator[0].port: no such key; "),
        (
            emulators(
                'name = "a"\naddress = "fe80::1%eth0"\n',
                'name = "b"\naddress = "fe80::1%eth0"\n',
                link='roce.framing = "v1"\n[receiver]\naddress = "fe80::2%eth1"\n',
            ),
            "emulator[1].address: emulator a and emulator b are both fe80::1%eth0; with framing v1",
        ),
    ],
)
def test_what_emulators_must_not_share_or_lack_is_refused_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(RunFileError) as caught:
        plan_of(tmp_path, text)
    assert says in str(caught.value)


def test_nodes_of_one_machine_on_the_same_processors_are_cautioned_about(tmp_path: Path) -> None:
    text = emulators('name = "a"\nprocessor = 4\n', 'name = "b"\nprocessor = 4\n')
    (caution,) = cautions(plan_of(tmp_path, text))
    assert "emulator a and emulator b both begin at processor 4" in caution


def can(name: str, bytes_per_s: int = 0) -> Capabilities:
    role = "receiver" if name == "receiver" else "emulator"
    return FakeFactory(role, bytes_per_s).capabilities(name)


def test_each_emulator_is_held_to_what_it_sends_itself(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, emulators('name = "a"\n', 'name = "b"\n'))  # 0.42 and 0.6 GB/s
    receiver = can("receiver")
    fits = {"a": can("emulator a", 421_000_000), "b": can("emulator b", 601_000_000), "receiver": receiver}
    check_capacity(plan, fits)
    with pytest.raises(CapacityError, match=r"carry 0\.42 GB/s, link roce of emulator a \(host9\) 0\.40 GB/s"):
        check_capacity(plan, {**fits, "a": can("host9", 400_000_000)})
