# SPDX-License-Identifier: Apache-2.0
"""Datasets of every kind load from a run file's section, with flags, kinds and calibration; folders survive the round trip."""

import json
import re
from pathlib import Path
from typing import Any

import fabio
import numpy as np
import pytest
import zstandard

_native = pytest.importorskip("rashpa._native")

from rashpa.data.datasets.calibration import to_photons  # noqa: E402
from rashpa.data.datasets.datasets import (  # noqa: E402
    calibration_from_spec,
    dataset_from_spec,
    load_dataset,
    load_directory,
    save_dataset,
)
from rashpa.data.files.images import read_images  # noqa: E402

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
M049 = DATA / "jungfrau_m049"
needs_m049 = pytest.mark.skipif(not M049.is_dir(), reason="recorded frames are absent")
SMALL: dict[str, Any] = {"kind": "jungfrau", "modules": 1, "frames": 4, "dark_every": 4, "hit_fraction": 0.5, "seed": 5}


def test_a_simulated_dataset_knows_its_kinds_flags_and_calibration() -> None:
    loaded = dataset_from_spec(SMALL, Path())
    assert loaded.label == "synthetic"
    assert sorted(loaded.kinds) == ["blank", "blank", "dark", "hit"] or sorted(loaded.kinds) == [
        "blank",
        "dark",
        "hit",
        "hit",
    ]
    assert loaded.kinds[3] == "dark"
    assert loaded.flags().tolist() == [0, 0, 0, 1]
    (alone,) = calibration_from_spec(SMALL, Path(), 512, 1024)
    for name in ("pedestal", "gain", "mask"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(loaded.calibration[0], name))


def test_true_photons_come_back_through_the_calibration() -> None:
    data = _native.jungfrau_dataset(
        modules=1,
        frames=2,
        seed=2,
        energy_kev=9.0,
        hit_fraction=0.0,
        dark_every=0,
        spots=50,
        background_photons=0.5,
        truth=True,
    )
    (maps,) = calibration_from_spec({"kind": "jungfrau", "modules": 1, "seed": 2}, Path(), 512, 1024)
    raw = data.frame(0, 1)
    truth = data.photons(0, 1).astype(np.float64)
    photons = to_photons(raw, maps, 9.0)
    in_g0 = (raw >> 14 == 0) & (maps.mask == 0)
    # 23.9 ADU of noise (up to 36 % more in some pixels) and 14 ADU of common mode, at 369 ADU a photon, six standard deviations
    assert np.abs(photons - truth)[in_g0].max() < 0.75
    assert np.isnan(photons[maps.mask != 0]).all()
    assert truth.mean() == pytest.approx(0.85 * 0.5, rel=0.02)  # a blank; 524288 Poisson numbers scatter by 0.2 %


def test_true_photons_that_were_not_kept_are_refused() -> None:
    loaded = dataset_from_spec(SMALL, Path())
    with pytest.raises(_native.StateError, match="truth=True"):
        loaded.dataset.photons(0, 0)  # type: ignore[attr-defined]
    with pytest.raises(IndexError):
        loaded.dataset.frame(0, 4)
    with pytest.raises(IndexError):
        loaded.dataset.frame(1, 0)


def test_a_folder_holds_all_that_was_saved(tmp_path: Path) -> None:
    made = dataset_from_spec(SMALL, Path())
    save_dataset(made, tmp_path / "d")
    loaded = dataset_from_spec({"kind": "directory", "path": "d"}, tmp_path)
    assert (loaded.kinds, loaded.label, loaded.energy_kev) == (made.kinds, "synthetic", 12.4)
    assert loaded.parameters == made.parameters
    np.testing.assert_array_equal(loaded.flags(), made.flags())
    for n in range(4):
        np.testing.assert_array_equal(loaded.dataset.frame(0, n), made.dataset.frame(0, n))
    np.testing.assert_array_equal(loaded.calibration[0].gain, made.calibration[0].gain)
    np.testing.assert_array_equal(loaded.calibration[0].mask, made.calibration[0].mask)
    (alone,) = calibration_from_spec({"kind": "directory", "path": "d"}, tmp_path, 512, 1024)
    np.testing.assert_array_equal(alone.pedestal, made.calibration[0].pedestal)


def pattern_folder(folder: Path) -> Path:
    spec = {"kind": "pattern", "width": 6, "height": 4, "frames": 3, "modules": 2, "pixel": "int32"}
    return save_dataset(dataset_from_spec(spec, Path()), folder / "p")


