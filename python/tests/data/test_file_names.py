# SPDX-License-Identifier: Apache-2.0
"""Numbered names have one order and no gaps; a name determines the kind of file whatever its case, and the array that it selects."""

from pathlib import Path

import pytest

from rashpa.data.files.file_names import (
    ArrayName,
    NumberingError,
    array_name,
    expanded,
    in_order,
    is_hdf5,
    located,
    natural,
    without_packing,
)


def test_numbers_in_names_count_as_numbers() -> None:
    names = [f"data_{number}" for number in range(1, 13)]
    assert sorted(sorted(names), key=natural) == names
    assert sorted(["b1", "a10", "a9", "a"], key=natural) == ["a", "a9", "a10", "b1"]
    assert min(["x" + "9" * 5000, "x1" + "0" * 5000], key=natural) == "x" + "9" * 5000


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["data_1", "data_3"], "data_2 is missing between data_1 and data_3"),
        (["m_0099.cbf", "m_0101.cbf", "m_0098.cbf"], r"m_0100\.cbf is missing"),
        (["m_09.cbf", "m_11.cbf"], r"m_10\.cbf is missing"),
        (["a_1_1", "a_1_3", "a_2_1"], "a_1_2 is missing"),
        (["f1.cbf", "f01.cbf"], "have the same number"),
        (["f1.cbf", "f01.cbf", "f2.cbf"], "have the same number"),
    ],
)
def test_a_gap_in_the_numbering_is_an_error(names: list[str], said: str) -> None:
    with pytest.raises(NumberingError, match=said):
        in_order(names)


@pytest.mark.parametrize(
    "names",
    [
        ["a_1", "a_2", "b_7"],
        ["d0_f0_0", "d0_f1_0", "d0_f2_0"],
        ["a_1_8", "a_1_9", "a_2_1", "a_2_2"],
        ["one"],
        ["x.cbf", "y.cbf"],
        ["run9_098.cbf", "run9_099.cbf", "run9_100.cbf"],
    ],
)
def test_names_that_follow_one_another_are_in_order(names: list[str]) -> None:
    assert in_order(reversed(names)) == names


@pytest.mark.parametrize(
    ("reference", "meant"),
    [
        ("m.npy", ArrayName("m.npy")),
        ("a.NPZ:key", ArrayName("a.NPZ", "key")),
        ("C:/m.h5:/entry/mask", ArrayName("C:/m.h5", "/entry/mask")),
        ("m.Nxs:/a", ArrayName("m.Nxs", "/a")),
        ("m.h5:3", ArrayName("m.h5:3")),  # a module of a calibration file
        ("dark.edf#12", ArrayName("dark.edf", frame=12)),
        ("dark.edf#x", ArrayName("dark.edf#x")),
    ],
)
def test_which_array_of_a_file_is_meant(reference: str, meant: ArrayName) -> None:
    assert array_name(reference) == meant


def test_a_file_of_the_very_name_is_taken(tmp_path: Path) -> None:
    for name in ("run#3", "a.npz:k"):
        path = tmp_path / name
        path.touch()
        assert array_name(str(path)) == ArrayName(str(path))


def test_kinds_of_files_do_not_depend_on_case() -> None:
    assert is_hdf5("X_MASTER.H5")
    assert not is_hdf5("x.h5.gz")
    assert without_packing("A.TIF.GZ") == "a.tif"
    assert without_packing("A.NPY") == "a.npy"


def test_home_is_found_at_the_beginning_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert expanded("~/m.npy") == f"{tmp_path}/m.npy"
    assert expanded("a~/m.npy") == "a~/m.npy"
    assert expanded("~nobody_of_this_name/x") == "~nobody_of_this_name/x"
    assert located("~/m.h5:/a/b", Path("/elsewhere")) == f"{tmp_path}/m.h5:/a/b"
    assert located("m.npy", Path("/elsewhere")) == "/elsewhere/m.npy"
