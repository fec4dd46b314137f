"""Calibration maps load from every form that the field uses, and wrong ones are refused by name."""

from pathlib import Path

import numpy as np
import pytest
import zstandard

_native = pytest.importorskip("rashpa._native")

from rashpa.data.calibration import Calibration, load_calibration, load_map, to_photons  # noqa: E402
from rashpa.data.dataset_spec import CalibrationSpec  # noqa: E402

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
        ("b.npz", "say which array"),
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
