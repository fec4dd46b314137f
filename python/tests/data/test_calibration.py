# SPDX-License-Identifier: Apache-2.0
"""Calibration maps load from every form that the field uses, and wrong ones are refused by name."""

import io
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from numpy.typing import NDArray

_native = pytest.importorskip("rashpa._native")

from rashpa.data.datasets.calibration import Calibration, load_calibration, load_map, to_photons  # noqa: E402
from rashpa.data.datasets.calibration_spec import CalibrationSpec  # noqa: E402

HEIGHT, WIDTH = 4, 6
MAPS = np.arange(3 * HEIGHT * WIDTH, dtype=np.float32).reshape(3, HEIGHT, WIDTH)


def write_all_forms(folder: Path) -> list[str]:
    np.save(folder / "a.npy", MAPS)
    np.savez(folder / "b.npz", other=np.zeros(3), maps=MAPS.astype(np.float64))
    (folder / "c.bin").write_bytes(MAPS.tobytes())
    (folder / "d.bin.zst").write_bytes(zstandard.compress(MAPS.tobytes()))
    (folder / "e.npy.zst").write_bytes(zstandard.compress((folder / "a.npy").read_bytes()))
    return [str(folder / name) for name in ("a.npy", "b.npz:maps", "c.bin", "d.bin.zst", "e.npy.zst")]


def test_every_form_of_a_map_gives_the_same_numbers(tmp_path: Path) -> None:
    for reference in write_all_forms(tmp_path):
        loaded = load_map(reference, np.dtype("<f4"), MAPS.shape)
        assert loaded.dtype == np.float32
        np.testing.assert_array_equal(loaded, MAPS, err_msg=reference)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("none.npy", "No such file"),
        ("b.npz:gain", "no array 'gain'"),
        ("short.bin", "8 bytes"),
        ("flat.npy", "its shape is"),
        ("bad.zst", "zst"),
        ("text.npy", "text.npy"),
    ],
)
def test_a_bad_map_is_an_error_with_path_and_reason(tmp_path: Path, name: str, why: str) -> None:
    write_all_forms(tmp_path)
    (tmp_path / "short.bin").write_bytes(b"12345678")
    (tmp_path / "bad.zst").write_bytes(b"no zstd data")
    (tmp_path / "text.npy").write_text("hello")
    np.save(tmp_path / "flat.npy", MAPS.ravel())
    with pytest.raises(_native.FileError, match=why) as caught:
        load_map(str(tmp_path / name), np.dtype("<f4"), MAPS.shape)
    assert str(tmp_path / name) in str(caught.value)


def test_three_files_and_a_gain_per_photon_become_adu_per_kev(tmp_path: Path) -> None:
    names = []
    for k in range(3):
        np.save(tmp_path / f"g{k}.npy", MAPS[k])
        names.append(str(tmp_path / f"g{k}.npy"))
    np.save(tmp_path / "gain.npy", MAPS + 1)
    spec = CalibrationSpec(
        pedestal=[names], gain=[str(tmp_path / "gain.npy")], gain_unit="adu_per_photon", photon_energy_kev=2.0
    )
    (maps,) = load_calibration(spec, HEIGHT, WIDTH)
    np.testing.assert_array_equal(maps.pedestal, MAPS)
    np.testing.assert_array_equal(maps.gain, (MAPS + 1) / 2)
    assert not maps.mask.any()
    with pytest.raises(_native.FileError, match="2 files"):
        load_calibration(spec.model_copy(update={"pedestal": [names[:2]]}), HEIGHT, WIDTH)


