# SPDX-License-Identifier: Apache-2.0
"""Files in folders into which others may write: foreign files at their names delay nothing, and no target of a link is read or written."""

import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from rashpa.data.files.regular_file import (
    be_there,
    json_of,
    open_own,
    open_regular,
    open_shared,
    put_file,
    read_below,
    read_own,
    read_regular,
    read_shared,
)

SECRET = b"of its owner alone"


def link(path: Path) -> None:
    secret = path.parent / "secret"
    secret.write_bytes(SECRET)
    secret.chmod(0o600)
    path.symlink_to(secret)


def dangling(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


def bound_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


HOSTILE: Mapping[str, Callable[[Path], object]] = {
    "link": link,
    "dangling link": dangling,
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
    "pipe": os.mkfifo,
    "folder": os.mkdir,
    "socket": bound_socket,
    "too large": lambda path: path.write_bytes(b"x" * 2000),
}
READERS: Mapping[str, Callable[[Path], bytes]] = {
    "read_shared": lambda path: read_shared(path, 1000),
    "read_own": lambda path: read_own(path, 1000),
    "read_below": lambda path: read_below(path.parent, path, 1000),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_reader_refuses_what_is_no_file_of_its_folder(tmp_path: Path, reader: str, hostile: str) -> None:
    HOSTILE[hostile](tmp_path / "name")
    with pytest.raises(OSError):
        READERS[reader](tmp_path / "name")


@pytest.mark.parametrize("opener", [open_shared, open_own, open_regular])
@pytest.mark.parametrize("hostile", ["pipe", "folder", "socket", "link to a device"])
def test_nobody_waits_for_what_is_no_file(tmp_path: Path, opener: Callable[[Path], object], hostile: str) -> None:
    HOSTILE[hostile](tmp_path / "name")
    with pytest.raises(OSError):
        opener(tmp_path / "name")


def test_a_file_that_the_user_names_may_be_a_link(tmp_path: Path) -> None:
    link(tmp_path / "name")
    assert read_regular(tmp_path / "name", 1000) == SECRET


def test_a_folder_on_the_way_may_be_no_link(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "name").write_bytes(SECRET)
    (tmp_path / "root" / "deep").mkdir(parents=True)
    (tmp_path / "root" / "deep" / "name").write_bytes(b"ours")
    (tmp_path / "root" / "led").symlink_to(tmp_path / "other")
    root = tmp_path / "root"
    assert read_below(root, root / "deep" / "name", 1000) == b"ours"
    for path in (root / "led" / "name", root / ".." / "other" / "name", root / "deep" / ".."):
        with pytest.raises(OSError):
            read_below(root, path, 1000)


@pytest.mark.parametrize("hostile", [name for name in HOSTILE if name != "folder"])
def test_what_is_put_in_place_takes_the_name_and_touches_nothing_else(tmp_path: Path, hostile: str) -> None:
    path = tmp_path / "name"
    HOSTILE[hostile](path)
    put_file(path, b"new")
    assert path.is_file()
    assert not path.is_symlink()
    assert path.read_bytes() == b"new"
    if hostile == "link":
        assert (tmp_path / "secret").read_bytes() == SECRET
    assert not (tmp_path / "nowhere").exists()
    assert {one.name for one in tmp_path.iterdir()} <= {"name", "secret"}


def test_a_folder_stays_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "name"
    path.mkdir()
    with pytest.raises(IsADirectoryError) as error:
        put_file(path, b"new")
    assert error.value.filename == str(path)
    assert [one.name for one in tmp_path.iterdir()] == ["name"]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_what_is_to_be_there_is_there_and_no_link_is_followed(tmp_path: Path, hostile: str) -> None:
    HOSTILE[hostile](tmp_path / "name")
    before = {one.name for one in tmp_path.iterdir()}
    be_there(tmp_path / "name")
    be_there(tmp_path / "other")
    assert {one.name for one in tmp_path.iterdir()} == before | {"other"}


@pytest.mark.parametrize("data", [b"[" * 200_000, b'{"a":' * 200_000, b"\xff", b"", b"1" * 10_000])
def test_a_document_that_cannot_be_read_is_a_wrong_value(data: bytes) -> None:
    with pytest.raises(ValueError):
        json_of(data)
