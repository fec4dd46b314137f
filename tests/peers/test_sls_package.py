# SPDX-License-Identifier: Apache-2.0
"""Tests foreign code in both directions: slsReceiver receives our emulator's datagrams, and our receiver receives those of slsDetectorPackage's
virtual detectors."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.peers.sls_package import SlsPackage

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

import rashpa
from rashpa.control.runfile.links import TABLES, options_of
from rashpa.control.telegrams import telegram
from rashpa.node.engine.native_engine import NativeFactory
from rashpa.testing.free_ports import free_ports
from rashpa.testing.waiting import GUARD_S, eventually

_RECORD_BYTES = 112
_FRAMES = 20


def pattern(frame: int) -> NDArray[np.uint16]:
    """Return a frame that identifies its number, row and column uniquely."""
    rows, columns = np.mgrid[0:512, 0:1024]
    made: NDArray[np.uint16] = (rows * 131 + columns * 7 + frame * 977 & 0x3FFF).astype("<u2")
    return made


def source(folder: Path, port: int) -> telegram.Source:
    """Return the order to an emulator that plays a JUNGFRAU module to one port."""
    np.save(folder / "frames.npy", np.stack([pattern(frame) for frame in range(5)]))
    place = telegram.Placement(
        pixels_offset=0, slot_bytes=1 << 20, slots=4, first_line_offset=0, pitch=2048, line_bytes=2048, lines=512, records_offset=4 << 20
    )  # fmt: skip
    end = telegram.Endpoint(address="127.0.0.1", port=port, qpn=0, rkey=0)
    dtp = telegram.SourceDtp(
        id=0, module=0, x=0, y=0, width=1024, height=512, images=_FRAMES, placement=place, destination=end, link="sls", peer_link="sls"
    )  # fmt: skip
    files = telegram.Parameter(name="files", value=json.dumps([[str(folder / "frames.npy")]]))
    return telegram.Source(
        frames=_FRAMES,
        modules=1,
        width=1024,
        height=512,
        rate_hz=50.0,
        flow="paced",
        dataset=telegram.Dataset(kind="files", parameters=(files,)),
        dtps=(dtp,),
        options=(options_of(TABLES["sls"].model_validate({"first_frame": 1}), "sls", ""),),
    )


def test_slsreceiver_stores_what_our_emulator_sends(sls_programs: Path, tmp_path: Path) -> None:
    port = free_ports(1)
    with SlsPackage(sls_programs, tmp_path, "jungfrauDetectorServer_virtual", receiver=True) as package:
        package.put(
            "udp_dstip 127.0.0.1", "udp_srcip 127.0.0.1", f"udp_dstport {port}", f"rx_hostname localhost:{package.receiver_port}",
            f"fpath {tmp_path}", "fname ours", "fwrite 1", "foverwrite 1", f"frames {_FRAMES}", "rx_start",
        )  # fmt: skip
        engine = NativeFactory("emulator").make(telegram.Configure(run=1, name="peer", source=source(tmp_path, port)))
        engine.arm(telegram.Arm(endpoints=()))
        engine.start()
        eventually(lambda: engine.wait(0.1))
        engine.abort()
        stored = tmp_path / "ours_d0_f0_0.raw"
        eventually(lambda: stored.stat().st_size == _FRAMES * (_RECORD_BYTES + 1024 * 512 * 2))
        package.put("rx_stop")
    kind = np.dtype([("frame", "<u8"), ("", "V4"), ("packets", "<u4"), ("", "V96"), ("pixels", "<u2", (512, 1024))])
    records = np.fromfile(stored, kind)
    assert records["frame"].tolist() == list(range(1, _FRAMES + 1))
    assert records["packets"].tolist() == [128] * _FRAMES
    for number, record in enumerate(records):
        np.testing.assert_array_equal(record["pixels"], pattern(number % 5))


RUN = """
[run]
name = "peer"
frames = {frames}
output = "."
[detector]
width = {width}
height = {height}
pixel = "{pixel}"
rate_hz = 50.0
[detector.control]
kind = "command"
start = {start}
silence_s = 3.0
{modules}
[link]
kind = "sls"
[link.sls]
{link}
[receiver]
port = {port}
[[buffer]]
name = "whole"
slots = 16
stack = 2
deadline_ms = 2000
[[buffer.sink]]
kind = "hdf5"
"""


def received(folder: Path, **values: object) -> Any:
    """Carry out a run of a virtual detector, and return its file."""
    file = folder / "run.toml"
    file.write_text(RUN.format(**{"frames": _FRAMES, "pixel": "uint16"} | values), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "rashpa.cli.entry", "run", str(file), "--output", str(folder / "report"), "--no-page"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=2 * GUARD_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    books = json.loads((folder / "report" / "report.json").read_text())["buffers"][0]["books"]
    assert (books["complete"], books["missing"]) == (_FRAMES, 0), books
    return rashpa.open(folder / "peer_whole_master.h5")


def listed(places: list[tuple[int, int]]) -> str:
    return "\n".join(f"[[detector.module]]\nx = {x}\ny = {y}" for x, y in places)


@pytest.mark.parametrize("interfaces", [1, 2])
def test_a_virtual_jungfrau_is_received_whole(sls_programs: Path, tmp_path: Path, interfaces: int) -> None:
    port = free_ports(2)
    with SlsPackage(sls_programs, tmp_path, "jungfrauDetectorServer_virtual") as package:
        two = (
            f"numinterfaces {interfaces}",
            "udp_srcip2 127.0.0.1",
            "udp_dstip2 127.0.0.1",
            f"udp_dstport2 {port + 1}",
        )
        package.put(
            *(two if interfaces == 2 else ()), "udp_srcip 127.0.0.1", "udp_dstip 127.0.0.1", f"udp_dstport {port}",
            "powerchip 1", f"frames {_FRAMES}", "exptime 10us", "period 20ms",
        )  # fmt: skip
        height = 512 // interfaces
        with received(
            tmp_path,
            width=1024,
            height=height,
            port=port,
            start=json.dumps(package.words("start")),
            modules=listed([(0, height * number) for number in range(interfaces)]),
            link=f'detector = "jungfrau"\ninterfaces = {interfaces}',
        ) as run:
            gain = np.repeat([0, 1, 3], [300, 300, 424]).astype(np.uint16) << 14
            right = (np.arange(512) // 4 + 1)[:, None] | gain[None, :]
            for number in range(_FRAMES):
                np.testing.assert_array_equal(run.image(number), right)
            scalars = run.tables.scalars
            assert np.diff(scalars["detector_frame"]).tolist() == [1] * (_FRAMES - 1)
            assert set(scalars["module_id"].tolist()) == {1234}


def test_a_virtual_eiger_module_is_received_whole(sls_programs: Path, tmp_path: Path) -> None:
    port = free_ports(4)
    halves = (("--top", "1", "--master", "1"), ("--top", "0", "--master", "0"))
    with SlsPackage(sls_programs, tmp_path, "eigerDetectorServer_virtual", halves) as package:
        package.put("udp_srcip 127.0.0.1", "udp_dstip 127.0.0.1")
        package.put(
            *(
                f"{module}:{key} {port + 2 * module + at}"
                for module in (0, 1)
                for at, key in enumerate(("udp_dstport", "udp_dstport2"))
            )
        )
        package.put("tengiga 1", "dr 16", f"frames {_FRAMES}", "exptime 10us", "period 20ms")
        with received(
            tmp_path,
            width=512,
            height=256,
            port=port,
            start=json.dumps(package.words("start")),
            modules=listed([(x, y) for y in (0, 256) for x in (0, 512)]),
            link='detector = "eiger"\nbits = 16',
        ) as run:
            packet = np.arange(256) // 4
            half = np.arange(256) % 4 // 2
            stream = np.minimum(2 * packet + half, 127)  # of a row in the order in which it is sent
            for number in range(_FRAMES):
                image = run.image(number)
                for rows in (slice(0, 256), slice(256, 512)):
                    sent = image[rows] if image[rows][0, 0] == 0 else image[rows][::-1]
                    np.testing.assert_array_equal(sent, np.repeat(stream[:, None], 1024, 1))
