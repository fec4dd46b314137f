# SPDX-License-Identifier: Apache-2.0
"""Files of frames as people name them: a file, a pattern, a folder, or lists of these."""

from pathlib import Path

import pytest

from rashpa.data.datasets.dataset_spec import FilesSpec
from rashpa.data.files.file_names import frame_files, is_pattern


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("m_1.tif", "m_2.tif", "m_10.tif", "notes.txt", ".hidden.tif", "odd[1].npy"):
        (tmp_path / name).touch()
    (tmp_path / "m_3.tif").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("m_2.tif", ["m_2.tif"]),
        ("m_*.tif", ["m_1.tif", "m_2.tif", "m_10.tif"]),
        ("m_?.tif", ["m_1.tif", "m_2.tif"]),
        ("m_[12].tif", ["m_1.tif", "m_2.tif"]),
        ("odd[1].npy", ["odd[1].npy"]),
        (".", ["m_1.tif", "m_2.tif", "m_10.tif", "odd[1].npy"]),
        (".h*", [".hidden.tif"]),
        ("none_*.tif", ["none_*.tif"]),
        ("gone/m_*.tif", ["gone/m_*.tif"]),
        ("absent.npy", ["absent.npy"]),
    ],
)
def test_a_name_stands_for_files_in_the_order_of_their_numbers(folder: Path, name: str, found: list[str]) -> None:
    assert frame_files(str(folder / name)) == [str(folder / one) for one in found]
    assert is_pattern(str(folder / name)) == (name not in ("m_2.tif", "odd[1].npy", "absent.npy"))


@pytest.mark.parametrize(
    ("files", "modules"),
    [
        (["m_*.tif"], [["m_1.tif", "m_2.tif", "m_10.tif"]]),
        (["m_1.tif", "m_2.tif"], [["m_1.tif"], ["m_2.tif"]]),
        ([["m_2.tif", "m_1.tif"], "m_?.tif"], [["m_2.tif", "m_1.tif"], ["m_1.tif", "m_2.tif"]]),
        ([["m_10.tif", "m_?.tif"]], [["m_10.tif", "m_1.tif", "m_2.tif"]]),
    ],
)
def test_each_entry_is_a_module(folder: Path, files: list[str | list[str]], modules: list[list[str]]) -> None:
    spec = FilesSpec.model_validate({"kind": "files", "files": files})
    resolved = spec.resolved(folder)
    assert resolved.files == [[str(folder / name) for name in names] for names in modules]
    assert resolved.resolved(folder) == resolved