def test_a_folder_without_calibration_loads(tmp_path: Path) -> None:
    loaded = load_directory(pattern_folder(tmp_path))
    assert (loaded.dataset.pixel, loaded.dataset.modules, loaded.dataset.frames) == ("int32", 2, 3)
    assert loaded.calibration == []


def test_a_damaged_folder_is_refused_with_the_file(tmp_path: Path) -> None:
    folder = pattern_folder(tmp_path)
    with pytest.raises(_native.FileError, match="not empty"):
        save_dataset(load_directory(folder), folder)
    raw = folder / "module1_raw.npy"
    good = raw.read_bytes()
    raw.write_bytes(good[:-1] + b"\xff")
    with pytest.raises(_native.FileError, match=r"module1_raw\.npy: its SHA-256"):
        load_directory(folder)
    raw.unlink()
    with pytest.raises(_native.FileError, match=r"module1_raw\.npy: it is missing"):
        load_directory(folder)
    (folder / "dataset.json").write_text("{}")
    with pytest.raises(_native.FileError, match=r"dataset\.json: format: it is "):
        load_directory(folder)
    (folder / "dataset.json").unlink()
    with pytest.raises(_native.FileError, match="rashpa dataset make"):
        load_directory(folder)


def test_a_description_cannot_name_files_outside_its_folder(tmp_path: Path) -> None:
    folder = pattern_folder(tmp_path)
    document = json.loads((folder / "dataset.json").read_text())
    document["files"]["../x.npy"] = {"sha256": ""}
    (folder / "dataset.json").write_text(json.dumps(document))
    with pytest.raises(_native.FileError, match="does not lie in the folder"):
        load_directory(folder)


FRAMES = np.arange(1, 1 + 3 * 4 * 6, dtype=np.uint16).reshape(3, 4, 6)


