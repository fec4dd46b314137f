# SPDX-License-Identifier: Apache-2.0
"""Arrays of foreign files are read up to the expected shape, and never further."""

import io
import zipfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import zstandard
from numpy.typing import NDArray

from rashpa.data.files.bounded_array import is_plain, read_array
from rashpa.data.files.file_names import ArrayName

U2 = np.dtype("uint16")
VALUES = np.array([[1, 2, 3], [4, 5, 65535]], np.uint16)


def npy(array: NDArray[Any]) -> bytes:
    made = io.BytesIO()
    np.save(made, array, allow_pickle=True)
    return made.getvalue()


def read(path: Path, inner: str = "", dtype: np.dtype[Any] = U2, shape: tuple[int, ...] = (2, 3)) -> NDArray[Any]:
    return read_array(ArrayName(str(path), inner), dtype, shape)


@pytest.mark.parametrize(
    ("name", "plain"),
    [("a.npy", True), ("A.NPZ", True), ("a.raw.zst", True), ("a.bin", True), ("a", True), ("a.h5", False), ("a.tif", False)],
)  # fmt: skip
def test_plain_files_are_known_by_their_names(name: str, plain: bool) -> None:
    assert is_plain(name) is plain


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("packed", [False, True])
def test_arrays_of_either_order_are_read(tmp_path: Path, order: Literal["C", "F"], packed: bool) -> None:
    content = npy(np.asarray(VALUES, order=order))
    path = tmp_path / ("a.npy.zst" if packed else "a.npy")
    path.write_bytes(zstandard.compress(content) if packed else content)
    assert read(path).tolist() == VALUES.tolist()


def test_another_type_of_numbers_is_kept(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", VALUES.astype(np.float32))
    found = read(tmp_path / "a.npy")
    assert found.dtype == np.float32 and found.tolist() == VALUES.tolist()


def test_headerless_bytes_are_of_the_type_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.raw"
    path.write_bytes(VALUES.tobytes())
    assert read(path).tolist() == VALUES.tolist()
    with pytest.raises(
        ValueError,
        match=r"^it has 12 bytes; float32 \[2, 3\] has 24; that is one number of 16 bits a pixel: save it as float32",
    ):
        read(path, dtype=np.dtype("float32"))
    with pytest.raises(ValueError, match=r"^it has 12 bytes; uint16 \[5\] has 10$"):
        read(path, shape=(5,))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (npy(VALUES)[:-1], "11 bytes; uint16 [2, 3] has 12"),
        (npy(VALUES) + b"0", "more than 12 bytes; uint16 [2, 3] has 12"),
        (npy(VALUES.T), "its shape is [3, 2]; [2, 3] is needed"),
        (npy(np.array([[None] * 3] * 2)), "it holds object, not numbers"),
        (npy(VALUES).replace(b"NUMPY\x01", b"NUMPY\x03"), ".npy version 3.0 is not read; save plain numbers"),
    ],
)
def test_a_wrong_array_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(content)
    with pytest.raises(ValueError) as refused:
        read(path)
    assert str(refused.value).startswith(says)


def test_a_bomb_is_unpacked_no_further_than_the_array(tmp_path: Path) -> None:
    path = tmp_path / "a.raw.zst"
    path.write_bytes(zstandard.compress(bytes(1 << 20)))
    with pytest.raises(ValueError, match=r"^more than 12 bytes"):
        read(path)


def test_an_archive_gives_the_only_array_that_fits_or_the_named_one(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, dark=VALUES, wide=np.zeros((3, 3)), flat=VALUES + 1)
    assert read(path, "flat")[0].tolist() == [2, 3, 4]
    with pytest.raises(
        ValueError, match=r"^2 of its arrays have the shape \[2, 3\]; name one: a.npz:dark \[2, 3\], a.npz:wide"
    ):
        read(path)
    with pytest.raises(ValueError, match=r"^no array 'gain'; the archive has dark, wide, flat$"):
        read(path, "gain")
    np.savez_compressed(path, dark=VALUES, wide=np.zeros((3, 3)))
    assert read(path).tolist() == VALUES.tolist()


def test_an_archive_of_another_compression_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("dark.npy", npy(VALUES))
    with pytest.raises(ValueError, match=r"^'dark' is compressed by zip method 12; numpy.savez_compressed deflates$"):
        read(path)
