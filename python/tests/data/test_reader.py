# SPDX-License-Identifier: Apache-2.0
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from rashpa.data.files.hdf5 import tree
from rashpa.data.files.writer_lock import take_writer_lock
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored.reader import open_run
from rashpa.data.stored.run_facts import COMPLETENESS, DECISIONS, LostRun
from rashpa.testing import stored_run


@pytest.fixture(params=["dense", "sparse"])
def master(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return stored_run.make_run(tmp_path, sparse=request.param == "sparse")


def test_every_stored_image_comes_back_with_its_frame_number(master: Path) -> None:
    with open_run(master) as run:
        images = list(run.images())
    assert tuple(frame for frame, _ in images) == stored_run.ACCEPTED
    for frame, image in images:
        np.testing.assert_array_equal(image, stored_run.pixels(frame))


def test_summary_holds_books_vetoes_rate_and_what_is_incomplete(master: Path) -> None:
    with open_run(master) as run:
        summary = run.summary()
    assert summary.balanced
    assert summary.stored == summary.books["accepted"] == summary.books["written"] == 16
    assert summary.vetoes == {"too_few": 2, "dark": 1}
    assert summary.frame_rate_hz == pytest.approx(2000)
    assert summary.hit_rate == pytest.approx(16 / 19)
    assert [(one.frame_number, one.completeness) for one in summary.first_incomplete] == [
        (7, "missing"),
        (11, "partial"),
    ]
    assert summary.first_incomplete[1].lost == (LostRun(dtp=5, first_line=2, lines=2),)
    assert summary.compression_ratio is not None
    assert summary.compression_ratio > 1
    assert summary.texts["labels"] == "synthetic data"


def test_lost_lines_are_placed_by_their_dtps_region(master: Path) -> None:
    with open_run(master) as run:
        lost = run.lost_mask(stored_run.PARTIAL)
        assert not run.lost_mask(0).any()
    rows, columns = np.nonzero(lost)
    assert set(rows.tolist()) == {22, 23}
    assert set(columns.tolist()) == set(range(8, 40))


def test_tables_have_a_row_for_every_image_of_the_run(master: Path) -> None:
    with open_run(master) as run:
        assert len(run.tables.frame_number) == stored_run.IMAGES
        assert run.row_of(run.tables.stored_index[19]) == 19


def test_an_image_is_read_by_its_frame(master: Path) -> None:
    with open_run(master) as run:
        for index, frame in enumerate(run.frame_numbers.tolist()):
            np.testing.assert_array_equal(run.at_frame(frame), run.image(index))
        stored = set(run.frame_numbers.tolist())
        for row, frame in enumerate(run.tables.frame_number.tolist()):
            if frame not in stored:
                said = f"{COMPLETENESS[run.tables.completeness[row]]} and {DECISIONS[run.tables.decision[row]]}"
                with pytest.raises(IndexError, match=f"frame {frame} is not stored: it is {said}"):
                    run.at_frame(frame)
        for frame in (-1, 10**6):
            with pytest.raises(IndexError, match=f"the run has no frame {frame}; its frames are 0 to "):
                run.at_frame(frame)


def test_an_image_that_is_not_there_is_an_index_error(master: Path) -> None:
    with open_run(master) as run, pytest.raises(IndexError, match="there is no image 16"):
        run.image(16)


@pytest.mark.parametrize("content", [None, b"", b"not a file of ours"])
def test_a_file_that_is_no_run_is_refused_by_name(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "x_master.h5"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StoredRunError, match=r"x_master\.h5"):
        open_run(path)


def test_a_data_file_in_place_of_the_master_is_refused(tmp_path: Path) -> None:
    stored_run.make_run(tmp_path)
    with pytest.raises(StoredRunError, match=r"give the _master\.h5 file"):
        open_run(tmp_path / "run_data_000001.h5")


def test_a_run_that_was_never_closed_is_named_as_such(tmp_path: Path) -> None:
    master = stored_run.make_run(tmp_path)
    with h5py.File(master, "a") as file:
        del file["entry/rashpa/books"]
    with pytest.raises(StoredRunError, match="receiver ended early, and its tables are gone"):
        open_run(master)
    with (tmp_path / "run_master.journal").open("wb") as journal:
        with pytest.raises(StoredRunError, match=r"before it could complete the file.*rashpa repair .*/run`"):
            open_run(master)
        take_writer_lock(journal.fileno())
        with pytest.raises(StoredRunError, match="still being written"):
            open_run(master)


def test_a_missing_data_file_is_named(tmp_path: Path) -> None:
    master = stored_run.make_run(tmp_path)
    (tmp_path / "run_data_000002.h5").unlink()
    with open_run(master) as run:
        np.testing.assert_array_equal(run.image(0), stored_run.pixels(0))
        with pytest.raises(StoredRunError, match=r"run_data_000002\.h5"):
            run.image(4)


def test_without_a_veto_that_looked_at_images_there_is_no_hit_rate(tmp_path: Path) -> None:
    master = stored_run.make_run(tmp_path)
    with h5py.File(master, "r+") as file:
        group = file["entry/rashpa"]
        group["bright_pixels"][:] = 0
        group["veto_reason"][:] = [3 if reason else 0 for reason in group["veto_reason"][:]]  # darks
    with open_run(master) as run:
        assert run.summary().hit_rate is None


def test_reading_more_images_opens_no_more_arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check lists, whose arrays look at the places of all chunks when they are first read: that would take longer with each image of a run."""
    opened: list[str] = []
    made = tree.Finder._array

    def counted(finder: tree.Finder, held: Any, found: h5py.Dataset) -> object:
        opened.append(str(found.name))
        return made(finder, held, found)

    with open_run(stored_run.make_run(tmp_path, sparse=True)) as run:
        run.image(0)
        monkeypatch.setattr(tree.Finder, "_array", counted)
        for index in range(len(run)):
            run.sparse(index)
    assert opened == []


@pytest.mark.parametrize(("least", "most"), [(-40000, 40000), (-32767, 105), (1, 70000), (0, 0)])
def test_bounds_hold_for_every_pixel_also_beyond_the_pixels_type(tmp_path: Path, least: int, most: int) -> None:
    master = stored_run.make_run(tmp_path)
    with h5py.File(master, "r+") as file:
        detector = file["entry/instrument/detector"]
        detector["underload_value"], detector["saturation_value"] = least, most
    with open_run(master) as run:
        image = run.image(2)
        wide = np.asarray(image, np.int64)
        expected = (wide < least) | (wide > most)
        expected[:, 10] = True  # is masked
        np.testing.assert_array_equal(run.invalid(2), expected)
