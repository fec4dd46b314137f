# SPDX-License-Identifier: Apache-2.0
"""Foreign text files: a byte order mark is skipped, and another encoding is reported with its line, by every reader of text."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rashpa._native")

from rashpa.cli.main import _at_home
from rashpa.control.runfile.run_file_reader import read_run_file
from rashpa.data.files.array_file import cast_exactly, read_array_file
from rashpa.data.geometry.crystfel_geometry import read_crystfel_geometry
from rashpa.data.geometry.geometry import read_poni
from rashpa.data.stored.stored_images import RawShape, open_stored

PONI = "# made\nPixelSize1: 0.0001\nPixelSize2: 0.0001\nDistance: 0.1\nPoni1: 0\nPoni2: 0\nRot1: 0\nRot2: 0\nRot3: 0\nWavelength: 1e-10\n"
GEOM = "; made\np0/min_fs = 0\np0/max_fs = 3\np0/min_ss = 0\np0/max_ss = 3\np0/corner_x = 0\np0/corner_y = 0\n"
RUN = """# made
[run]
name = "t"
frames = 1
[detector]
width = 8
height = 8
[dataset]
kind = "pattern"
width = 8
height = 8
[[buffer]]
name = "b"
[[buffer.sink]]
kind = "null"
"""
READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "PONI": (PONI, lambda path: read_poni("poni", str(path), (4, 4))),
    "geom": (GEOM, lambda path: read_crystfel_geometry("geometry", str(path), (4, 4))),
    "run file": (RUN, read_run_file),
}


@pytest.mark.parametrize("kind", READERS)
def test_a_mark_before_the_text_is_passed_over(kind: str, tmp_path: Path) -> None:
    text, read = READERS[kind]
    (tmp_path / "a").write_bytes(text.encode("utf-8-sig"))
    assert read(tmp_path / "a")


@pytest.mark.parametrize(
    ("encoding", "said"),
    [("latin-1", r"line 1: the byte 0xe9 is no UTF-8, as in text in Latin-1"), ("utf-16", "UTF-16")],
)
@pytest.mark.parametrize("kind", READERS)
def test_another_encoding_is_said_with_its_line(kind: str, encoding: str, said: str, tmp_path: Path) -> None:
    text, read = READERS[kind]
    (tmp_path / "a").write_bytes(text.replace("made", "créé").encode(encoding))
    with pytest.raises(ValueError, match=said):
        read(tmp_path / "a")


def test_float64_without_a_header_is_said(tmp_path: Path) -> None:
    np.zeros((3, 4, 5)).tofile(tmp_path / "gain.bin")
    with pytest.raises(ValueError, match=r"gain\.bin: it has 480 bytes; float32 \[3, 4, 5\] has 240.*float64"):
        read_array_file(str(tmp_path / "gain.bin"), np.dtype("<f4"), (3, 4, 5))


@pytest.mark.parametrize(
    ("values", "dtype", "lost"),
    [
        (np.array([2**33], "i8"), "u4", True),
        (np.array([-1], "i4"), "u4", True),
        (np.array([2**64 - 1], "u8"), "i8", True),
        (np.array([0.5]), "u4", True),
        (np.array([np.nan]), "u4", True),
        (np.array([1e300]), "f4", True),
        (np.array([2**24 + 1], "i8"), "f4", True),
        (np.array([0.1, np.nan, np.inf]), "f4", False),
        (np.array([2**32 - 1], "i8"), "u4", False),
        (np.array([True, False]), "u4", False),
        (np.array([3.0]), "u4", False),
    ],
)
def test_no_cast_changes_a_value(values: np.ndarray, dtype: str, lost: bool) -> None:
    if lost:
        with pytest.raises(ValueError, match="do not fit into"):
            cast_exactly(values, np.dtype(dtype))
    else:
        np.testing.assert_array_equal(cast_exactly(values, np.dtype(dtype)), values.astype(dtype))


@pytest.mark.parametrize("name", ["F.NPY", "f.Npy", "F.BIN", "F.RAW"])
def test_names_in_capital_letters_mean_the_same(name: str, tmp_path: Path) -> None:
    images = np.arange(4 * 8 * 8, dtype=np.uint16).reshape(4, 8, 8)
    with (tmp_path / name).open("wb") as file:
        np.save(file, images) if name.lower().endswith("npy") else images.tofile(file)
    stored = open_stored([tmp_path / name], RawShape(8, 8, "uint16"))
    try:
        np.testing.assert_array_equal(stored.read(0, 4).images, images)
    finally:
        stored.close()


def test_home_is_found_where_a_shell_leaves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/x")
    assert _at_home("--output=~/out") == "--output=/home/x/out"
    assert _at_home("~/run.toml") == "/home/x/run.toml"
    assert _at_home("--name=a~b") == "--name=a~b"
