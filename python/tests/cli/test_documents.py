# SPDX-License-Identifier: Apache-2.0
"""Compares the documents of `--json` with their schemas."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from python.tests.cli.walk import commands
from typer.testing import CliRunner

from rashpa.cli.documents import DOCUMENTS, commands_schema
from rashpa.cli.main import app
from rashpa.data.base.exit_code import ExitCode
from rashpa.testing.run_file import run_file

ROOT = Path(__file__).parents[3]
RUN = run_file(
    run={"name": "run", "frames": 8},
    detector={"rate_hz": 0},
    link={"port": 0},
    buffer={"name": "b", "stack": 2, "slots": 4, "sink": [{"kind": "hdf5"}, {"kind": "raw"}]},
    receiver=None,
)
_FORMS = commands_schema()["forms"]
# commands that serve, begin other programs, or write a document in any case
_WITHOUT = {"emulator", "receiver", "dashboard", "tango", "epics", "card"}
_OWN_FORM = {"packet decode"}
PACKET = '{"bth": {"opcode": 10}, "udp": {"sport": 1, "dport": 4791}}'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder with a run that has printed its end as a document."""
    made = tmp_path_factory.mktemp("documents")
    (made / "run.toml").write_text(RUN)
    (made / "other.toml").write_text(RUN.replace('name = "run"', 'name = "other"'))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        document = asked("run", "run.toml", "--json", "--no-page", "-o", "report")
        assert document["report"]["run"]["good"], document
        assert document["files"][0].endswith("report.json")
        report = json.loads((ROOT / "schema/report.schema.json").read_text())
        Draft202012Validator(report).validate(document["report"])
        yield made


def asked(*words: str, code: int = ExitCode.GOOD) -> dict[str, Any]:
    """Return the document of a command, checked against its schema."""
    done = CliRunner().invoke(app, words)
    assert done.exit_code == code, done.output
    document: dict[str, Any] = json.loads(done.stdout)
    name = next(name for name in DOCUMENTS if name.split() == list(words[: len(name.split())]))
    Draft202012Validator(_FORMS[DOCUMENTS[name].__name__]).validate(document)
    return document


def test_the_stored_schema_is_that_of_the_models() -> None:
    assert json.loads((ROOT / "schema/commands.schema.json").read_text()) == commands_schema()


def test_every_command_that_prints_a_result_has_json_and_a_form() -> None:
    for name, command in commands():
        flags = {flag for one in command.params for flag in one.opts}
        assert ("--json" in flags) == (name.split()[0] not in _WITHOUT), name
        assert (name in DOCUMENTS) == ("--json" in flags and name not in _OWN_FORM), name


@pytest.mark.parametrize(
    "words",
    [
        ("inspect", "out/run_b_master.h5"),
        ("inspect", "report"),
        ("check", "out/run_b_master.h5"),
        ("combine", "out/run_b_master.h5", "-o", "combined.h5"),
        ("repair", "out/run_b"),
        ("convert", "out/run_b_raw_master.h5", "-o", "converted"),
        ("dataset", "make", "-o", "frames", "--kind", "pattern", "--frames", "2", "--width", "8", "--height", "8"),
        ("plan", "other.toml"),
        ("conformance", "--kernel", "csr"),
        ("bench", "list"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_document_is_of_its_form(folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    monkeypatch.chdir(folder)
    document = asked(*words, "--json")
    assert document.get("problem", "") == ""


def test_a_check_of_a_run_file_is_a_plan(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(app, ["run", "other.toml", "--check", "--json"])
    assert done.exit_code == ExitCode.GOOD, done.output
    Draft202012Validator(_FORMS["Planned"]).validate(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("words", "code"),
    [
        *(((name, "nope"), ExitCode.BAD_INPUT) for name in ("run", "attach", "stop", "pause", "resume", "abort", "inspect", "check", "repair")),
        (("join", "nope", "d"), ExitCode.BAD_INPUT),
        (("free", "foo"), ExitCode.BAD_INPUT),
        (("free", "http://127.0.0.1:1"), ExitCode.FAILED),
        (("trigger", "foo"), ExitCode.BAD_INPUT),
        (("trigger", "http://127.0.0.1:1"), ExitCode.FAILED),
        *((("node", name, "http://127.0.0.1:1"), ExitCode.FAILED) for name in ("status", "abort", "reset", "log", "audit")),
        (("status", "http://127.0.0.1:1", "--once", "--every", "0.1"), ExitCode.FAILED),
        (("dataset", "info", "nope"), ExitCode.BAD_INPUT),
        (("dataset", "preview", "nope"), ExitCode.BAD_INPUT),
        (("feedback", "nope", "--timeout", "0.01"), ExitCode.FAILED),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else "",
)  # fmt: skip
def test_a_refusal_is_a_document_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    document = asked(*words, "--json", code=code)
    problems = [
        document.get("problem", ""),
        *(node["problem"] for node in document.get("nodes", document.get("emulators", ()))),
    ]
    assert any(problems)


def test_a_quiet_command_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = [
        "dataset",
        "make",
        "-o",
        "frames",
        "--kind",
        "pattern",
        "--frames",
        "2",
        "--width",
        "8",
        "--height",
        "8",
        "-q",
    ]
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, done.output) == (0, "")
