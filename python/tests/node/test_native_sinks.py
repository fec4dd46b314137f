# SPDX-License-Identifier: Apache-2.0
"""Sinks of a whole run with native engines: their books, and the origin of pixels in the file."""

import hashlib
from pathlib import Path

import h5py
import numpy as np
import pytest

from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.run_plan import load_plan
from rashpa.data.stored.reader import open_run
from rashpa.node.state.node import Node

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.node.engine.native_engine import NativeFactory
from rashpa.testing.in_process import run_in_process

RUN = """\
[run]
name = "sinks"
number = 77
frames = 60
output = "{output}"
[detector]
width = 1024
height = 512
[dataset]
kind = "jungfrau"
modules = 1
frames = 20
[receiver]
port = 0
memory = "pageable"
[[buffer]]
name = "full"
slots = 40
deadline_ms = 10000
{buffer}
"""
PHOTONS = '[[buffer.kernel]]\nname = "jungfrau"\n'
VETO = '[[buffer.kernel]]\nname = "bragg_count"\nthreshold = 3\nmin_pixels = 1\n'
HDF5 = '[[buffer.sink]]\nkind = "hdf5"\n'


def run_with(tmp_path: Path, buffer: str) -> Outcome:
    path = tmp_path / "run.toml"
    path.write_text(RUN.format(output=tmp_path / "out", buffer=buffer))
    nodes = {role: Node(role, role, NativeFactory(role)) for role in ("emulator", "receiver")}
    return run_in_process(load_plan(path), nodes)


def test_every_sink_has_its_books_and_a_file_says_where_its_pixels_come_from(tmp_path: Path) -> None:
    memory = '[[buffer.sink]]\nkind = "memory"\non_full = "drop"\n[[buffer.sink]]\nkind = "null"\n'
    outcome = run_with(tmp_path, PHOTONS + VETO + HDF5 + memory)
    assert outcome.good, outcome.problem or outcome.reasons
    buffer = outcome.buffers[0]
    assert [sink.name for sink in buffer.sinks] == ["hdf5", "memory", "null"]
    for sink in buffer.sinks:
        assert sink.accepted == buffer.books.accepted > 0
        assert sink.accepted == sink.written + sink.dropped + sink.errored
        assert sink.waiting == 0
    assert buffer.sinks[0].written == buffer.sinks[2].written == buffer.books.accepted
    master = tmp_path / "out" / "sinks_full_master.h5"
    with open_run(master) as run:
        facts, tables, books = run.facts, run.tables, run.books
    assert books["written"] == buffer.books.written
    assert (facts.run_number, facts.run_name, facts.pixel_units) == (77, "sinks", "photons")
    assert facts.run_file == str(tmp_path / "run.toml")
    assert facts.run_file_sha256 == hashlib.sha256((tmp_path / "run.toml").read_bytes()).hexdigest()
    assert [name for name, _ in facts.kernels] == ["jungfrau", "bragg_count"]
    assert facts.kernels[1][1]["min_pixels"] == 1
    assert set(facts.calibration) == {"pedestal_0", "gain_0", "mask_0"}
    assert all(len(sha256) == 64 for _, sha256 in facts.calibration.values())
    dark = (tables.flags & 1) != 0
    assert dark.any()
    assert (tables.counted("bright_pixels")[dark] == -1).all(), "nothing was counted of darks"
    assert (tables.counted("masked_pixels")[dark] == -1).all()
    assert (tables.counted("bright_pixels")[tables.decision == 1] >= 1).all()


def test_a_list_that_overflows_says_image_room_and_what_to_set(tmp_path: Path) -> None:
    lists = '[[buffer.kernel]]\nname = "csr"\nthreshold = 1\ncapacity = 1e-5\n'
    outcome = run_with(tmp_path, PHOTONS + lists + HDF5)
    assert not outcome.good
    assert outcome.books.errored > 0
    assert "the first: image" in outcome.reasons[0]
    assert "more than 6 of its 524288 pixels are at or above the threshold" in outcome.reasons[0]
    assert "set a larger capacity of kernel csr, or a higher threshold" in outcome.reasons[0]


def test_a_file_of_lists_does_not_say_that_it_is_nxmx(tmp_path: Path) -> None:
    lists = '[[buffer.kernel]]\nname = "csr"\nthreshold = 4\ncapacity = 0.5\n'
    outcome = run_with(tmp_path, PHOTONS + lists + HDF5)
    assert outcome.good, outcome.problem or outcome.reasons
    with h5py.File(tmp_path / "out" / "sinks_full_master.h5") as file:
        assert file["entry/definition"][()] == b"rashpa_lists"
        assert np.array_equal(file["entry/data"].attrs["image_shape"], [512, 1024])
