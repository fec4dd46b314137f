# SPDX-License-Identifier: Apache-2.0
"""Run files of SLS detectors: shapes of ports, traffic, and refusals."""

from pathlib import Path

import pytest

from rashpa.control.capacity.packets import Lines, traffic_of
from rashpa.control.plan.checks import sls_check
from rashpa.control.plan.checks.sls_check import port_of
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file import Link
from rashpa.control.runfile.run_file_reader import RunFileError

RUN = """
[run]
name = "sls"
frames = 10
output = "out"
[detector]
width = {width}
height = {height}
pixel = "{pixel}"
rate_hz = 100.0
{control}
{modules}
{dataset}
[link]
kind = "{kind}"
{flow}
[link.sls]
{sls}
[[buffer]]
name = "whole"
bands = {bands}
slots = 16
stack = 2
deadline_ms = 100
sink = [{{ kind = "null" }}]
{more}
"""
MODULES = "[[detector.module]]\nx = 0\ny = 0\n[[detector.module]]\nx = 0\ny = 512"
CONTROL = '[detector.control]\nkind = "none"'


def plan_of(folder: Path, **values: object) -> Plan:
    """Return the plan of a JUNGFRAU that sends by itself, with changed `values`."""
    standard = {
        "width": 1024,
        "height": 512,
        "pixel": "uint16",
        "control": CONTROL,
        "modules": MODULES,
        "dataset": "",
        "kind": "sls",
        "flow": "",
        "sls": "interfaces = 2",
        "bands": 2,
        "more": "",
    }
    file = folder / "run.toml"
    file.write_text(RUN.format(**(standard | values)), encoding="utf-8")
    return load_plan(file)


def test_a_detector_that_sends_by_itself_has_no_emulator_and_is_paced(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    assert plan.emulators == ()
    assert plan.routes == ()
    assert plan.file.link.flow == "paced"
    assert len(plan.dtps) == 4
    assert {plan.emulator_of(dtp) for dtp in plan.dtps} == {""}


def test_an_emulated_one_has_a_dataset(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, control="", dataset='[dataset]\nkind = "pattern"\nmodules = 2')
    assert [one.name for one in plan.emulators] == ["emulator"]
    assert plan.file.link.flow == "paced"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"bands": 1}, "a UDP port brings 256 rows of 2048 bytes"),
        ({"pixel": "uint32"}, "a UDP port brings 256 rows of 2048 bytes"),
        ({"flow": 'flow = "credits"'}, "nothing goes back to a detector"),
        ({"kind": "verbs"}, 'sends as "sls", "stream2" or "roce" does'),
        ({"kind": "roce"}, "must learn keys and places of each run"),
        ({"kind": "roce"}, "it is missing; give that of the detector"),
        (
            {"kind": "roce", "control": '[detector.control]\nkind = "command"\naddress = "bridge"'},
            '"bridge" is no IP address',
        ),
        ({"kind": "roce", "flow": 'flow = "credits"'}, "no credits go back"),
        ({"kind": "roce", "more": '[link.roce]\ntransport = "rc"'}, "writes without a connection"),
        ({"dataset": '[dataset]\nkind = "pattern"\nmodules = 2'}, "nothing is played beside [detector.control]"),
        ({"more": "[faults]\ndrop = 0.1"}, "faults are made by emulators"),
        ({"more": '[emulator]\naddress = "127.0.0.2"'}, "take the emulators out"),
        ({"modules": MODULES + "\nflip = true"}, "does not turn its frames"),
        ({"more": "[receiver]\nthreads = 5"}, "threads"),
        ({"control": "", "dataset": ""}, "dataset"),
        ({"control": '[detector.control]\nkind = "magic"'}, "kind"),
        ({"sls": 'detector = "pilatus"'}, "detector"),
        ({"sls": "bits = 6"}, "bits"),
    ],
)
def test_impossible_run_files_are_refused_with_the_key(tmp_path: Path, values: dict[str, object], said: str) -> None:
    with pytest.raises(RunFileError, match=r"run\.toml") as caught:
        plan_of(tmp_path, **values)
    assert said in str(caught.value)


