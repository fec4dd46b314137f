# SPDX-License-Identifier: Apache-2.0
"""The names that `import rashpa` gives in a notebook: open, run, Pipeline."""

import asyncio
import doctest
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

import rashpa
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored import image_sequence

FRAMES = 12


def config(folder: Path, name: str, kernels: list[dict[str, object]]) -> dict[str, object]:
    return {
        "run": {"name": name, "frames": FRAMES, "output": str(folder)},
        "detector": {"width": 64, "height": 32, "pixel": "uint16"},
        "dataset": {"kind": "pattern", "width": 64, "height": 32, "frames": 4},
        "link": {"port": 0, "memory": "pageable"},
        "buffer": [{"name": "b", "slots": 20, "deadline_ms": 5000, "kernel": kernels, "sink": [{"kind": "hdf5"}]}],
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notebook")
    outcome = rashpa.run(config(folder, "dense", []))
    assert outcome.good, outcome.problem
    return folder


def test_a_run_of_a_dict_is_carried_out(folder: Path) -> None:
    with rashpa.open(folder / "dense_b_master.h5") as run:
        assert run.books["written"] == FRAMES


def test_frames_are_read_when_they_are_asked_for(folder: Path) -> None:
    with rashpa.open(str(folder / "dense_b_master.h5")) as run:
        assert len(run.frames) == FRAMES
        np.testing.assert_array_equal(run.frames[-1], run.image(FRAMES - 1))
        part = run.frames[2:10:3]
        assert len(part) == 3
        np.testing.assert_array_equal(np.asarray(part), np.stack([run.image(n) for n in (2, 5, 8)]))
        assert np.asarray(part).dtype == run.dtype == np.uint16
        assert sum(1 for _ in run.frames) == FRAMES
        with pytest.raises(IndexError, match="no image 12 among 12"):
            run.frames[FRAMES]
        with pytest.raises(TypeError, match="dense"):
            run.lists  # noqa: B018
        with pytest.raises(KeyError, match="no peak finder"):
            run.peaks  # noqa: B018


def test_lists_and_peaks_are_those_of_their_kernels(tmp_path: Path) -> None:
    finder = {"name": "peakfinder8", "threshold": 10.0, "beam_x": 32.0, "beam_y": 16.0, "min_pixels": 1}
    outcome = rashpa.run(config(tmp_path, "lists", [finder, {"name": "csr", "capacity": 1.0}]))
    assert outcome.good, outcome.problem
    with rashpa.open(tmp_path / "lists_b_master.h5") as run:
        index, value = run.lists[3]
        assert len(index) == len(value) > 0
        assert len(run.peaks) == FRAMES
        assert list(run.peaks[0].dtype.names or ()) == list(run.table("peakfinder8", 0))


def test_a_run_starts_where_an_event_loop_runs_as_in_a_notebook(tmp_path: Path) -> None:
    async def cell() -> bool:
        return rashpa.run(config(tmp_path, "cell", [])).good

    assert asyncio.run(cell())


def test_wrong_keys_are_named(tmp_path: Path) -> None:
    values = config(tmp_path, "x", [{"name": "csr", "thresholds": 1}])
    with pytest.raises(RunFileError, match=r"buffer\[0\].kernel\[0\].thresholds.*threshold"):
        rashpa.run(values)


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoredRunError, match="no such file"):
        rashpa.open(tmp_path / "absent.h5")


def test_names_are_found_and_others_not() -> None:
    assert rashpa.Pipeline.__name__ == "Pipeline"
    with pytest.raises(AttributeError, match="nothing"):
        rashpa.nothing  # noqa: B018


def test_examples_in_the_documentation_are_true() -> None:
    assert doctest.testmod(image_sequence).failed == 0
