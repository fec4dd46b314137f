# SPDX-License-Identifier: Apache-2.0
"""`rashpa limits` asks the manager of a run for other limits of a veto, after a check of its arguments."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from rashpa.cli.run import limits as command
from rashpa.control.handover.journal import JournalError
from rashpa.control.handover.limits_request import Limits


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, Limits, float]]:
    """Answer every request, and store it."""
    requests: list[tuple[Path, Limits, float]] = []

    def answer(journal: Path, limits: Limits, timeout_s: float) -> str:
        requests.append((journal, limits, timeout_s))
        return "from image 12 on"

    monkeypatch.setattr(command, "set_limits", answer)
    monkeypatch.setattr(command, "find_journal", lambda where: where / "run_attach.json")
    monkeypatch.setattr(command, "who", lambda: "a user")
    return requests


def limits(*words: str) -> Result:
    import typer

    app = typer.Typer()
    app.command()(command.limits)
    return CliRunner().invoke(app, list(words))


def test_the_limits_are_sent_as_they_are_typed(asked: list[tuple[Path, Limits, float]]) -> None:
    done = limits("out", "veto", "min_pixels=40", "keep=n_peaks >= 20", "--buffer", "main", "--timeout", "5")
    assert done.exit_code == 0
    assert "from image 12 on" in done.output
    wanted = Limits("veto", {"min_pixels": "40", "keep": "n_peaks >= 20"}, "main", "a user")
    assert asked == [(Path("out/run_attach.json"), wanted, 5.0)]


def test_a_word_that_is_no_limit_is_refused_before_anybody_is_asked(asked: list[tuple[Path, Limits, float]]) -> None:
    done = limits("out", "veto", "min_pixels=40", "max_pixels")
    assert done.exit_code == 2
    assert "max_pixels: is no limit; give KEY=VALUE, such as min_pixels=40" in done.output.replace("\n", " ")
    assert asked == []


@pytest.mark.usefixtures("asked")
def test_a_run_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: Path) -> Path:
        raise JournalError("out: no run goes on here")

    monkeypatch.setattr(command, "find_journal", none)
    done = limits("out", "veto", "min_pixels=40")
    assert done.exit_code == 2
    assert "no run goes on here" in done.output
