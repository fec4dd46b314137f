# SPDX-License-Identifier: Apache-2.0
"""Several receivers in one run file: the order to each, and the resources that they must not share."""

from pathlib import Path

import pytest

from rashpa.control.capacity.capacity import CapacityError, cautions, check_capacity
from rashpa.control.orders.plan_telegrams import destination_telegram, source_telegram
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams.telegram import Capabilities, Destination, Endpoint, Placement
from rashpa.control.telegrams.telegram_xml import decode, encode
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.run_file import run_file

HEAD = run_file(
    run={"name": "plan", "frames": 100},
    detector={"width": 1000, "height": 500, "rate_hz": 1000.0},
    receiver=None,
    buffer=None,
)
BUFFERS = """\
[[buffer]]
name = "full"
sink = [{ kind = "null" }]
[[buffer]]
name = "part"
sink = [{ kind = "null" }]
receiver = "b"
region = [0, 0, 100, 50]
[[buffer]]
name = "small"
sink = [{ kind = "null" }]
region = [0, 0, 10, 10]
"""
TWO = '[[receiver]]\nname = "a"\nport = 0\n[[receiver]]\nname = "b"\nport = 0\n'


def plan_of(tmp_path: Path, text: str) -> Plan:
    path = tmp_path / "plan.toml"
    path.write_text(HEAD + text)
    return load_plan(path)


def told(plan: Plan) -> list[Destination]:
    orders = [destination_telegram(plan, receiver) for receiver in plan.receivers]
    for order in orders:
        assert decode(encode(order)) == order
    return [order.destination for order in orders if order.destination is not None]


def test_a_run_file_without_receivers_has_one_as_its_table_and_nodes_say(tmp_path: Path) -> None:
    link = '[emulator]\naddress = "::1"\n[receiver]\nport = 5000\nthreads = 2\naddress = "::1"\nprocessor = 3\nnuma = 1\ndevice = "rxe0"\n'
    nodes = '[nodes]\nreceiver = "https://far:4781"\n'
    plan = plan_of(tmp_path, link + nodes + BUFFERS.replace('receiver = "b"\n', ""))
    (one,) = plan.receivers
    assert (one.name, one.label, one.shown_name, one.node) == ("receiver", "receiver", "", "https://far:4781")
    (order,) = told(plan)
    assert (order.bind_address, order.port, order.link_threads, order.first_processor) == ("::1", 5000, 2, 3)
    assert order.numa == "1"
    assert one.device == "rxe0"
    assert [buffer.name for buffer in order.buffers] == ["full", "part", "small"]


def test_a_receiver_is_told_its_own_buffers_with_its_own_values_and_defaults_where_it_has_none(tmp_path: Path) -> None:
    own = 'address = "127.0.0.2"\nthreads = 3\nprocessor = 5\nnuma = "off"\ndevice = "rxe1"\n'
    bands = BUFFERS.replace('name = "part"\n', 'name = "part"\nbands = 3\n')
    plan = plan_of(tmp_path, TWO.removesuffix("port = 0\n") + "port = 6000\n" + own + bands)
    first, second = told(plan)
    assert (first.receiver, first.bind_address, first.port, first.link_threads) == ("a", "127.0.0.1", 0, 1)
    assert [node.device for node in plan.receivers] == ["", "rxe1"]
    assert first.first_processor == -1
    assert (second.receiver, second.bind_address, second.port, second.link_threads) == ("b", "127.0.0.2", 6000, 3)
    assert second.first_processor == 5
    assert (first.numa, second.numa) == ("auto", "off")
    assert [buffer.name for buffer in first.buffers] == ["full", "small"]
    assert [buffer.name for buffer in second.buffers] == ["part"]


def test_the_emulator_is_told_the_destination_of_each_dtp(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, TWO + BUFFERS)
    assert [[dtp.id for dtp in plan.dtps_of(name)] for name in ("a", "b")] == [[0, 2], [1]]
    ends = [
        Endpoint(address="127.0.0.1", port=7000 + number, qpn=number, rkey=1, credit_offset=0) for number in range(3)
    ]
    places = {
        number: (
            end,
            Placement(
                pixels_offset=0,
                slot_bytes=1,
                slots=2,
                first_line_offset=0,
                pitch=1,
                line_bytes=1,
                lines=1,
                records_offset=9,
            ),
        )
        for number, end in enumerate(ends)
    }
    source = source_telegram(plan, plan.emulators[0], places).source
    assert source is not None
    assert [(dtp.id, dtp.destination.port) for dtp in source.dtps] == [(0, 7000), (1, 7001), (2, 7002)]


