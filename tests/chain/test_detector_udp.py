# SPDX-License-Identifier: Apache-2.0
"""Tests SLS detectors, as a user runs them: emulated ones with faults, and recorded datagrams of a real one."""

import hashlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import rashpa
from rashpa.data.stored.run_facts import COMPLETENESS
from rashpa.testing.free_ports import free_ports
from rashpa.testing.typed_run import good_run

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "16_detector_udp.toml"
RECORDED = ROOT.parent / "shared" / "data" / "eiger_udp"


def test_a_jungfrau_2m_loses_what_the_injector_says(tmp_path: Path) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    text = re.sub(r"(?m)^frames = 400$", "frames = 60", text)
    text = re.sub(r"(?m)^frames = 40$", "frames = 4", text)
    text = re.sub(r"(?m)^drop = .*$", "drop = 0.002", text)
    output, report = good_run(text, tmp_path)
    assert "0 unexplained" in output
    books = report["buffers"][0]["books"]
    assert books["expected"] == 60
    assert books["partial"] > 0
    counts = report["link"]
    assert counts["malformed"] == report["injected"]["corrupt"]
    assert counts["host_drops"] == 0


EIGER = """
[run]
name = "eiger"
frames = {frames}
output = "."
existing = "replace"
[detector]
width = {width}
height = 256
pixel = "{pixel}"
rate_hz = {rate}
{control}
{modules}
[link]
kind = "sls"
[link.sls]
detector = "eiger"
bits = {bits}
[receiver]
port = {port}
threads = 2
[[buffer]]
name = "whole"
slots = 48
stack = 2
deadline_ms = 2000
{kernel}
[[buffer.sink]]
kind = "hdf5"
"""


def eiger(**values: object) -> str:
    """Return the table of an EIGER module: four ports of two half modules."""
    width = values.get("width", 512)
    modules = "\n".join(f"[[detector.module]]\nx = {x}\ny = {y}" for y in (0, 256) for x in (0, width))
    return EIGER.format(
        **{"frames": 2, "width": width, "rate": 20.0, "control": "", "kernel": "", "port": 0, "modules": modules}
        | values
    )


@pytest.mark.parametrize(("bits", "pixel", "width"), [(16, "uint16", 512), (12, "uint8", 768)])
def test_an_eiger_500k_loses_what_the_injector_says(tmp_path: Path, bits: int, pixel: str, width: int) -> None:
    kernel = '[[buffer.kernel]]\nname = "unpack"\nbits = "12"\nmodule_width = 512\nmodule_height = 256\nmodules_across = 2\nmodules_down = 2'
    text = eiger(bits=bits, pixel=pixel, width=width, frames=40, kernel=kernel if bits == 12 else "")
    text += f'[dataset]\nkind = "pattern"\nmodules = 4\nframes = 4\nwidth = {width}\nheight = 256\npixel = "{pixel}"\n'
    text += "[faults]\nseed = 5\ndrop = 0.001\nduplicate = 0.01\nreorder = 0.01\ncorrupt = 0.001\n"
    output, report = good_run(text, tmp_path)
    assert "0 unexplained" in output
    assert report["buffers"][0]["books"]["expected"] == 40
    tables = rashpa.open(tmp_path / "eiger_whole_master.h5").tables
    came = tables.completeness != COMPLETENESS.index("missing")
    for name in ("detector_frame", "bunch_id"):
        expected = np.where(came, np.arange(1, 41), np.iinfo(np.int64).min)
        np.testing.assert_array_equal(tables.scalars[name], expected)


ROWS = """
[run]
name = "rows"
frames = 12
output = "."
[detector]
width = 1024
height = 64
rate_hz = 50.0
[[detector.module]]
x = 0
y = 0
[dataset]
kind = "pattern"
modules = 1
frames = 4
width = 1024
height = 64
[link]
kind = "sls"
[link.sls]
interfaces = 2
read_rows = 64
[receiver]
port = 0
[[buffer]]
name = "all"
bands = 2
slots = 12
stack = 2
deadline_ms = 20000
[[buffer.sink]]
kind = "hdf5"
"""


def test_rows_that_are_not_read_out_are_not_missing(tmp_path: Path) -> None:
    _, report = good_run(ROWS, tmp_path)
    books = report["buffers"][0]["books"]
    assert (books["complete"], books["partial"], books["missing"]) == (12, 0, 0)
    assert report["link"]["packets"] == 12 * 2 * 8, "8 of the 64 packets of a half are sent"
    assert rashpa.open(tmp_path / "rows_all_master.h5").image(11).shape == (64, 1024)


SENDER = """
import socket, struct, sys, time
import zstandard
data = zstandard.ZstdDecompressor().stream_reader(open(sys.argv[1], "rb")).read()
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
at = 0
while at < len(data):
    port, length = struct.unpack_from("<HH", data, at)
    out.sendto(data[at + 4 : at + 4 + length], ("127.0.0.1", port - 50028 + int(sys.argv[2])))
    at += 4 + length
    time.sleep(0.00005)  # wait: a detector's network is no faster
"""


@pytest.mark.skipif(not RECORDED.is_dir(), reason="needs the recorded datagrams of ../shared/data/eiger_udp")
def test_recorded_datagrams_of_an_eiger_become_its_images(tmp_path: Path) -> None:
    port = free_ports(4)
    (tmp_path / "send.py").write_text(SENDER, encoding="utf-8")
    archive = next(RECORDED.glob("*.bin.zst"))
    words = json.dumps([sys.executable, "send.py", str(archive), str(port)])
    control = f'[detector.control]\nkind = "command"\nstart = {words}\nsilence_s = 2.0\n'
    output, report = good_run(eiger(bits=32, pixel="uint32", control=control, port=port), tmp_path)
    assert report["buffers"][0]["books"]["complete"] == 2
    assert "emulator's log" not in output
    series = rashpa.open(tmp_path / "eiger_whole_master.h5")
    expected = json.loads((RECORDED / "expected.json").read_text())
    for index, frame in enumerate(expected["frames"]):
        image: NDArray[np.uint32] = np.ascontiguousarray(series.image(index), np.uint32)
        assert hashlib.sha256(image.tobytes()).hexdigest() == frame["sha256_le_u32_c_order"]
    header = series.tables.scalars
    assert header["exposure"].tolist() == [376, 752]  # sub-frames, counted on
    assert header["module_id"].tolist() == [60] * 2
    assert header["daq_info"].tolist() == [0x6AE1] * 2
    assert np.diff(header["detector_frame"]).tolist() == [1]
    assert series.hit_column is None
