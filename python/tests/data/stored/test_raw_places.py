# SPDX-License-Identifier: Apache-2.0
"""Images of raw files are found with the tables of their master, and read only when undamaged."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa import _native
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored.raw_places import RawPlaces

IMAGES = np.arange(18, dtype="<u2").reshape(3, 2, 3)


class Group(dict[str, Any]):
    """Holds arrays by name, and attributes."""

    attrs: dict[str, Any]


def group(**attributes: Any) -> Group:
    made = Group(
        offset=np.array([0, 64, 0], np.uint64),
        length=np.array([12, 12, 12], np.uint64),
        crc32c=np.array([_native.crc32c(one.tobytes()) for one in IMAGES], np.uint32),
    )
    made.attrs = {"pixel": b"uint16", "image_shape": np.array([2, 3])} | attributes
    return made


def places(folder: Path, raw: Group) -> RawPlaces:
    master = folder / "run_master.h5"
    (folder / "run_data_000001.raw").write_bytes(IMAGES[0].tobytes().ljust(64, b"\0") + IMAGES[1].tobytes())
    (folder / "run_data_000002.raw").write_bytes(IMAGES[2].tobytes())
    rashpa: Any = {"raw": raw, "stored_file": np.array([1, 1, 2], np.uint32)}
    return RawPlaces(rashpa, master, (folder,))


def test_images_come_back_from_their_places(tmp_path: Path) -> None:
    found = places(tmp_path, group())
    assert [found.image(row).tolist() for row in range(3)] == IMAGES.tolist()
    assert found.stored_bytes == 36
    assert found.dtype == np.dtype("<u2")
    assert found.absent(np.arange(3)) == {}


def test_an_image_that_was_changed_is_refused(tmp_path: Path) -> None:
    found = places(tmp_path, group())
    path = tmp_path / "run_data_000002.raw"
    path.write_bytes(IMAGES[2].tobytes()[:-1] + b"\xff")
    with pytest.raises(
        StoredRunError, match=r"run_data_000002.raw: the image of row 2 is not what was written; copy the file again"
    ):
        found.image(2)
    path.unlink()
    with pytest.raises(
        StoredRunError, match=r"run_data_000002.raw: this part of run_master.h5 is not there; put it beside it"
    ):
        found.image(2)


def test_images_behind_the_end_of_a_file_are_absent(tmp_path: Path) -> None:
    raw = group()
    raw["offset"][1] = 65  # one byte too far
    raw["offset"][2] = 2**64 - 6  # whose end is more than 64 bits hold
    found = places(tmp_path, raw)
    assert found.absent(np.arange(3)) == {
        row: f"{tmp_path}/run_data_00000{file}.raw: it ends before image {row} does" for row, file in ((1, 1), (2, 2))
    }
    with pytest.raises(StoredRunError, match=r"run_data_000002.raw: "):
        found.image(2)
    (tmp_path / "run_data_000002.raw").unlink()
    assert found.absent(np.array([0, 2])).keys() == {2}


@pytest.mark.parametrize(
    ("attributes", "says"),
    [
        ({"pixel": "float64"}, "it says images of (2, 3) float64, which is impossible; copy it again"),
        ({"image_shape": np.array([2, 3, 4])}, "it says images of (2, 3, 4) uint16"),
        ({"image_shape": np.array([0, 3])}, "it says images of (0, 3) uint16"),
        ({"image_shape": np.array([1 << 20, 1 << 20])}, "it says images of (1048576, 1048576) uint16"),
    ],
)
def test_impossible_images_are_refused(tmp_path: Path, attributes: dict[str, Any], says: str) -> None:
    with pytest.raises(StoredRunError) as refused:
        places(tmp_path, group(**attributes))
    assert says in str(refused.value)


def test_columns_of_another_length_than_the_tables_are_refused(tmp_path: Path) -> None:
    raw = group()
    raw["crc32c"] = raw["crc32c"][:2]
    with pytest.raises(
        StoredRunError, match=r"/entry/rashpa/raw has another number of rows than the tables; copy it again$"
    ):
        places(tmp_path, raw)
