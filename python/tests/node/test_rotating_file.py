# SPDX-License-Identifier: Apache-2.0
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from rashpa.node.logs.rotating_file import RotatingFile


def test_a_full_file_becomes_the_first_of_two_older_ones(tmp_path: Path) -> None:
    file = RotatingFile(tmp_path / "node.log", file_bytes=100)
    for number in range(40):
        assert file.write(f"line {number:04}")
    file.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["node.1.log", "node.2.log", "node.log"]
    assert all(path.stat().st_size <= 100 for path in tmp_path.iterdir())
    lines = [
        line for name in ("node.2.log", "node.1.log", "node.log") for line in (tmp_path / name).read_text().split("\n")
    ]
    assert [line for line in lines if line] == [f"line {number:04}" for number in range(10, 40)]


def test_a_file_that_is_there_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "node.log"
    path.write_text("before\n")
    RotatingFile(path).write("after")
    assert path.read_text() == "before\nafter\n"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "node.log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        RotatingFile(tmp_path / "node.log")
    assert not (tmp_path / "elsewhere").exists()


@pytest.fixture
def small_files() -> Iterator[None]:
    """Limit files to 40 bytes during the context, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_lines_that_find_no_room_are_counted_and_told_of_later(tmp_path: Path, small_files: None) -> None:
    path = tmp_path / "node.log"
    file = RotatingFile(path)
    assert file.write("a" * 39)
    assert not file.write("lost")
    assert not file.write("lost, too")
    os.truncate(path, 0)
    assert file.write("again")
    assert path.read_text() == "2 lines could not be written\nagain\n"