def test_files_of_several_modules_load_with_dark_frames(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", FRAMES)
    (tmp_path / "b.bin").write_bytes(FRAMES[:1].tobytes())
    (tmp_path / "c.bin.zst").write_bytes(zstandard.compress(FRAMES[1:].tobytes()))
    loaded = dataset_from_spec(
        {"kind": "files", "files": [["a.npy"], ["b.bin", "c.bin.zst"]], "width": 6, "height": 4, "dark_frames": [1]},
        tmp_path,
    )
    assert loaded.flags().tolist() == [0, 1, 0]
    assert loaded.kinds == ["", "dark", ""]
    for module in range(2):
        for n in range(3):
            np.testing.assert_array_equal(loaded.dataset.frame(module, n), FRAMES[n])


@pytest.mark.parametrize(
    ("section", "error", "why"),
    [
        ({"files": [["none.npy"]]}, "FileError", "No such file"),
        ({"files": [["a.npy"]], "width": 4, "height": 6}, "FileError", "the dataset has 4 x 6"),
        ({"files": [["a.npy"]], "dark_frames": [3]}, "ConfigError", "flags for 4 frames; give one for each of the 3"),
        ({"files": [["a.npy"]], "fromat": "npy"}, "ConfigError", "fromat"),
        ({"files": [["a.npy", "x.cbf"]]}, "ConfigError", "do not mix"),
        ({"files": [["none.cbf"]]}, "FileError", "no such file"),
        ({"files": [["text.cbf"]]}, "FileError", "text.cbf"),
    ],
)
def test_wrong_files_are_refused_with_path_and_reason(
    tmp_path: Path, section: dict[str, Any], error: str, why: str
) -> None:
    np.save(tmp_path / "a.npy", FRAMES)
    (tmp_path / "text.cbf").write_text("hello")
    with pytest.raises(getattr(_native, error), match=why):
        dataset_from_spec({"kind": "files", **section}, tmp_path)


def test_more_frames_than_memory_are_a_resource_error() -> None:
    with pytest.raises(_native.ResourceError, match="fewer frames"):
        dataset_from_spec({"kind": "jungfrau", "frames": 10**9}, Path())


def test_images_of_the_field_load_through_fabio(tmp_path: Path) -> None:
    frame = np.arange(48, dtype=np.int32).reshape(6, 8)
    fabio.cbfimage.CbfImage(data=frame).write(str(tmp_path / "a.cbf"))
    fabio.edfimage.EdfImage(data=frame + 1).write(str(tmp_path / "b.edf"))
    fabio.tifimage.TifImage(data=frame + 2).write(str(tmp_path / "c.tif"))
    (tmp_path / "d.tif.zst").write_bytes(zstandard.compress((tmp_path / "c.tif").read_bytes()))
    loaded = dataset_from_spec({"kind": "files", "files": [["a.cbf", "b.edf", "d.tif.zst"]]}, tmp_path)
    assert (loaded.dataset.width, loaded.dataset.height, loaded.dataset.pixel) == (8, 6, "int32")
    for n in range(3):
        np.testing.assert_array_equal(loaded.dataset.frame(0, n), frame + n)


def test_images_of_different_shapes_are_refused(tmp_path: Path) -> None:
    for name, width in (("a", 8), ("b", 7)):
        fabio.cbfimage.CbfImage(data=np.ones((6, width), np.int32)).write(str(tmp_path / f"{name}.cbf"))
    with pytest.raises(_native.FileError, match=r"b\.cbf: 7 x 6 int32, not 8 x 6"):
        read_images([tmp_path / "a.cbf", tmp_path / "b.cbf"])


@needs_m049
def test_recorded_frame_0_converts_to_the_recorded_photons() -> None:
    spec = {
        "kind": "files",
        "files": [[f"mod5_raw{i}.bin.zst" for i in range(10)]],
        "width": 1024,
        "height": 512,
        "energy_kev": 12.4,
        "calibration": {
            "pedestal": [[f"mod5_pedeG{k}.bin.zst" for k in range(3)]],
            "gain": ["gain_reconstructed.npz:gain_adu_per_photon"],
            "gain_unit": "adu_per_photon",
        },
    }
    loaded = dataset_from_spec(spec, M049)
    assert loaded.dataset.frames == 10
    raw = loaded.dataset.frame(0, 0)
    recorded = np.frombuffer(
        zstandard.ZstdDecompressor().stream_reader((M049 / "mod5_conv0.bin.zst").read_bytes()).read(), "<f4"
    )
    recorded = recorded.reshape(512, 1024)
    with np.load(M049 / "gain_reconstructed.npz") as archive:
        exact_of_gain = archive["exact"]
    exact = np.take_along_axis(exact_of_gain, np.minimum(raw >> 14, 2).astype(np.intp)[None], axis=0)[0]
    exact &= raw != 0xC000  # overflow: inf here, a finite marker in the recording
    photons = to_photons(raw, loaded.calibration[0], 12.4)
    assert exact.sum() > 524_000
    # Recorded and computed photons are rounded to float32 (6e-8) a few times each.
    np.testing.assert_allclose(photons[exact], recorded[exact], rtol=1e-6, atol=0)


@pytest.mark.skipif(not DATA.is_dir(), reason="recorded data are absent")
def test_recorded_images_and_receiver_files_load() -> None:
    grid_scan = load_dataset(DATA / "mx" / "thau_3_2_0003.cbf.bz2")
    assert (grid_scan.dataset.width, grid_scan.dataset.height, grid_scan.dataset.pixel) == (2463, 2527, "int32")
    powder = load_dataset(DATA / "powder" / "CeO2_Pilatus1M.tif.zst")
    assert (powder.dataset.width, powder.dataset.height) == (981, 1043)
    files = [f"jungfrau_single_d0_f{i}_0.raw.zst" for i in range(4)]
    dark = dataset_from_spec(
        {
            "kind": "files",
            "files": [files],
            "format": "zst",
            "width": 1024,
            "height": 512,
            "header_bytes": 112,
            "dark_frames": list(range(10)),
        },
        DATA / "jungfrau_dark",
    )
    assert dark.dataset.frames == 10
    assert dark.flags().tolist() == [1] * 10


def test_a_folder_a_pattern_and_a_file_of_images_are_described_alike(tmp_path: Path) -> None:
    for number in range(3):
        np.save(tmp_path / f"i_{number}.npy", np.full((4, 6), number, np.uint16))
    for path, frames in ((tmp_path, 3), (tmp_path / "i_*.npy", 3), (tmp_path / "i_1.npy", 1)):
        assert load_dataset(path).dataset.frames == frames


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (".", "the folder has neither dataset.json nor images; give one that has"),
        ("nope.npy", "no such file; check its name"),
        ("nope/*.npy", "no such file"),
        ("nope.h5:/entry/data", "nope.h5"),
    ],
)
def test_frames_that_are_not_there_are_told_with_a_remedy(name: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(_native.FileError, match=re.escape(says)):
        load_dataset(tmp_path / name)