def test_gain_of_a_photon_becomes_gain_of_a_kev_with_one_rounding(tmp_path: Path) -> None:
    per_photon = np.random.default_rng(3).uniform(-600, 600, (3, HEIGHT, WIDTH)).astype(np.float32)
    np.save(tmp_path / "gain.npy", per_photon)
    np.save(tmp_path / "pedestal.npy", MAPS)
    spec = CalibrationSpec(
        pedestal=[str(tmp_path / "pedestal.npy")],
        gain=[str(tmp_path / "gain.npy")],
        gain_unit="adu_per_photon",
        photon_energy_kev=12.4,
    )
    (maps,) = load_calibration(spec, HEIGHT, WIDTH)
    once = np.array([np.float32(float(value) / 12.4) for value in per_photon.flat], np.float32).reshape(maps.gain.shape)
    np.testing.assert_array_equal(maps.gain, once)
    assert (once != per_photon * np.float32(1 / 12.4)).any(), "the factor rounded before is not the same"


def test_each_row_of_the_decode_table_gives_its_value() -> None:
    pedestal = np.array([1000.0, 13000.0, 14000.0], np.float32)[:, None, None] * np.ones((3, 1, 9), np.float32)
    gain = np.array([40.0, -1.5, -0.1], np.float32)[:, None, None] * np.ones((3, 1, 9), np.float32)
    mask = np.zeros((1, 9), np.uint32)
    mask[0, 6] = 2
    gain[0, 0, 7] = 0
    pedestal[0, 0, 8] = 16384
    raw = np.array([[1800, 0x4000 | 12970, 0xC000 | 13990, 0x8000 | 5, 0xC000, 0xFFFF, 1800, 1800, 1800]], np.uint16)
    photons = to_photons(raw, Calibration(pedestal, gain, mask), 10.0)
    nan = np.nan
    np.testing.assert_allclose(photons, [[2.0, 2.0, 10.0, nan, np.inf, nan, nan, nan, nan]], rtol=1e-6)
    assert np.isnan(
        to_photons(np.array([[0x4000]], np.uint16), Calibration(pedestal[..., :1], gain[..., :1], mask[:, :1]), 10.0)
    )


def _zip(path: Path, method: int, data: bytes) -> None:
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("gain.npy", data)


def test_a_bomb_is_unpacked_no_further_than_the_shape_says(tmp_path: Path) -> None:
    zeros = bytes(64 << 20)
    (tmp_path / "a.bin.zst").write_bytes(zstandard.compress(zeros))
    _zip(tmp_path / "b.npz", zipfile.ZIP_DEFLATED, npy_of(MAPS) + zeros)
    expected = MAPS.nbytes
    tracemalloc.start()
    for name in ("a.bin.zst", "b.npz:gain"):
        with pytest.raises(_native.FileError, match=rf"more than {expected} bytes; float32 \[3, 4, 6\] has {expected}"):
            load_map(str(tmp_path / name), np.dtype("<f4"), MAPS.shape)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 << 20


def npy_of(array: NDArray[Any]) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def test_a_header_that_promises_terabytes_is_refused_before_anything_is_taken(tmp_path: Path) -> None:
    text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000), }\n"
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
    with pytest.raises(_native.FileError, match=r"its shape is \[1000000, 1000000\]"):
        load_map(str(tmp_path / "a.npy"), np.dtype("<f4"), MAPS.shape)


def test_archives_that_are_none_or_of_another_kind_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"no zip")
    _zip(tmp_path / "b.npz", zipfile.ZIP_LZMA, npy_of(MAPS))
    _zip(tmp_path / "c.npz", zipfile.ZIP_STORED, npy_of(np.array(["text"])))
    good = (tmp_path / "d.npz").resolve()
    _zip(good, zipfile.ZIP_STORED, npy_of(MAPS))
    good.write_bytes(good.read_bytes().replace(MAPS.tobytes()[4:8], b"\xff\xff\xff\xff", 1))
    for name, why in (("a", "not a zip"), ("b", "zip method 14"), ("c", "not numbers"), ("d", "CRC")):
        with pytest.raises(_native.FileError, match=why):
            load_map(f"{tmp_path / name}.npz:gain", np.dtype("<f4"), MAPS.shape)


