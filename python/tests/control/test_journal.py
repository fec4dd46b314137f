# SPDX-License-Identifier: Apache-2.0
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from rashpa.control.handover.journal import VERSION, Journal, JournalError, KnownNode, Record, find_journal, journal_of
from rashpa.control.nodes.process_identity import identity_of, is_process
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan, plan_run
from rashpa.control.runfile.run_file_reader import run_file_of
from rashpa.testing.run_file import run_file


def run_text(output: Path) -> str:
    return run_file(run={"name": "kept", "output": output}, detector={"width": 32, "height": 16}, receiver=None)


def plan_of(tmp_path: Path) -> Plan:
    path = tmp_path / "run.toml"
    path.write_text(run_text(output=tmp_path / "deep" / "out"))
    return load_plan(path)


def record_of(plan: Plan, *nodes: KnownNode) -> Record:
    path = str(plan.source.path.resolve())
    text, is_toml, output = plan.source.text, plan.source.is_toml, plan.file.run.output
    return Record(
        VERSION, "run kept of ann", "f" * 32, "secret", os.uname().nodename, path, text, is_toml, output, "", 5.0, nodes
    )


def test_nobody_else_reads_the_journal_and_it_goes_with_the_run_and_its_folders(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    journal = journal_of(plan)
    assert not (tmp_path / "deep").exists()
    journal.write(record_of(plan))
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600
    journal.write(record_of(plan))  # in its place
    assert [path.name for path in journal.path.parent.iterdir()] == ["kept_attach.json"]
    journal.remove()
    assert not (tmp_path / "deep").exists()


def test_files_of_others_stay_when_the_journal_goes(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    journal = journal_of(plan)
    journal.write(record_of(plan))
    (journal.path.parent / "kept_full_master.h5").touch()
    journal.remove()
    assert [path.name for path in journal.path.parent.iterdir()] == ["kept_full_master.h5"]


def test_a_run_whose_manager_lives_is_neither_taken_over_nor_begun_again(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    journal = journal_of(plan)
    journal.write(record_of(plan))
    with pytest.raises(JournalError, match="run kept of ann lives; there is nothing to be taken over"):
        Journal(find_journal(journal.path.parent)).take_over()
    with pytest.raises(JournalError, match="goes on, run kept of ann; wait for its end, or choose another"):
        journal_of(plan)
    journal.close()
    other = Journal(find_journal(journal.path.parent))
    assert other.take_over() == record_of(plan)
    with pytest.raises(JournalError, match="lives"):
        Journal(journal.path).take_over()


def test_a_run_whose_nodes_go_on_without_a_manager_is_not_begun_again(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    journal = journal_of(plan)
    node = KnownNode("receiver", "http://127.0.0.1:1", os.getpid(), identity_of(os.getpid()))
    journal.write(record_of(plan, node))
    journal.close()
    with pytest.raises(
        JournalError,
        match=rf"without its manager \(receiver is process {os.getpid()}\); take it over with `rashpa attach",
    ):
        journal_of(plan)
    journal.write(record_of(plan, replace(node, identity="another boot 7")))
    journal.close()
    assert journal_of(plan).path == journal.path


def test_the_plan_is_that_of_the_run_whatever_became_of_its_file(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    record = record_of(plan)
    plan.source.path.unlink()
    assert record.plan().file == plan.file
    tables = {"run": {"name": "kept", "frames": 3}, "detector": {"width": 32, "height": 16}}
    tables |= {
        "dataset": {"kind": "pattern", "width": 32, "height": 16},
        "buffer": [{"name": "b", "sink": [{"kind": "null"}]}],
    }
    plan = plan_run(*run_file_of(tables))
    assert record_of(plan).plan().file == plan.file


def test_what_is_no_journal_is_said(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="there is no such run"):
        find_journal(tmp_path)
    with pytest.raises(JournalError, match="there is no such run"):
        Journal(find_journal(tmp_path / "kept_attach.json")).take_over()
    for name, text in (("a", "{"), ("b", '{"version": 1}')):
        path = tmp_path / f"{name}_attach.json"
        path.write_text(text)
        with pytest.raises(JournalError, match="not the journal of a run"):
            Journal(path).take_over()
    (tmp_path / "a_attach.json").write_text('{"version": 99}')
    with pytest.raises(JournalError, match="not a journal of this version"):
        Journal(tmp_path / "a_attach.json").take_over()
    with pytest.raises(JournalError, match=r"2 runs may go on: a_attach\.json, b_attach\.json; name one"):
        find_journal(tmp_path)


def test_a_process_is_known_again_and_another_of_its_number_is_not() -> None:
    own = identity_of(os.getpid())
    assert is_process(os.getpid(), own)
    assert not is_process(os.getpid(), own[:-1] + ("0" if own[-1] != "0" else "1"))
    assert not is_process(os.getpid(), "")
