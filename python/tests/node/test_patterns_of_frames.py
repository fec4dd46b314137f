# SPDX-License-Identifier: Apache-2.0
"""A node reveals no file of a folder that it may not read: patterns and folders of frames are checked before they are read."""

from pathlib import Path

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
from rashpa.data.datasets.dataset_spec import FilesSpec
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.folders import Folders


@pytest.mark.parametrize("name", ["secret/*.npy", "secret", "secret/s*", "open/../secret/*", "open/link/*"])
def test_a_pattern_of_another_folder_is_refused_without_its_names(tmp_path: Path, name: str) -> None:
    for folder in ("open", "secret"):
        (tmp_path / folder).mkdir()
    (tmp_path / "secret/secret_1.npy").touch()
    (tmp_path / "open/link").symlink_to(tmp_path / "secret")
    folders = Folders([tmp_path / "open"], [tmp_path / "open"])
    with pytest.raises(EngineError) as refused:
        folders.check_read(FilesSpec(kind="files", files=[[str(tmp_path / name)]]), tmp_path)
    assert "secret_1" not in str(refused.value)


def test_links_that_a_pattern_finds_are_checked(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "secret_1.npy").touch()
    (tmp_path / "open/a.npy").symlink_to(tmp_path / "secret_1.npy")
    folders = Folders([tmp_path / "open"], [tmp_path / "open"])
    with pytest.raises(EngineError):
        folders.check_read(FilesSpec(kind="files", files=[["open/*.npy"]]), tmp_path)
