# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from rashpa.control.runfile.dataset_spec import parse_dataset_spec
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.folders import EVERYWHERE, Folders


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("in/side", "out"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "out" / "secret.npy").write_text("")
    (tmp_path / "in" / "data.npy").write_text("")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out")
    (tmp_path / "in" / "link.npy").symlink_to(tmp_path / "out" / "secret.npy")
    (tmp_path / "in" / "loop").symlink_to(tmp_path / "in" / "loop")
    return tmp_path


def files(*names: str) -> object:
    return parse_dataset_spec({"kind": "files", "files": [list(names)], "width": 4, "height": 4})


def test_what_lies_below_a_folder_is_allowed_there(place: Path) -> None:
    folders = Folders([place / "in"], [place / "in"])
    folders.check_read(files("data.npy", "side/../data.npy"), place / "in")  # type: ignore[arg-type]
    folders.check_write(place / "in" / "side" / "new" / "run_full")
    EVERYWHERE.check_write(place / "anything")


@pytest.mark.parametrize(
    "name",
    ["../out/secret.npy", "link/secret.npy", "link.npy", "/etc/shadow", "side/../../out/secret.npy", "../in2/x.npy"],
)
def test_what_leads_elsewhere_is_refused_with_the_option(place: Path, name: str) -> None:
    folders = Folders([place / "in"], [place / "in"])
    with pytest.raises(EngineError, match=r"this node may read below .*/in alone; start it with --read ") as caught:
        folders.check_read(files("data.npy", name), place / "in")  # type: ignore[arg-type]
    assert caught.value.code == "file"
    with pytest.raises(EngineError, match=r"this node may write below .*/in alone; start it with --write "):
        folders.check_write(place / "in" / name)


def test_a_folder_of_a_dataset_that_links_elsewhere_is_refused(place: Path) -> None:
    folder = place / "in" / "set"
    folder.mkdir()
    spec = parse_dataset_spec({"kind": "directory", "path": str(folder)})
    Folders([place / "in"], []).check_read(spec, place)
    (folder / "module0_raw.npy").symlink_to(place / "out" / "secret.npy")
    with pytest.raises(EngineError, match=r"module0_raw\.npy: this node may read"):
        Folders([place / "in"], []).check_read(spec, place)


def test_a_node_that_may_write_nowhere_says_so(place: Path) -> None:
    with pytest.raises(EngineError, match="this node may write nowhere alone"):
        Folders([], []).check_write(place / "x")


@pytest.mark.parametrize("name", ["loop/x", "bell\0"])
def test_a_path_that_is_none_is_refused(place: Path, name: str) -> None:
    with pytest.raises(EngineError):
        Folders([], [place / "out"]).check_write(place / "in" / name)


def test_code_is_a_name_in_the_one_folder_that_was_named_for_it(place: Path) -> None:
    (place / "in" / "own.so").symlink_to(place / "in" / "data.npy")
    (place / "in" / "out.so").symlink_to(place / "out" / "secret.npy")
    folders = Folders([], [], place / "in")
    assert folders.kernel_file("data.npy") == folders.kernel_file("own.so") == place / "in" / "data.npy"
    for name, why in {
        "../out/secret.npy": "give the name of a file in .*/in, without a folder",
        "/etc/passwd": "without a folder",
        "side/x.so": "without a folder",
        "..": "without a folder",
        "": "without a folder",
        "x\0.so": "without a folder",
        "none.so": "no such file in .*/in; put it there",
        "out.so": "it is a link out of .*/in, to .*/out/secret.npy; put the file itself there",
        "link": "it is a link out of",
        "side": "is no regular file",
        "loop": "loop",
    }.items():
        with pytest.raises(EngineError, match=f"(?i){why}"):
            folders.kernel_file(name)


def test_without_a_folder_no_code_is_loaded(place: Path) -> None:
    with pytest.raises(EngineError, match="this node runs no code from outside; start it with --kernels FOLDER"):
        Folders([place], [place]).kernel_file("data.npy")


def test_a_telegram_opens_no_card_that_the_node_was_not_started_for(place: Path) -> None:
    (place / "in" / "card").mkdir()
    folders = Folders([place], [place], cards=[str(place / "in")])
    assert folders.card_directory(str(place / "in")) == place / "in"
    assert folders.card_directory(str(place / "in" / "card")) == place / "in" / "card"
    for elsewhere in (place / "out", place / "in" / ".." / "out", place / "in" / "link", Path("/dev")):
        with pytest.raises(EngineError, match="may drive the cards in"):
            folders.card_directory(str(elsewhere))
    with pytest.raises(EngineError, match="is no path"):
        folders.card_directory("\0")
    with pytest.raises(EngineError, match="simulates no card; start it with --card sim"):
        folders.card_directory("sim")
    assert Folders([], [], cards=["sim"]).card_directory("sim") is None
    with pytest.raises(EngineError, match="the cards in none"):
        Folders([place], [place], cards=["sim"]).card_directory("/dev")