def test_values_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    for name, array, dtype in (("a", np.full((2, 2), 1e300), "<f4"), ("b", np.full((2, 2), np.nan), "<u4")):
        np.save(tmp_path / f"{name}.npy", array)
        with pytest.raises(_native.FileError, match="do not fit"):
            load_map(f"{tmp_path / name}.npy", np.dtype(dtype), (2, 2))


def test_an_array_in_fortran_order_is_the_same_array(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.asfortranarray(MAPS))
    np.testing.assert_array_equal(load_map(f"{tmp_path}/a.npy", np.dtype("<f4"), MAPS.shape), MAPS)


CELLS = 2
SETS = np.arange(CELLS * 3 * HEIGHT * WIDTH, dtype=np.float32).reshape(CELLS, 3, HEIGHT, WIDTH)


def planes_of(count: int) -> NDArray[np.float32]:
    """Return planes; plane k is 10 k + 1 everywhere."""
    return np.full((count, HEIGHT, WIDTH), 1, np.float32) + 10 * np.arange(count, dtype=np.float32)[:, None, None]


def loaded(folder: Path, pedestal: NDArray[Any], gain: NDArray[Any], **keys: Any) -> Calibration:
    np.save(folder / "p.npy", pedestal)
    np.save(folder / "g.npy", gain)
    spec = CalibrationSpec(pedestal=[str(folder / "p.npy")], gain=[str(folder / "g.npy")], **keys)
    return load_calibration(spec, HEIGHT, WIDTH)[0]


def test_storage_cells_have_pedestals_each_and_gains_together_or_each(tmp_path: Path) -> None:
    one = loaded(tmp_path, SETS, MAPS, storage_cells=[15, 0])
    assert one.cells == (15, 0)
    np.testing.assert_array_equal(one.pedestal, SETS)
    np.testing.assert_array_equal(one.gain, MAPS)
    np.testing.assert_array_equal(loaded(tmp_path, SETS, SETS, storage_cells=[15, 0]).gain, SETS)
    with pytest.raises(_native.FileError, match=r"\[3, 3, 4, 6\] is needed"):
        loaded(tmp_path, SETS, MAPS, storage_cells=[15, 0, 1])
    with pytest.raises(ValueError, match="a cell is there twice; name each once"):
        loaded(tmp_path, SETS, MAPS, storage_cells=[1, 1])


@pytest.mark.parametrize(("mode", "stage"), [("forceswitchg1", 1), ("fixg1", 1), ("forceswitchg2", 2), ("fixg2", 2)])
def test_a_mode_with_one_stage_has_no_gain_for_the_others(tmp_path: Path, mode: str, stage: int) -> None:
    gain = loaded(tmp_path, MAPS, planes_of(3), gain_mode=mode).gain
    assert [bool(np.isnan(plane).all()) for plane in gain] == [one != stage for one in range(3)]
    np.testing.assert_array_equal(gain[stage], planes_of(3)[stage])


def test_high_gain_takes_its_own_planes_and_never_those_of_g0(tmp_path: Path) -> None:
    of_six = loaded(tmp_path, planes_of(6), planes_of(6), gain_mode="highgain0")
    np.testing.assert_array_equal(of_six.pedestal, planes_of(6)[3:])
    np.testing.assert_array_equal(of_six.gain, planes_of(6)[3:])
    of_four = loaded(tmp_path, planes_of(3), planes_of(4), gain_mode="highgain0")
    np.testing.assert_array_equal(of_four.pedestal, planes_of(3), err_msg="dark frames in that mode")
    np.testing.assert_array_equal(of_four.gain[0], planes_of(4)[3])
    assert np.isnan(of_four.gain[1:]).all()
    with pytest.raises(_native.FileError, match=r"g\.npy"):
        loaded(tmp_path, planes_of(3), planes_of(3), gain_mode="highgain0")
