from pathlib import Path

import pytest

from rashpa.node.engine import EngineError
from rashpa.node.output_files import OutputFiles

NAMES = ("run_full_master.h5", "run_full_data_000001.h5")
OTHERS = ("run_full_notes.h5", "run_fuller_master.h5", "run_full_data_x.h5")


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    for name in (*NAMES, *OTHERS):
        (tmp_path / name).write_text("old")
    return tmp_path / "run_full"


def test_older_files_are_in_the_way_unless_they_may_be_replaced(prefix: Path) -> None:
    with pytest.raises(EngineError, match=r'run_full_data_000001.h5 exists; .*run.existing = "replace"'):
        OutputFiles().claim(prefix, "refuse")
    assert (prefix.parent / NAMES[0]).read_text() == "old"


def test_older_files_go_once_the_new_run_begins(prefix: Path) -> None:
    output = OutputFiles()
    output.claim(prefix, "replace")
    assert not (prefix.parent / NAMES[0]).exists()
    (prefix.parent / NAMES[0]).write_text("new")
    output.keep_new()
    output.restore_old()  # a run that began keeps its files, however it ends
    assert {path.name for path in prefix.parent.iterdir()} == {NAMES[0], *OTHERS}


def test_older_files_come_back_when_the_run_never_begins(prefix: Path) -> None:
    output = OutputFiles()
    output.claim(prefix, "replace")
    (prefix.parent / NAMES[0]).write_text("new")
    (prefix.parent / "run_full_data_000002.h5").write_text("new")
    for _ in range(2):
        output.restore_old()
    assert {path.name: path.read_text() for path in prefix.parent.iterdir()} == dict.fromkeys((*NAMES, *OTHERS), "old")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EngineError, match=r"choose another run\.output"):
        OutputFiles().claim(tmp_path / "file" / "run", "refuse")
