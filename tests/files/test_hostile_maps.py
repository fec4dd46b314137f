# SPDX-License-Identifier: Apache-2.0
"""Tests every parameter that takes an array from a file (masks, darks, flats, gains, pedestals, dark runs) with every kind of file and damage: the
array has the right numbers, or one error names file and remedy."""

import gzip
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

pytestmark = pytest.mark.whole  # a process for many of some hundred files
_native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
fabio = pytest.importorskip("fabio")

from tests.files.test_hostile_hdf5 import within_limits  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from rashpa.cli.main import app  # noqa: E402
from rashpa.data.base.bad_file import BadFileError  # noqa: E402
from rashpa.data.datasets.calibration import load_map  # noqa: E402
from rashpa.data.datasets.dark_runs import dark_frames  # noqa: E402
from rashpa.data.geometry.geometry import read_mask, read_numbers  # noqa: E402

HEIGHT, WIDTH = 24, 36
SHAPE = (HEIGHT, WIDTH)
MAP = np.random.default_rng(31).integers(1, 200, SHAPE).astype(np.uint16)
OURS = (ValueError, OSError, BadFileError, _native.NativeError)


def npy(path: Path, array: Any) -> None:
    np.save(path, array, allow_pickle=True)


def npz(path: Path, array: Any) -> None:
    np.savez(path, map=array)


def hdf5(path: Path, array: Any, **options: Any) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("entry/data/data", data=array[None] if array.ndim == 2 else array, **options)
        file.create_dataset("maps/map", data=array, **options)


def edf(path: Path, array: Any) -> None:
    fabio.edfimage.EdfImage(data=array).write(str(path))


def cbf(path: Path, array: Any) -> None:
    fabio.cbfimage.CbfImage(data=array.astype(np.int32)).write(str(path))


def tif(path: Path, array: Any) -> None:
    fabio.tifimage.TifImage(data=array).write(str(path))


def packed(path: Path, array: Any) -> None:
    plain = path.with_name("plain.edf")
    edf(plain, array)
    path.write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()


MAKERS: dict[str, Callable[[Path, Any], object]] = {
    "m.npy": npy,
    "m.NPY": lambda path, array: path.write_bytes(_bytes_of_npy(array)),
    "m.npz": npz,
    "m.h5": hdf5,
    "m.NXS": hdf5,
    "m.edf": edf,
    "m.edf.gz": packed,
    "m.cbf": cbf,
    "m.tif": tif,
    "a[1] 100%~é.tif": tif,
}


def _bytes_of_npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@dataclass(frozen=True)
class Place:
    """Describes a parameter that takes an array. `read`: returns its numbers; `refuses`: names of files that it never accepts."""

    read: Callable[[str], Any]
    refuses: tuple[str, ...] = ()


def pedestal(path: str) -> Any:
    """Run the command with the file as dark frames of all gains; return the frame that it would use."""
    done = CliRunner().invoke(app, ["calibrate", "pedestal", "made.h5", *(f"--g{gain}={path}" for gain in range(3))])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert "Traceback" not in done.output
    assert not Path("made.h5").exists()
    assert done.exit_code == 2, done.output
    assert path in done.stderr
    (frames,) = dark_frames([Path(path)]).modules
    return frames[0]


