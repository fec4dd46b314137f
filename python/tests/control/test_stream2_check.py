# SPDX-License-Identifier: Apache-2.0
"""Run files with a stream of DECTRIS Stream V2 as source: shapes, traffic, and refusals."""

from pathlib import Path

import pytest

from rashpa.control.capacity.packets import Lines, longest_packet, traffic_of
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file import Link
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.node.doctor.needs import needs_of

RUN = """
[run]
name = "stream"
frames = 10
output = "out"
[detector]
width = 512
height = 512
rate_hz = 100.0
{control}
{modules}
{dataset}
[link]
kind = "{kind}"
{flow}
[link.stream2]
{keys}
{receiver}
[[buffer]]
name = "whole"
{buffer}
slots = 16
stack = 2
deadline_ms = 100
sink = [{{ kind = "null" }}]
"""
MODULES = "[[detector.module]]\nx = 0\ny = 0\n[[detector.module]]\nx = 0\ny = 512"


def plan_of(folder: Path, **values: str) -> Plan:
    """Return the plan of a detector that sends by itself, with changed `values`."""
    standard = {
        "control": '[detector.control]\nkind = "none"',
        "modules": "",
        "dataset": "",
        "kind": "stream2",
        "flow": "",
        "keys": 'address = "tcp://10.0.0.1:31001"',
        "receiver": "",
        "buffer": "",
    }
    file = folder / "run.toml"
    file.write_text(RUN.format(**(standard | values)), encoding="utf-8")
    return load_plan(file)


def test_a_detector_that_streams_has_no_emulator_and_a_dtp_a_channel(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, modules=MODULES, receiver="[receiver]\nthreads = 8")
    assert plan.emulators == ()
    assert plan.file.link.flow == "paced"
    assert [dtp.module for dtp in plan.dtps] == [0, 1]


@pytest.mark.parametrize("address", ["tcp://detector:31001", "tcp://[fe80::1]:31001", "tcp://10.0.0.1:1"])
def test_addresses_of_detectors_are_taken(tmp_path: Path, address: str) -> None:
    assert plan_of(tmp_path, keys=f'address = "{address}"').file.link.of("stream2").address == address


ADDRESS = 'address = "tcp://10.0.0.1:31001"'


def test_ports_of_sls_receivers_may_be_more_than_channels(tmp_path: Path) -> None:
    modules = "\n".join(f"[[detector.module]]\nx = 0\ny = {512 * n}" for n in range(40))
    keys = f'{ADDRESS}\ndialect = "sls"\nconnections = 40\nfirst_frame = 7'
    assert len(plan_of(tmp_path, modules=modules, keys=keys).dtps) == 40


def test_a_machine_is_checked_for_a_run_of_a_detector_that_is_no_node(tmp_path: Path) -> None:
    (end,) = needs_of(plan_of(tmp_path), ()).ends
    assert (end.role, end.kind, end.peers) == ("receiver", "stream2", ())


EMULATED = {"control": "", "dataset": '[dataset]\nkind = "pattern"\nwidth = 512\nheight = 512', "keys": ""}


def test_an_emulated_one_has_a_dataset(tmp_path: Path) -> None:
    assert [one.name for one in plan_of(tmp_path, **EMULATED).emulators] == ["emulator"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"keys": ""}, "link.stream2.address: it is empty"),
        ({"keys": 'address = "10.0.0.1:31001"'}, "is no address of a stream; tcp://ADDRESS:PORT"),
        ({"keys": 'address = "tcp://10.0.0.1:70000"'}, "is no address of a stream"),
        ({"keys": 'address = "tcp://10.0.0.1:31001"\npattern = "pub"\nconnections = 2'}, "link.stream2.connections"),
        ({"keys": 'address = "tcp://10.0.0.1:31001"\nconnections = 0'}, "connections"),
        ({**EMULATED, "keys": 'address = "tcp://10.0.0.1:31001"'}, "an emulator sends; take it out"),
        ({"flow": 'flow = "credits"'}, "nothing goes back to a detector that sends a stream"),
        ({"flow": 'destination = "roce"'}, "stream2 is a format of its own"),
        ({"buffer": "bands = 2"}, "takes parts of images"),
        ({"keys": f"{ADDRESS}\nfirst_frame = 5"}, "images of DECTRIS detectors count from 0"),
        ({**EMULATED, "keys": 'dialect = "sls"'}, "an emulator sends Stream V2"),
        (
            {"keys": 'dialect = "sls"\naddress = "tcp://10.0.0.1:65534"\nconnections = 3'},
            "3 connections from port 65534 on end beyond port 65535",
        ),
        ({"kind": "pcie"}, 'sends as "sls", "stream2" or "roce" does'),
        ({"kind": "roce"}, "detector.control.address: it is missing"),
        (
            {"modules": "\n".join(f"[[detector.module]]\nx = 0\ny = {512 * n}" for n in range(17))},
            "a module is a channel of the stream, which has 16 at most",
        ),
    ],
)
def test_impossible_run_files_are_refused_with_the_key(tmp_path: Path, values: dict[str, str], said: str) -> None:
    with pytest.raises(RunFileError, match=r"run\.toml") as caught:
        plan_of(tmp_path, **values)
    assert said in str(caught.value)


def test_the_traffic_of_an_image_is_that_of_its_plain_bytes() -> None:
    link = Link.model_validate({"kind": "stream2"})
    traffic = traffic_of(Lines(512, 1024, contiguous=True), link, "10.0.0.1")
    assert 512 * 1024 < traffic.wire_bytes < 1.1 * 512 * 1024
    assert traffic.packets == -(-(512 * 1024 + 512) // 1448)
    assert longest_packet(link, "stream2", "10.0.0.1") == 0
