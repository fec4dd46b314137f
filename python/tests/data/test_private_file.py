# SPDX-License-Identifier: Apache-2.0
import errno
import fcntl
import os
import stat
import threading
from pathlib import Path

import pytest

from rashpa.data.files.private_file import lock, put_private


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("new", [True, False])
def test_nobody_else_may_read_it_and_nothing_is_left_beside_it(tmp_path: Path, new: bool) -> None:
    path = tmp_path / "journal"
    before = os.umask(0)
    try:
        os.close(put_private(path, b"text", new=new))
    finally:
        os.umask(before)
    assert path.read_bytes() == b"text"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert names(tmp_path) == ["journal"]


def test_it_takes_the_place_of_an_earlier_one_which_stays_whole_for_who_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    os.close(put_private(path, b"first"))
    with path.open("rb") as earlier:
        os.close(put_private(path, b"2"))
        assert earlier.read() == b"first"
    assert path.read_bytes() == b"2"
    assert names(tmp_path) == ["journal"]


def test_it_is_locked_from_the_first_moment_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    file = put_private(path, b"text")
    with path.open("rb") as other:
        with pytest.raises(BlockingIOError):
            lock(other.fileno())
        os.close(file)
        lock(other.fileno())


def test_a_new_one_leaves_what_is_there_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b"of another")
    with pytest.raises(FileExistsError):
        put_private(path, b"text", new=True)
    assert path.read_bytes() == b"of another"
    assert names(tmp_path) == ["journal"]


def test_of_many_that_are_new_at_once_one_is(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    begin = threading.Barrier(8)
    first: list[int] = []

    def put(number: int) -> None:
        begin.wait()
        try:
            os.close(put_private(path, str(number).encode(), new=True))
        except FileExistsError:
            return
        first.append(number)

    threads = [threading.Thread(target=put, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.read_bytes()] == [str(number).encode() for number in first]
    assert names(tmp_path) == ["journal"]


def test_a_link_in_its_place_is_replaced_and_not_followed(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "journal", tmp_path / "elsewhere"
    path.symlink_to(elsewhere)
    with pytest.raises(FileExistsError):
        put_private(path, b"text", new=True)
    os.close(put_private(path, b"text"))
    assert not path.is_symlink()
    assert not elsewhere.exists()


@pytest.mark.parametrize("call", ["fsync", "rename", "link"])
def test_nothing_is_left_of_one_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(Path if call == "rename" else os, call, full)
    descriptors = len(names(Path("/proc/self/fd")))
    with pytest.raises(OSError, match="no space"):
        put_private(tmp_path / "journal", b"text", new=call == "link")
    assert names(tmp_path) == []
    assert len(names(Path("/proc/self/fd"))) == descriptors


def test_file_systems_without_links_or_locks_have_such_files_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "not here")

    monkeypatch.setattr(os, "link", absent)
    monkeypatch.setattr(fcntl, "flock", absent)
    path = tmp_path / "journal"
    os.close(put_private(path, b"text", new=True))
    assert path.read_bytes() == b"text"
    with pytest.raises(FileExistsError):
        put_private(path, b"other", new=True)
    assert path.read_bytes() == b"text"
    assert names(tmp_path) == ["journal"]