PLACES = {
    "mask": Place(lambda path: read_mask("mask", path, SHAPE).astype(np.uint16) * MAP),
    "dark, flat": Place(lambda path: read_numbers("dark", path, SHAPE, np.zeros(SHAPE, np.bool_))),
    "gain": Place(lambda path: load_map(path, np.dtype("<f4"), SHAPE)),
    "calibration mask": Place(lambda path: load_map(path, np.dtype("<u4"), SHAPE)),
    "dark run": Place(pedestal, refuses=("m.npz", "m.cbf")),  # an archive; a CBF has no raw words
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def named(place: str, file: str) -> str:
    """Return a reference to the array in an HDF5 file; a dark run has its images at the path of NXmx."""
    one_of = file.lower().endswith((".h5", ".nxs")) and place != "dark run"
    return f"{file}:/maps/map" if one_of else file


@pytest.mark.parametrize("file", list(MAKERS))
@pytest.mark.parametrize("place", list(PLACES))
def test_the_numbers_of_a_good_one_are_taken(place: str, file: str) -> None:
    MAKERS[file](Path(file), MAP)
    if file in PLACES[place].refuses:
        with pytest.raises(OURS, match=file) as caught:
            PLACES[place].read(file)
        assert ";" in str(caught.value)
        return
    with within_limits():
        np.testing.assert_array_equal(PLACES[place].read(named(place, file)), MAP)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - min(100, path.stat().st_size // 3))


def in_place_of(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.unlink()
        make(path)

    return damage


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": cut,
    "empty": lambda path: os.truncate(path, 0),
    "noise": lambda path: path.write_bytes(np.random.default_rng(1).bytes(3000)),
    "gone": Path.unlink,
    "a pipe": in_place_of(os.mkfifo),
    "a folder": in_place_of(Path.mkdir),
    "a device": in_place_of(lambda path: path.symlink_to("/dev/zero")),
    "a link to itself": in_place_of(lambda path: path.symlink_to(path.name)),
    "a socket": in_place_of(lambda path: os.mknod(path, 0o140644)),
    "another kind": lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(500)),
}


@pytest.mark.parametrize("damage", list(DAMAGES))
@pytest.mark.parametrize("file", ["m.npy", "m.npz", "m.h5", "m.edf.gz", "m.cbf", "a[1] 100%~é.tif"])
@pytest.mark.parametrize("place", list(PLACES))
def test_a_damaged_one_is_refused_by_name(place: str, file: str, damage: str) -> None:
    path = Path(file)
    MAKERS[file](path, MAP)
    DAMAGES[damage](path)
    with pytest.raises(OURS) as caught, within_limits():
        PLACES[place].read(named(place, file))
    assert file in str(caught.value)
    assert ";" in str(caught.value), f"no remedy: {caught.value}"


def of_two(file: str) -> None:
    if file == "m.edf":
        image = fabio.edfimage.EdfImage(data=MAP)
        image.append_frame(data=MAP + 1)
        image.write(file)
    elif file == "m.npz":
        np.savez(file, one=MAP, other=MAP + 1)
    else:
        hdf5(Path(file), MAP)
        with h5py.File(file, "r+") as more:
            more["maps/other"] = MAP + 1


@pytest.mark.parametrize("file", ["m.edf", "m.npz", "m.h5"])
@pytest.mark.parametrize("place", [name for name in PLACES if name != "dark run"])
def test_one_of_several_is_named_or_refused(place: str, file: str) -> None:
    of_two(file)
    with pytest.raises(OURS, match="name one") as caught:
        PLACES[place].read(file)
    assert file in str(caught.value)
    chosen = {"m.edf": "m.edf#0", "m.npz": "m.npz:one", "m.h5": "m.h5:/maps/map"}[file]
    np.testing.assert_array_equal(PLACES[place].read(chosen), MAP)
    for wrong in ("m.edf#7", "m.npz:none", "m.h5:/maps/none"):
        if wrong.startswith(file):
            with pytest.raises(OURS, match=file):
                PLACES[place].read(wrong)


ODD: dict[str, Any] = {
    "big-endian": MAP.astype(">u2"),
    "Fortran": np.asfortranarray(MAP),
    "float64": MAP.astype(np.float64),
    "int64, big-endian": MAP.astype(">i8"),
    "float16": MAP.astype(np.float16),
}
WRONG: dict[str, Any] = {
    "objects": MAP.astype(object),
    "complex": MAP.astype(np.complex64),
    "text": MAP.astype("U3"),
    "a structure": np.zeros(SHAPE, [("a", "u2")]),
    "turned": MAP.T.copy(),
    "a row less": MAP[:-1],
    "another axis": MAP[None],
}


@pytest.mark.parametrize("file", ["m.npy", "m.npz", "m.h5"])
@pytest.mark.parametrize("place", [name for name in PLACES if name != "dark run"])
@pytest.mark.parametrize("kind", list(ODD))
def test_numbers_of_any_type_and_order_are_the_same(place: str, file: str, kind: str) -> None:
    MAKERS[file](Path(file), ODD[kind])
    np.testing.assert_array_equal(PLACES[place].read(named(place, file)), MAP)


@pytest.mark.parametrize("file", ["m.npy", "m.npz", "m.h5"])
@pytest.mark.parametrize("place", [name for name in PLACES if name != "dark run"])
@pytest.mark.parametrize("kind", list(WRONG))
def test_what_is_no_such_array_is_refused(place: str, file: str, kind: str) -> None:
    if file == "m.h5" and kind in ("objects", "text"):
        pytest.skip("h5py writes no such array")
    MAKERS[file](Path(file), WRONG[kind])
    with pytest.raises(OURS, match=file) as caught:
        PLACES[place].read(named(place, file))
    assert ";" in str(caught.value), f"no remedy: {caught.value}"


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("dark, flat", np.nan),
        ("dark, flat", np.inf),
        ("dark, flat", 1e300),
        ("gain", 1e300),
        ("calibration mask", -1.0),
        ("calibration mask", 0.5),
        ("calibration mask", 2.0**32),
        ("calibration mask", np.nan),
    ],
)
def test_a_value_that_would_change_is_refused(place: str, value: float) -> None:
    wrong = MAP.astype(np.float64)
    wrong[3, 4] = value
    np.save("m.npy", wrong)
    with pytest.raises(OURS, match=r"m\.npy") as caught:
        PLACES[place].read("m.npy")
    assert ";" in str(caught.value)
    assert "3" in str(caught.value) and "4" in str(caught.value)
