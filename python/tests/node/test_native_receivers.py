# SPDX-License-Identifier: Apache-2.0
"""Two native receivers fed by one native emulator, over packets and over shared memory; the books of each are compared with the injector's log."""

import socket
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  registers the filter that images need
import pytest

from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.run_plan import load_plan
from rashpa.node.state.node import Node

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.node.engine.native_engine import NativeFactory
from rashpa.testing.in_process import run_in_process

pytestmark = pytest.mark.whole

RUN = """\
[run]
name = "native"
frames = {frames}
output = "{output}"
existing = "{existing}"
[detector]
width = 64
height = 32
[[detector.module]]
x = 0
y = 0
[[detector.module]]
x = 0
y = 40
[dataset]
kind = "pattern"
modules = 2
frames = 32
width = 64
height = 32
[link]
roce.pmtu = 256
{link}
[[receiver]]
name = "whole"
{whole}
[[receiver]]
name = "slice"
{slice}
[[buffer]]
name = "full"
bands = 2
slots = 64
stack = 8
deadline_ms = 2000
[[buffer.sink]]
kind = "hdf5"
[[buffer]]
name = "fifth"
receiver = "slice"
region = [16, 8, 32, 48]
every = 5
phase = 1
slots = 32
stack = 4
deadline_ms = 2000
[[buffer.sink]]
kind = "hdf5"
[[buffer]]
name = "thin"
sink = [{{ kind = "null" }}]
receiver = "whole"
region = [0, 0, 64, 2]
slots = 64
stack = 8
deadline_ms = 2000
"""
FAULTS = """\
[faults]
seed = 3
drop = 0.003
duplicate = 0.003
reorder = 0.003
corrupt = 0.003
stall = 0.01
stall_us = 300
"""


def run_native(
    tmp_path: Path,
    link: str = "",
    extra: str = "",
    frames: int = 200,
    whole: str = "port = 0",
    slice: str = "port = 0",  # noqa: A002  as the receiver is called
    existing: str = "refuse",
) -> tuple[Outcome, dict[str, Node]]:
    path = tmp_path / "run.toml"
    path.write_text(
        RUN.format(frames=frames, output=tmp_path / "out", existing=existing, link=link, whole=whole, slice=slice)
        + extra
    )
    nodes = {"emulator": Node("emulator", "emulator", NativeFactory("emulator"))}
    for name in ("whole", "slice"):
        nodes[name] = Node(f"receiver {name}", "receiver", NativeFactory("receiver"))
    return run_in_process(load_plan(path), nodes), nodes


def free_udp_ports(address: str, count: int) -> list[int]:
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    try:
        for one in sockets:
            one.bind((address, 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()


@pytest.mark.parametrize(
    "link",
    ["", 'roce.transport = "rc"', 'roce.transport = "ud"', 'kind = "pcie"'],
)
def test_every_image_arrives_at_its_receiver_and_its_file_names_it(tmp_path: Path, link: str) -> None:
    own = "port = 0\nthreads = 2" if "rc" in link or "pcie" in link else "port = 0"
    outcome, _ = run_native(tmp_path, link, whole=own, slice=own)
    assert outcome.good, (outcome.problem, [account.first_unexplained for account in outcome.accounts])
    assert [buffer.books.complete for buffer in outcome.buffers] == [200, 40, 200]
    for buffer, receiver, first, count in (("full", "whole", 0, 200), ("fifth", "slice", 1, 40)):
        with h5py.File(tmp_path / "out" / f"native_{buffer}_master.h5") as file:
            assert file["/entry/rashpa"].attrs["receiver"] == receiver
            assert len(file["/entry/data/data"]) == count
            assert int(file["/entry/data/frame_number"][0]) == first


def test_the_same_pixels_come_through_both_receivers(tmp_path: Path) -> None:
    outcome, _ = run_native(tmp_path)
    assert outcome.good, outcome.problem
    full, fifth = (tmp_path / "out" / f"native_{buffer}_master.h5" for buffer in ("full", "fifth"))
    with h5py.File(full) as whole, h5py.File(fifth) as part:
        cut = whole["/entry/data/data"][1::5, 8:56, 16:48]
        assert (cut == part["/entry/data/data"][:]).all()


def test_fixed_ports_and_an_address_of_its_own(tmp_path: Path) -> None:
    port = free_udp_ports("127.0.0.1", 1)[0]
    other = free_udp_ports("127.0.0.2", 1)[0]
    outcome, _ = run_native(
        tmp_path, "", whole=f"port = {port}", slice=f'address = "127.0.0.2"\nport = {other}\nthreads = 1'
    )
    assert outcome.good, outcome.problem
    assert run_native(tmp_path, "")[0].refused  # the files are there now


def test_the_books_of_both_equal_the_log_of_packet_faults(tmp_path: Path) -> None:
    outcome, _ = run_native(tmp_path, "", FAULTS, frames=2000)
    assert outcome.good, [account.first_unexplained for account in outcome.accounts]
    injected = outcome.injected
    assert all(injected[name] for name in ("drop", "duplicate", "reorder", "corrupt", "stall"))
    assert all(account.expected_partial > 0 for account in outcome.accounts)
    for account, buffer in zip(outcome.accounts, outcome.buffers, strict=True):
        found = (buffer.books.complete, buffer.books.partial, buffer.books.missing)
        assert found == (account.expected_complete, account.expected_partial, account.expected_missing)


@pytest.mark.parametrize("link", ["", 'kind = "pcie"'])
def test_dead_modules_and_stalls_are_as_the_log_says_at_both(tmp_path: Path, link: str) -> None:
    faults = "[faults]\nstall = 0.02\nstall_us = 300\n[[faults.dead_modules]]\nmodule = 1\nfrom_frame = 150\n"
    outcome, _ = run_native(tmp_path, link, faults)
    assert outcome.good, [account.first_unexplained for account in outcome.accounts]
    assert [buffer.books.partial for buffer in outcome.buffers] == [50, 10, 0]


def test_a_second_receiver_without_its_port_leaves_no_files_and_no_node_behind(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        outcome, nodes = run_native(tmp_path, slice=f"port = {port}")
    assert outcome.refused
    assert f"port {port}" in outcome.problem
    assert {node.state for node in nodes.values()} == {"idle"}
    left = [path.name for path in tmp_path.glob("out/*")]
    assert left == []
    assert run_native(tmp_path)[0].good


def test_files_of_an_earlier_run_stay_when_another_node_cannot_begin(tmp_path: Path) -> None:
    assert run_native(tmp_path)[0].good
    earlier = {path.name: path.stat().st_ino for path in (tmp_path / "out").iterdir()}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        outcome, _ = run_native(tmp_path, slice=f"port = {port}", existing="replace")
    assert outcome.refused
    assert f"port {port}" in outcome.problem
    assert {path.name: path.stat().st_ino for path in (tmp_path / "out").iterdir()} == earlier
