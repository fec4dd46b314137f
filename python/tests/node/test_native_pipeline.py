# SPDX-License-Identifier: Apache-2.0
"""Pipelines in whole runs of native engines: the units do as the plan describes in advance."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.pipeline import plan_pipeline
from rashpa.data.stored.reader import open_run
from rashpa.node.state.node import Node

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.node.engine.native_engine import NativeFactory
from rashpa.testing.in_process import run_in_process
from rashpa.testing.run_file import run_file

FRAMES = 24


def run_text(output: Path, pixel: str, frames: Path) -> str:
    return run_file(
        run={"name": "counts", "frames": 24, "output": output},
        detector={"pixel": pixel},
        dataset={"kind": "files", "files": [[frames]], "pixel": pixel},
        receiver={"memory": "pageable"},
        buffer=[
            {
                "name": "dense",
                "slots": 40,
                "deadline_ms": 5000,
                "kernel": [{"name": "bragg_count", "threshold": 10, "min_pixels": 40}],
                "sink": [{"kind": "hdf5"}],
            },
            {
                "name": "lists",
                "slots": 40,
                "deadline_ms": 5000,
                "kernel": [
                    {"name": "bragg_count", "threshold": 10, "min_pixels": 40},
                    {"name": "csr", "threshold": 3, "capacity": 1.0},
                ],
                "sink": [{"kind": "hdf5"}],
            },
        ],
    )


def photons(pixel: str) -> np.ndarray:
    """Return images [frame][row][column] with spots in every second frame, and some pixels masked as by an EIGER."""
    random = np.random.default_rng(7)
    images = random.integers(0, 5, (FRAMES, 32, 64)).astype(pixel)
    images[::2, 4:12, 8:16] = 100
    images[:, 0, ::7] = np.iinfo(pixel).max if pixel.startswith("u") else -1
    return images


def run_counts(tmp_path: Path, pixel: str) -> tuple[Outcome, np.ndarray]:
    images = photons(pixel)
    np.save(tmp_path / "frames.npy", images)
    path = tmp_path / "run.toml"
    path.write_text(run_text(output=tmp_path / "out", pixel=pixel, frames=tmp_path / "frames.npy"))
    nodes = {role: Node(role, role, NativeFactory(role)) for role in ("emulator", "receiver")}
    return run_in_process(load_plan(path), nodes), images


@pytest.mark.parametrize("pixel", ["uint32", "uint8", "int16"])
def test_photons_straight_from_the_detector_are_counted_listed_and_stored(tmp_path: Path, pixel: str) -> None:
    outcome, images = run_counts(tmp_path, pixel)
    assert outcome.good, outcome.problem
    for buffer in outcome.plan.buffers:
        status = next(each for each in outcome.buffers if each.name == buffer.section.name)
        assert (status.books.accepted, status.books.vetoed) == (12, 12)
        vetoes = {count.name: count.value for count in status.counts if count.group == "veto"}
        assert vetoes == {"too_few": 12, "too_many": 0, "dark": 0, "partial": 0}
        assert status.unit.endswith(plan_pipeline(buffer.section.kernel, pixel).words), "the plan and the unit agree"
    masked = np.iinfo(pixel).max if pixel.startswith("u") else -1
    with open_run(tmp_path / "out" / "counts_dense_master.h5") as run:
        assert run.veto_reasons == ("none", "too_few", "too_many", "dark", "partial")
        bright = ((images >= 10) & (images != masked)).sum(axis=(1, 2))
        assert run.tables.scalars["bright_pixels"].tolist() == bright.tolist()
        assert list(run.tables.scalars) == ["bright_pixels"]
        assert (run.tables.counted("bright_pixels") == bright).all()
        for place, frame in enumerate(run.frame_numbers):
            np.testing.assert_array_equal(run.image(place), images[frame])
    with h5py.File(tmp_path / "out" / "counts_lists_master.h5") as file:
        ends = file["/entry/data/frame_ptr"][()]
        index, value = file["/entry/data/index"][()], file["/entry/data/intensity"][()]
        assert value.dtype == pixel
        for place, frame in enumerate(file["/entry/data/frame_number"][()]):
            flat = images[frame].ravel()
            kept = np.flatnonzero((flat >= 3) & (flat != masked))
            part = slice(int(ends[place]), int(ends[place + 1]))
            np.testing.assert_array_equal(index[part], kept)
            np.testing.assert_array_equal(value[part], flat[kept])