def test_two_buffers_at_one_receiver_are_refused(tmp_path: Path) -> None:
    more = (
        '[[buffer]]\nname = "second"\nbands = 2\nslots = 16\nstack = 2\ndeadline_ms = 100\nsink = [{ kind = "null" }]'
    )
    with pytest.raises(RunFileError, match="one buffer a receiver"):
        plan_of(tmp_path, more=more)


@pytest.mark.parametrize(
    ("keys", "width", "rows", "packets"),
    [
        ({}, 1024, 512, 128),
        ({"interfaces": 2}, 1024, 256, 64),
        ({"read_rows": 64}, 1024, 64, 16),
        ({"detector": "moench"}, 400, 400, 50),
        ({"detector": "moench", "interfaces": 2}, 400, 200, 25),
        ({"detector": "eiger", "bits": 4}, 512, 256, 16),
        ({"detector": "eiger", "bits": 8}, 512, 256, 32),
        ({"detector": "eiger", "bits": 12}, 512, 256, 48),
        ({"detector": "eiger", "bits": 16}, 512, 256, 64),
        ({"detector": "eiger", "bits": 32}, 512, 256, 128),
        ({"detector": "eiger", "bits": 12, "gigabits": 1}, 512, 256, 192),
        ({"detector": "eiger", "bits": 32, "gigabits": 1}, 512, 256, 512),
    ],
)
def test_ports_have_the_shapes_and_packets_of_the_detectors(
    keys: dict[str, object], width: int, rows: int, packets: int
) -> None:
    link = Link.model_validate({"kind": "sls", "sls": keys})
    port = port_of(link.of("sls"))
    assert (port.width, port.rows, port.packets) == (width, rows, packets)
    traffic = traffic_of(Lines(port.rows, port.row_bytes, contiguous=True), link, "10.0.0.1")
    assert traffic.packets == packets
    narrow = 2 if keys.get("bits") == 4 else 1
    assert traffic.wire_bytes == port.rows * port.row_bytes // narrow + packets * (38 + 28 + 48)


XDP = 'interfaces = 2\nengine = "xdp"'


def test_xdp_needs_the_ipv4_address_of_an_interface(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sls_check, "xdp_lacking", lambda: "")
    plan = plan_of(tmp_path, sls=XDP, more='[receiver]\naddress = "10.1.1.1"')
    assert plan.file.link.of("sls").engine == "xdp"
    for address in ("0.0.0.0", "::1"):
        with pytest.raises(RunFileError, match="engine: xdp reads one interface by its IPv4 address") as refused:
            plan_of(tmp_path, sls=XDP, more=f'[receiver]\naddress = "{address}"')
        assert "run.toml" in str(refused.value)


def test_xdp_is_refused_where_a_node_of_this_machine_may_not_use_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sls_check, "xdp_lacking", lambda: "Operation not permitted")
    with pytest.raises(RunFileError, match=r"CAP_BPF.*Operation not permitted; run its node as root"):
        plan_of(tmp_path, sls=XDP)
    elsewhere = '[receiver]\nnode = "https://daq:8443"\naddress = "10.1.1.1"'
    assert plan_of(tmp_path, sls=XDP, more=elsewhere).receivers[0].machine == "daq"


def test_a_kernel_without_xdp_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sls_check, "_AF_XDP", 43)  # AF_SMC or none: without the arguments of a socket of packets
    assert sls_check.xdp_lacking() != ""


@pytest.mark.parametrize(
    ("rights", "release", "lacking"),
    [
        ("000001fffeffffff", "6.18.44", ""),
        ("0000008000003000", "6.6.0-1-amd64", ""),
        ("0000000000203000", "6.12.9", ""),
        ("0000000000003000", "6.12.9", "no CAP_BPF here"),
        ("0000000000002000", "6.12.9", "no CAP_NET_ADMIN and CAP_BPF here"),
        ("000001fffeffffff", "6.1.0-44-amd64", "this is Linux 6.1.0-44-amd64"),
    ],
)
def test_rights_and_kernel_of_xdp(rights: str, release: str, lacking: str) -> None:
    assert sls_check.rights_lacking(f"Name:\tx\nCapEff:\t{rights}\nCapBnd:\t0\n", release) == lacking
