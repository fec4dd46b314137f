# SPDX-License-Identifier: Apache-2.0
"""Calibration files: the receiver uses the values that `rashpa calibrate pedestal` writes; wrong and foreign files are named."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import h5py
import numpy as np
import pytest

_native = pytest.importorskip("rashpa._native")

from rashpa.data.datasets.calibration import load_calibration  # noqa: E402
from rashpa.data.datasets.calibration_file import (  # noqa: E402
    CalibrationFileError,
    ModuleMaps,
    read_facts,
    read_map,
    write_calibration,
)
from rashpa.data.datasets.calibration_reference import split_reference  # noqa: E402
from rashpa.data.datasets.calibration_spec import CalibrationSpec  # noqa: E402

HEIGHT, WIDTH = 4, 6
NOW = datetime(2026, 11, 1, tzinfo=UTC)


def maps(seed: int = 0, gain: bool = True) -> ModuleMaps:
    three = np.arange(3 * HEIGHT * WIDTH, dtype=np.float32).reshape(3, HEIGHT, WIDTH) + seed
    mask = np.zeros((HEIGHT, WIDTH), np.uint32)
    mask[1, 2] = 2
    return ModuleMaps(three, three / np.float32(10), mask, -three - 1 if gain else None, "M049", (30, 31, 32))


def written(folder: Path, modules: int = 2, gain: bool = True) -> Path:
    path = folder / "c.h5"
    write_calibration(path, {number: maps(number, gain) for number in range(modules)}, "JF", NOW)
    return path


def test_references_name_a_file_and_perhaps_its_module() -> None:
    assert split_reference("a/b.h5") == ("a/b.h5", None)
    assert split_reference("a/b.h5:12") == ("a/b.h5", 12)
    assert split_reference("a/b.npy") is None
    assert split_reference("a/b.npz:maps") is None


def test_what_was_written_is_loaded_with_mask_and_rms(tmp_path: Path) -> None:
    path = written(tmp_path)
    for entry in (str(path), f"{path}:1"):
        loaded = load_calibration(CalibrationSpec(pedestal=[f"{path}:0", entry]), HEIGHT, WIDTH)
        np.testing.assert_array_equal(loaded[1].pedestal, maps(1).pedestal)
        np.testing.assert_array_equal(loaded[1].gain, -maps(1).pedestal - 1)
        np.testing.assert_array_equal(loaded[1].mask, maps(1).mask)
        assert loaded[1].rms is not None
        np.testing.assert_array_equal(loaded[1].rms, maps(1).rms[0])


def test_the_facts_are_those_of_the_file(tmp_path: Path) -> None:
    facts = read_facts(written(tmp_path))
    assert (facts.version, facts.detector, facts.modules) == (1, "JF", (0, 1))
    assert facts.serials == {0: "M049", 1: "M049"}
    assert facts.age_days(NOW + timedelta(days=3)) == 3


def test_modules_are_added_to_a_file_of_the_same_detector_once(tmp_path: Path) -> None:
    path = written(tmp_path)
    write_calibration(path, {2: maps(2)}, "JF", NOW, add=True)
    assert read_facts(path).modules == (0, 1, 2)
    with pytest.raises(CalibrationFileError, match="it has module 2"):
        write_calibration(path, {2: maps(2)}, "JF", NOW, add=True)
    with pytest.raises(CalibrationFileError, match="it is of detector JF, not Eiger"):
        write_calibration(path, {3: maps(3)}, "Eiger", NOW, add=True)


def refusal(spec: CalibrationSpec) -> str:
    with pytest.raises(_native.FileError) as caught:
        load_calibration(spec, HEIGHT, WIDTH)
    return str(caught.value)


def test_a_wrong_shape_is_named_with_file_and_key(tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(_native.FileError) as caught:
        load_calibration(CalibrationSpec(pedestal=[str(path)]), 5, WIDTH)
    assert f"{path}: module0/mask: uint32 [4, 6]; [5, 6] is needed" in str(caught.value)


def test_a_pedestal_that_is_no_number_is_named_with_file_key_and_pixel(tmp_path: Path) -> None:
    one = maps()
    one.pedestal[1, 3, 5] = np.nan
    one.pedestal[0, 1, 2] = np.nan  # masked
    path = tmp_path / "nan.h5"
    write_calibration(path, {0: one}, "JF", NOW)
    text = refusal(CalibrationSpec(pedestal=[str(path)]))
    assert f"{path}: [detector.calibration] pedestal of module 0: pixel (5, 3), G1 is nan (1 such values)" in text
    np.save(tmp_path / "p.npy", one.pedestal)
    np.save(tmp_path / "g.npy", np.ones_like(one.pedestal))
    text = refusal(CalibrationSpec(pedestal=[str(tmp_path / "p.npy")], gain=[str(tmp_path / "g.npy")]))
    assert "p.npy: [detector.calibration] pedestal of module 0: pixel (2, 1), G0 is nan (2 such values)" in text


def test_what_is_no_calibration_file_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "text.h5"
    text.write_text("hello")
    assert "it is no HDF5 file" in refusal(CalibrationSpec(pedestal=[str(text)]))
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file["data"] = [1]
    assert "it is no calibration file" in refusal(CalibrationSpec(pedestal=[str(other)]))
    assert "No such file" in refusal(CalibrationSpec(pedestal=[str(tmp_path / "none.h5")]))
    assert "it has no module 7; it has 0, 1" in refusal(CalibrationSpec(pedestal=[f"{written(tmp_path)}:7"]))


def test_a_file_without_gain_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, gain=False)
    assert "module0 has no gain; name it in [detector.calibration] gain" in refusal(
        CalibrationSpec(pedestal=[str(path)])
    )


def test_links_out_of_a_file_are_not_followed(tmp_path: Path) -> None:
    path = written(tmp_path)
    with h5py.File(path, "r+") as file:
        del file["module0/pedestal"]
        file["module0/pedestal"] = h5py.ExternalLink("elsewhere.h5", "/secret")
    with pytest.raises(CalibrationFileError, match="lies in another file"):
        read_map(path, 0, "pedestal", (3, HEIGHT, WIDTH))


def test_truncated_files_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    whole = path.read_bytes()
    for share in (0.1, 0.5, 0.9):
        path.write_bytes(whole[: int(len(whole) * share)])
        refusal(CalibrationSpec(pedestal=[str(path)]))
