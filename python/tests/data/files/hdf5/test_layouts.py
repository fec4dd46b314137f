# SPDX-License-Identifier: Apache-2.0
"""Layouts report the parts of an array without bytes, and read the others."""

import os
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest

from rashpa.data.base.bad_file import BadFileError
from rashpa.data.files.hdf5.files import Files
from rashpa.data.files.hdf5.layouts import Chunked, Contiguous, External, Layout, Place
from rashpa.data.files.hdf5.selection import Box

VALUES = np.arange(24, dtype="<u2").reshape(4, 2, 3)
ALL = ((0, 4), (0, 2), (0, 3))
PART = ((1, 3), (0, 2), (1, 3))


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    made = Files((tmp_path,))
    yield made
    made.close()


def place(files: Files, name: str = "data") -> Place:
    held = files.open(files.folders[0] / "a.h5")
    return Place(files, held, held.handle[name])


def test_an_array_in_one_piece(files: Files) -> None:
    with h5py.File(files.folders[0] / "a.h5", "w") as file:
        file["data"] = VALUES
        file.create_dataset("late", VALUES.shape, "<u2")
    found = Contiguous(place(files))
    assert found.absent(ALL) is None
    assert found.read(PART).tolist() == VALUES[1:3, :, 1:].tolist()
    for box, kind in ((((0, 5), (0, 2), (0, 3)), "short"),):
        absent = found.absent(box)
        assert absent is not None and absent.kind == kind
        assert absent.text.endswith("a.h5: /data: it has 4 images, and the file that leads to it says more")
    never = Contiguous(place(files, "late")).absent(ALL)
    assert never is not None and (never.kind, never.text[-14:]) == ("unwritten", ": never written"[1:])


def test_a_file_that_was_cut_is_short(files: Files) -> None:
    path = files.folders[0] / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("chunked", data=VALUES, chunks=(1, 2, 3))
        file["data"] = VALUES
    whole, chunked = place(files), place(files, "chunked")
    ends = [whole.data.id.get_offset() + VALUES.nbytes]
    last = chunked.data.id.get_chunk_info(3)
    ends += [last.byte_offset + last.size]
    found: list[tuple[Layout, Box]] = [(Contiguous(whole), ALL), (Chunked(chunked), ((3, 4), (0, 2), (0, 3)))]
    for (layout, box), end in sorted(zip(found, ends, strict=True), key=lambda one: -one[1]):
        os.truncate(path, end)
        assert layout.absent(box) is None
        os.truncate(path, end - 1)
        absent = layout.absent(box)
        assert absent is not None and absent.kind == "short" and absent.text.endswith("behind the end of the file")


@pytest.mark.parametrize("options", [{}, {"compression": "gzip", "shuffle": True}, {"compression": "lzf"}])
def test_an_array_in_chunks(files: Files, options: dict[str, object]) -> None:
    with h5py.File(files.folders[0] / "a.h5", "w") as file:
        data = file.create_dataset("data", (4, 2, 3), "<u2", chunks=(2, 1, 2), **options)
        data[:3] = VALUES[:3]
    found = Chunked(place(files))
    assert found.absent(((0, 2), (0, 2), (0, 3))) is None
    assert found.absent(((0, 0), (0, 2), (0, 3))) is None
    assert found.read(PART).tolist() == VALUES[1:3, :, 1:].tolist()
    assert found.read(((2, 3), (1, 2), (2, 3))).tolist() == VALUES[2:3, 1:2, 2:3].tolist()


def test_chunks_that_were_never_written_are_absent(files: Files) -> None:
    with h5py.File(files.folders[0] / "a.h5", "w") as file:
        file.create_dataset("data", (4, 2, 3), "<u2", chunks=(2, 2, 3))[:2] = VALUES[:2]
    found = Chunked(place(files))
    assert found.absent(((0, 2), (0, 2), (0, 3))) is None
    absent = found.absent(((1, 3), (0, 2), (0, 3)))
    assert absent is not None and absent.kind == "unwritten"


def test_a_damaged_chunk_is_named_by_its_image(files: Files) -> None:
    path = files.folders[0] / "a.h5"
    with h5py.File(path, "w") as file:
        data = file.create_dataset("data", data=VALUES, chunks=(1, 2, 3), compression="gzip")
        chunk = data.id.get_chunk_info(2)
    with path.open("r+b") as file:
        file.seek(chunk.byte_offset)
        file.write(bytes(chunk.size))
    with pytest.raises(BadFileError, match="/data: image 2: is damaged: it does not unpack"):
        Chunked(place(files)).read(ALL)


def external(files: Files, *parts: tuple[str, int, int]) -> External:
    with h5py.File(files.folders[0] / "a.h5", "w") as file:
        file.create_dataset("data", VALUES.shape, VALUES.dtype, external=list(parts))
    return External(place(files))


def test_an_array_in_files_of_plain_bytes(files: Files) -> None:
    content = VALUES.tobytes()
    (files.folders[0] / "one.raw").write_bytes(b"head" + content[:20])
    (files.folders[0] / "two.raw").write_bytes(content[20:])
    found = external(files, ("one.raw", 4, 20), ("two.raw", 0, 28))
    assert found.absent(ALL) is None
    assert found.read(ALL).tolist() == VALUES.tolist()
    assert found.read(PART).tolist() == VALUES[1:3, :, 1:].tolist()
    (files.folders[0] / "two.raw").write_bytes(content[20:-1])
    absent = found.absent(ALL)
    assert absent is not None and absent.kind == "short" and absent.text.endswith("ends early")
    assert found.absent(((0, 3), (0, 2), (0, 3))) is None
    (files.folders[0] / "two.raw").unlink()
    absent = found.absent(ALL)
    assert absent is not None and absent.kind == "file" and absent.text.endswith("is not there")
    assert found.absent(((0, 1), (0, 2), (0, 3))) is None


def test_bytes_outside_the_allowed_folders_are_refused(files: Files) -> None:
    found = external(files, ("/etc/passwd", 0, 48))
    with pytest.raises(BadFileError, match="it leads to /etc/passwd, which is in none of the folders that may be read"):
        found.absent(ALL)
