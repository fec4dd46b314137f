# SPDX-License-Identifier: Apache-2.0
"""All readers of numbered files or parts use them in the order of their numbers, and refuse a gap."""

from pathlib import Path

import h5py
import numpy as np
import pytest

pytest.importorskip("rashpa._native")

from typer.testing import CliRunner

from rashpa.cli.files.dataset import _files_of
from rashpa.cli.main import app
from rashpa.data.files.file_names import natural
from rashpa.data.stored.stored_images import RawShape, open_stored
from rashpa.data.stored.stored_piece import StoredError
from rashpa.data.stored.stored_runs import masters_at
from rashpa.node.offline.process import ProcessError, recordings_of

RAW = RawShape(0, 0, "uint16")


def master(folder: Path, numbers: list[int], further: tuple[str, ...] = ()) -> Path:
    """Write a foreign master; its part data_N holds one image of the value N."""
    path = folder / "x_master.h5"
    with h5py.File(path, "w") as file:
        for number in numbers:
            with h5py.File(folder / f"x_data_{number}.h5", "w") as part:
                part["entry/data/data"] = np.full((1, 4, 6), number, np.uint16)
            file[f"entry/data/data_{number}"] = h5py.ExternalLink(f"x_data_{number}.h5", "entry/data/data")
        for name in further:
            file[f"entry/data/{name}"] = 1.0
    return path


def test_parts_of_a_master_are_read_by_their_numbers(tmp_path: Path) -> None:
    stored = open_stored([master(tmp_path, list(range(1, 13)), ("data_scaling_factor",))], RAW)
    try:
        assert stored.read(0, 12).images[:, 0, 0].tolist() == list(range(1, 13))
    finally:
        stored.close()


@pytest.mark.parametrize(
    ("numbers", "said"),
    [([1, 2, 4], "data_3 is missing between data_2 and data_4"), ([2, 3], "begins with data_2"), ([], "no images")],
)
def test_a_part_that_is_missing_is_an_error_in_words(tmp_path: Path, numbers: list[int], said: str) -> None:
    path = master(tmp_path, numbers, ("title",))
    with pytest.raises(StoredError, match=said):
        open_stored([path], RAW)


def test_image_files_of_a_recording_are_in_order_and_complete() -> None:
    files = [Path(f"i_{number}.cbf") for number in range(1, 13)]
    (recording,) = recordings_of(sorted(files, key=str))
    assert list(recording.files) == files
    with pytest.raises(ProcessError, match=r"i_3\.cbf is missing between i_2\.cbf and i_4\.cbf.*--join"):
        recordings_of([*files[:2], *files[3:]])
    given = [files[4], files[1]]
    assert list(recordings_of(given, join=True)[0].files) == given


def test_files_of_a_pattern_are_in_order_and_complete(tmp_path: Path) -> None:
    folder = tmp_path / "scan[1]"
    folder.mkdir()
    files = [folder / f"m_{number}.bin" for number in range(8, 13)]
    for file in files:
        file.touch()
    (folder / "m_[8].bin").touch()
    assert _files_of(str(folder / "m_[8].bin")) == [str(folder / "m_[8].bin")]
    (folder / "m_[8].bin").unlink()
    assert _files_of(str(folder / "m_*.bin")) == list(map(str, files))
    files[2].unlink()
    with pytest.raises(ValueError, match=r"--raw .*m_10\.bin is missing"):
        _files_of(str(folder / "m_*.bin"))


def test_masters_of_a_folder_are_in_order(tmp_path: Path) -> None:
    names = [f"r_{number}_master.h5" for number in (1, 2, 10)]
    for name in names:
        h5py.File(tmp_path / name, "w").close()
    assert [path.name for path in masters_at(tmp_path)] == names


def test_one_image_file_of_several_frames_is_a_recording(tmp_path: Path) -> None:
    fabio = pytest.importorskip("fabio")
    frames = np.arange(5 * 4 * 6, dtype=np.uint16).reshape(5, 4, 6)
    image = fabio.edfimage.EdfImage(data=frames[0])
    for frame in frames[1:]:
        image.append_frame(data=frame)
    image.write(str(tmp_path / "x.edf"))
    stored = open_stored([tmp_path / "x.edf"], RAW)
    assert stored.frames == 5
    np.testing.assert_array_equal(stored.read(1, 3).images, frames[1:4])
    with pytest.raises(StoredError, match=r"x\.edf: it holds 5 frames; give it alone"):
        open_stored([tmp_path / "x.edf", tmp_path / "x.edf"], RAW)


def test_files_that_are_joined_in_another_order_than_their_numbers_get_a_caution(tmp_path: Path) -> None:
    for number in (1, 2, 10):
        np.save(tmp_path / f"r_{number}.npy", np.full((1, 4, 6), number, np.uint16))
    files = [str(tmp_path / f"r_{number}.npy") for number in (1, 10, 2)]
    for given, cautioned in ((files, True), (sorted(files, key=natural), False)):
        done = CliRunner().invoke(app, ["process", *given, "--join", "-p", str(tmp_path / "gone.toml"), "-o", "out"])
        assert done.exit_code == 2
        assert ("their numbers have another order" in done.stderr) == cautioned
