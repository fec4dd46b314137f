# SPDX-License-Identifier: Apache-2.0
"""The process of a simulated card: its end is known at once, with the cause."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.simulated_card import SimulatedCard
from rashpa.testing.waiting import eventually


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Replace Python by a card of two lines."""
    path = tmp_path / "card"
    monkeypatch.setattr("rashpa.node.engine.simulated_card.sys.executable", str(path))
    yield path


def write(program: Path, *lines: str) -> None:
    program.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    program.chmod(0o755)


def test_a_card_that_is_killed_is_named_with_its_last_words(program: Path) -> None:
    write(program, "echo the wire is cut >&2", "echo ready $$", "exec sleep 600")
    card = SimulatedCard()
    try:
        assert card.ended() == ""
        os.kill(card._process.pid, signal.SIGKILL)
        eventually(lambda: card.ended() != "")
        assert card.ended().startswith(f"the simulated card (process {card._process.pid}) was killed by SIGKILL")
        assert card.ended().endswith("; it said: the wire is cut")
    finally:
        card.close()
    assert not card.directory.exists()


def test_a_card_that_ends_by_itself_is_named_with_its_exit_code(program: Path) -> None:
    write(program, "echo ready", "exit 7")
    card = SimulatedCard()
    eventually(lambda: "ended with exit code 7" in card.ended())
    card.close()


def test_a_card_that_does_not_start_is_refused_with_its_last_words(program: Path) -> None:
    write(program, "echo no such model >&2", "exit 2")
    with pytest.raises(EngineError, match="did not start: no such model"):
        SimulatedCard()


def test_a_card_that_cannot_be_started_is_refused(program: Path) -> None:
    with pytest.raises(EngineError, match="cannot be started"):
        SimulatedCard()
