# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from rashpa.data.files.new_folders import remove_empty
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.output_files import OlderFiles, prepare_output, release_output

NAMES = ("run_full_master.h5", "run_full_data_000001.h5")
OTHERS = ("run_full_notes.h5", "run_fuller_master.h5", "run_full_data_x.h5")


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    for name in (*NAMES, *OTHERS):
        (tmp_path / name).write_text("old")
    return tmp_path / "run_full"


def test_older_files_are_in_the_way_unless_they_may_be_replaced(prefix: Path) -> None:
    with pytest.raises(EngineError, match=r'run_full_data_000001.h5 exists; .*run.existing = "replace"'):
        prepare_output(prefix, "refuse")
    prepare_output(prefix, "replace")


def test_older_files_stay_where_they_are(prefix: Path) -> None:
    prepare_output(prefix, "replace")
    release_output(prefix)
    assert {path.name: path.read_text() for path in prefix.parent.iterdir()} == dict.fromkeys((*NAMES, *OTHERS), "old")


def test_a_journal_that_is_left_alone_is_in_the_way_too(tmp_path: Path) -> None:
    (tmp_path / "run_full_master.journal").write_text("what is left of a run")
    with pytest.raises(EngineError, match=r"run_full_master\.journal exists"):
        prepare_output(tmp_path / "run_full", "refuse")
    prepare_output(tmp_path / "run_full", "replace")


def test_other_files_are_in_nobodys_way(tmp_path: Path) -> None:
    for name in OTHERS:
        (tmp_path / name).write_text("")
    prepare_output(tmp_path / "run_full", "refuse")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EngineError, match=r"choose another run\.output"):
        prepare_output(tmp_path / "file" / "run", "refuse")


def test_a_folder_in_which_a_run_begins_is_taken_away_by_nobody(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    prepare_output(folder / "run_full", "refuse")
    remove_empty([folder])  # of another whose run never began, and who had made the folder
    assert folder.is_dir()
    release_output(folder / "run_full")
    remove_empty([folder])
    assert not folder.exists()


def test_series_of_an_older_run_go_when_the_new_one_has_begun_and_nothing_else_does(tmp_path: Path) -> None:
    series = [f"run_full_s000{number}_{what}" for number in (1, 2, 3) for what in ("master.h5", "data_000001.h5")]
    for name in (*series, *NAMES, "run_full_s1_master.h5", "run_fuller_s0001_master.h5"):
        (tmp_path / name).write_text("old")
    older = OlderFiles(tmp_path / "run_full")
    assert all((tmp_path / name).exists() for name in series)
    (tmp_path / "new").write_text("new")
    (tmp_path / "new").rename(tmp_path / series[0])  # as a sink takes its name
    older.remove()
    left = {path.name: path.read_text() for path in tmp_path.iterdir()}
    others = (*NAMES, "run_full_s1_master.h5", "run_fuller_s0001_master.h5")
    assert left == {series[0]: "new", **dict.fromkeys(others, "old")}
