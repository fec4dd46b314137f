# SPDX-License-Identifier: Apache-2.0
"""Tests foreign raw runs, damaged or made to harm: every reader reads them, or names the wrong file, and ends."""

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest

_native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from tests.files.twelve_images import FRAMES, HEIGHT, IMAGES, WIDTH, pipeline  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from rashpa.cli.main import app  # noqa: E402
from rashpa.data.datasets.dataset_spec import StoredSpec  # noqa: E402
from rashpa.data.datasets.replay import load_replay  # noqa: E402
from rashpa.data.files.images import Patience  # noqa: E402
from rashpa.data.making.convert import convert_run  # noqa: E402
from rashpa.data.parts.run_parts import StoredRunError  # noqa: E402
from rashpa.data.stored.limited_stored import LimitedStored  # noqa: E402
from rashpa.data.stored.reader import open_run  # noqa: E402
from rashpa.data.stored.stored_piece import StoredError  # noqa: E402
from rashpa.node.offline.process import Job, Recording, process_recording  # noqa: E402

PARTS = ("master.h5", "master.journal", "facts.h5", "tables.h5", "data_000001.raw")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a good run."""
    folder = tmp_path_factory.mktemp("stored")
    (folder / "p.toml").write_text(pipeline("raw", 8), encoding="utf-8")
    np.save(folder / "f.npy", FRAMES)
    done = process_recording(Job(folder / "p.toml", "", folder, Recording("run", (folder / "f.npy",))))
    assert done.good
    return folder


@pytest.fixture
def run(stored: Path, tmp_path: Path) -> Path:
    """Return the prefix of a copy of the run."""
    for part in (*PARTS, "data_000002.raw"):
        shutil.copy(stored / f"run_b_raw_{part}", tmp_path / f"run_b_raw_{part}")
    return tmp_path / "run_b_raw"


def file_of(run: Path, part: str) -> Path:
    return run.with_name(f"{run.name}_{part}")


def damaged(good: bytes, tries: int) -> Iterator[bytes]:
    generator = random.Random(len(good))
    yield good[: len(good) // 2]
    for _ in range(tries):
        wrong = bytearray(good)
        for _ in range(16):
            wrong[generator.randrange(generator.choice((64, 4096, len(wrong))) % len(wrong) or len(wrong))] ^= (
                1 << generator.randrange(8)
            )
        yield bytes(wrong)


def convert(run: Path) -> None:
    done = convert_run(
        file_of(run, "master.h5"), run.with_name("out"), existing="replace", patience=Patience(seconds=8.0)
    )
    assert done.stored + done.lost + done.unknown <= IMAGES
    with open_run(done.master) as dense:
        for index in range(len(dense)):
            frame = int(dense.frame_numbers[index])
            np.testing.assert_array_equal(dense.image(index), FRAMES[frame])


def replay(run: Path) -> None:
    spec = StoredSpec(kind="stored", path=str(file_of(run, "master.h5")), speed=0, width=WIDTH, height=HEIGHT)
    dataset = load_replay(spec).dataset
    assert dataset.frames <= IMAGES


def test_a_good_one_is_read_by_all(run: Path) -> None:
    convert(run)
    replay(run)
    with open_run(run.with_name("out_master.h5")) as dense, open_run(file_of(run, "master.h5")) as raw:
        assert len(dense) == len(raw) == IMAGES
        assert len(raw.table("peakfinder8", 0)) > 0


@pytest.mark.parametrize("part", PARTS)
def test_a_damaged_one_is_converted_as_far_as_it_is_whole_or_refused(run: Path, part: str) -> None:
    path = file_of(run, part)
    good = path.read_bytes()
    for wrong in damaged(good, 3):
        path.write_bytes(wrong)
        try:
            convert(run)
        except StoredRunError as error:
            assert run.name in str(error) or run.with_name("out").name in str(error), error


@pytest.mark.parametrize("part", ["master.h5", "data_000001.raw"])
def test_a_damaged_one_is_played_or_refused(run: Path, part: str) -> None:
    path = file_of(run, part)
    for wrong in damaged(path.read_bytes(), 3):
        path.write_bytes(wrong)
        try:
            replay(run)
        except _native.NativeError as error:
            assert run.name in str(error), error


@pytest.mark.parametrize("part", PARTS)
def test_what_is_no_regular_file_is_never_waited_for(run: Path, part: str) -> None:
    path = file_of(run, part)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(StoredRunError, match=r"regular"):
        convert_run(file_of(run, "master.h5"), run.with_name("out"))
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(StoredRunError, match=r"regular"):
        convert_run(file_of(run, "master.h5"), run.with_name("out"))
    if part == "tables.h5":
        with open_run(file_of(run, "master.h5")) as raw, pytest.raises(StoredRunError, match=r"regular"):
            raw.table("peakfinder8", 0)
    if part == "data_000001.raw":
        with open_run(file_of(run, "master.h5")) as raw, pytest.raises(StoredRunError, match=r"regular"):
            raw.image(0)
        with pytest.raises(_native.FileError, match=r"regular"):
            replay(run)
    if part == "master.h5":
        with pytest.raises(StoredRunError, match=r"regular"):
            open_run(path)
        with pytest.raises(_native.FileError, match=r"regular"):
            replay(run)


def test_a_journal_that_is_a_link_is_called_so(run: Path) -> None:
    """Check a journal that is a link: the lock would belong to another file, so that nobody could know whether the run is being written."""
    path = file_of(run, "master.journal")
    path.rename(file_of(run, "elsewhere.journal"))
    path.symlink_to("run_b_raw_elsewhere.journal")
    for words in (("repair", str(run)), ("convert", str(run), str(run.with_name("out")))):
        result = CliRunner().invoke(app, list(words))
        assert result.exit_code == 2
        assert "run_b_raw_master.journal is a link; put the file itself there" in result.stderr
    with h5py.File(file_of(run, "master.h5"), "r+") as file:
        del file["entry/rashpa/books"]
    with pytest.raises(
        StoredRunError, match=r"run_b_raw_master\.journal: it is a link, which is not followed; put the file"
    ):
        open_run(file_of(run, "master.h5"))


def test_tables_of_more_axes_than_there_can_be_end_nobody(run: Path) -> None:
    with h5py.File(file_of(run, "tables.h5"), "r+") as file:
        names: list[str] = []
        file.visititems(lambda name, one: names.append(name) if isinstance(one, h5py.Dataset) else None)
        assert names
        for name in names:
            del file[name]
            file.create_dataset(name, (2,) * 20, "u1", chunks=(1,) * 20)
    done = convert_run(file_of(run, "master.h5"), run.with_name("out"))
    assert done.stored + done.lost == IMAGES


def test_a_table_that_says_it_is_huge_takes_no_memory_of_ours(run: Path) -> None:
    with h5py.File(file_of(run, "master.h5"), "r+") as file:
        del file["entry/rashpa/raw/offset"]
        file.create_dataset("entry/rashpa/raw/offset", (1 << 44,), "u8", chunks=(1 << 16,))
    with pytest.raises(_native.FileError, match=r"run_b_raw_master"):
        replay(run)
    with pytest.raises(StoredRunError, match=r"run_b_raw_master"):
        open_run(file_of(run, "master.h5"))
    result = CliRunner().invoke(app, ["inspect", str(file_of(run, "master.h5"))])
    assert result.exit_code == 2
    assert "run_b_raw_master" in result.stderr


def test_a_reader_that_does_not_answer_is_ended(run: Path) -> None:
    with pytest.raises(StoredError, match=r"in time"):
        LimitedStored(file_of(run, "master.h5"), seconds=0.0)


def test_a_reader_that_ends_is_said_by_file(run: Path) -> None:
    reader = LimitedStored(file_of(run, "master.h5"))
    os.kill(reader._process.pid, 11)  # as a library that crashes
    with pytest.raises(StoredError, match=r"run_b_raw_master\.h5: the library crashed on it \(signal SIGSEGV\)"):
        reader.read(0, 1)
    reader.close()