def receivers(*tables: str, link: str = "", each: str = "") -> str:
    return f"[link]\n{link}" + "".join(f"[[receiver]]\n{table}{each}" for table in tables) + BUFFERS


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BUFFERS, "buffer[1].receiver: no receiver is named b; the file lists none: add [[receiver]]"),
        (
            receivers('name = "a"\n', 'name = "c"\n', each="port = 0\n"),
            "plan.toml:25: buffer[1].receiver: no receiver is named b; there are a, c",
        ),
        (
            receivers('name = "a"\n', 'name = "b"\n', 'name = "c"\n', each="port = 0\n"),
            'plan.toml:20: receiver[2].name: no buffer lies at receiver c; give it one ([[buffer]] receiver = "c")',
        ),
        (
            receivers('name = "a"\n', 'name = "b"\n'),
            "receiver[1].port: receiver a listens on 127.0.0.1 port 4791, receiver b on 127.0.0.1 port 4791; give each its own port or address",
        ),
        (
            receivers('name = "a"\nport = 5000\nthreads = 4\n', 'name = "b"\nport = 5003\n'),
            "plan.toml:19: receiver[1].port: receiver a listens on 127.0.0.1 port 5000 … 5003, receiver b on 127.0.0.1 port 5003",
        ),
        (receivers('name = "a"\n', 'name = "b"\naddress = "0.0.0.0"\n'), "receiver b on 0.0.0.0 port 4791"),
        (receivers('name = "a"\n', 'name = "b"\nport = 65535\nthreads = 2\n'), "end at port 65536"),
        (receivers('name = "b"\n', 'name = "b"\n', each="port = 0\n"), "b is the name of an earlier receiver"),
        (
            receivers('name = "emulator"\n', 'name = "b"\n', each="port = 0\n"),
            "emulator is the name of the emulator that no [[emulator]] names",
        ),
        (receivers('name = "a b"\n', 'name = "b"\n'), 'receiver[0].name: it is "a b"; it must be 1 to 64 letters'),
        (receivers('name = "a"\nnodes = "local"\n', 'name = "b"\n'), 'no such key; did you mean "node"?'),
        (
            receivers('name = "a"\nnode = "https://h:1"\n', 'name = "b"\nnode = "https://h:1/"\n', each="port = 0\n"),
            "receiver[1].node: receiver a and receiver b are both the node https://h:1",
        ),
        (
            receivers('name = "a"\n', 'name = "b"\nnode = "http://far:1"\n', each="port = 0\n"),
            "plan.toml:18: receiver[1].node: http://far:1; nodes elsewhere are reached by https",
        ),
        (
            receivers('name = "a"\n', 'name = "b"\n', each="port = 0\n").replace('"part"', '"full"'),
            "buffer[1].name: full is the name of an earlier buffer",
        ),
    ],
)
def test_what_receivers_must_not_share_or_lack_is_refused_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(RunFileError) as caught:
        plan_of(tmp_path, text)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        receivers('name = "a"\nport = 5000\nthreads = 4\n', 'name = "b"\nport = 5004\n'),
        receivers('name = "a"\n', 'name = "b"\naddress = "127.0.0.2"\n'),
        receivers(
            'name = "a"\naddress = "::"\n',
            'name = "b"\naddress = "::1"\nport = 5000\n',
            link='[emulator]\naddress = "::1"\n',
        ),
        receivers('name = "a"\naddress = "0.0.0.0"\n', 'name = "b"\nnode = "https://far:1"\naddress = "10.0.0.1"\n'),
        receivers('name = "a"\n', 'name = "b"\n', link='kind = "pcie"\n'),
        receivers('name = "a"\n', 'name = "b"\n', link='destination = "verbs"\n'),
    ],
)
def test_receivers_that_do_not_meet_are_planned(tmp_path: Path, text: str) -> None:
    assert len(plan_of(tmp_path, text.replace('name = "full"\n', 'name = "full"\nbands = 4\n')).receivers) == 2


def test_receivers_of_one_machine_on_the_same_processors_are_cautioned_about(tmp_path: Path) -> None:
    text = receivers('name = "a"\n', 'name = "b"\n', each="port = 0\nprocessor = 4\n")
    (caution,) = cautions(plan_of(tmp_path, text))
    assert "receiver a and receiver b both begin at processor 4" in caution
    assert cautions(plan_of(tmp_path, text[::-1].replace("processor = 4"[::-1], "processor = 6"[::-1], 1)[::-1])) == []


def can(name: str, bytes_per_s: int = 0, memory_bytes: int = 0) -> Capabilities:
    role = "emulator" if name == "emulator" else "receiver"
    return FakeFactory(role, bytes_per_s, memory_bytes).capabilities(name)


def test_each_receiver_is_held_to_what_it_is_sent_itself(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, TWO + BUFFERS)  # 1 GB/s and a little to a, 10 MB/s to b
    check_capacity(
        plan, {"emulator": can("emulator"), "a": can("receiver a", 1_100_000_000), "b": can("receiver b", 11_000_000)}
    )
    with pytest.raises(CapacityError) as caught:
        check_capacity(
            plan, {"emulator": can("emulator"), "a": can("receiver a", 1_100_000_000), "b": can("host7", 5_000_000)}
        )
    assert "the DTPs carry 0.01 GB/s, link roce of receiver b (host7) 0.01 GB/s" in str(caught.value)
    assert "buffer[1].every = 2 (part)" in str(caught.value)
    with pytest.raises(CapacityError, match=r"carry 1\.01 GB/s, link roce of emulator 1\.00 GB/s"):
        check_capacity(
            plan, {"emulator": can("emulator", 1_005_000_000), "a": can("receiver a"), "b": can("receiver b")}
        )


def test_receivers_of_one_machine_share_its_memory(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, TWO + BUFFERS)  # 40.1, 0.5 and 0.2 MB in whole pages, records, tables
    enough = {name: can(f"receiver {name}", memory_bytes=41_000_000) for name in ("a", "b")}
    check_capacity(plan, {"emulator": can("emulator"), **enough})
    short = {name: can(f"receiver {name}", memory_bytes=40_500_000) for name in ("a", "b")}
    with pytest.raises(
        CapacityError,
        match=r"receiver a and receiver b have together 0\.04 GiB free\nwhat fits: buffer\[0\]\.slots = 30 ",
    ):
        check_capacity(plan, {"emulator": can("emulator"), **short})
    far = plan_of(tmp_path, TWO + 'node = "https://far:1"\n' + BUFFERS)
    check_capacity(far, {"emulator": can("emulator"), **short})
