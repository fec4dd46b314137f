# SPDX-License-Identifier: Apache-2.0
"""`rashpa card`: a process with a card's nodes in a directory."""

import re
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rashpa.cli.main import app
from rashpa.cli.node import card
from rashpa.control.nodes.native_program import native_program
from rashpa.testing.waiting import GUARD_S

pytestmark = pytest.mark.whole

COMMAND = [sys.executable, "-m", "rashpa.cli.entry", "card"]

needs_program = pytest.mark.skipif(native_program("rashpa_card") is None, reason="no Verilator where this was built")


@pytest.fixture
def started(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*COMMAND, str(tmp_path / "card"), "--memory", "4M"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.communicate()


@needs_program
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_driver_finds_nodes_until_it_is_told_to_end(
    started: subprocess.Popen[str], tmp_path: Path, number: signal.Signals
) -> None:
    folder = tmp_path / "card"
    assert started.stdout is not None
    assert started.stdout.readline() == f"ready {folder}: 4194304 bytes of card memory, network udp\n"
    magic, _version, _hash, capabilities = struct.unpack("<4s3I", (folder / "xdma0_user").read_bytes()[:16])
    assert magic == b"RSPC"
    assert capabilities & 0xFF == 16
    assert (folder / "xdma0_h2c_0").stat().st_size == 4 << 20
    started.send_signal(number)
    text, errors = started.communicate(timeout=GUARD_S)
    assert started.returncode == 0, errors
    assert re.fullmatch(r"ended after \d+ cycles; 0 frames were of no use to the network\n", text)
    assert list(folder.iterdir()) == []


@needs_program
def test_a_directory_has_one_card(started: subprocess.Popen[str], tmp_path: Path) -> None:
    assert started.stdout is not None
    started.stdout.readline()
    second = subprocess.run([*COMMAND, str(tmp_path / "card")], capture_output=True, text=True, check=False)
    assert second.returncode == 2
    assert "belongs to a simulated card that is running" in second.stderr
    assert (tmp_path / "card" / "xdma0_user").exists(), "the first one's"


@needs_program
@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--memory", "1000"), "multiple of 4096"),
        (("--memory", "2G"), "has addresses for"),
        (("--memory", "99999999999G"), "not a number that fits"),
        (("--memory", "many"), "not a number that fits"),
        (("--network", "tcp"), "there is no network 'tcp'"),
        (("--network", "unix:/nowhere/here,/nowhere/there"), "/nowhere/here"),
    ],
)
def test_what_cannot_be_is_refused_in_words(tmp_path: Path, options: tuple[str, str], what: str) -> None:
    done = subprocess.run([*COMMAND, str(tmp_path), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert what in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_the_program_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(card, "native_program", lambda name: None)
    done = CliRunner().invoke(app, ["card", str(tmp_path)])
    assert done.exit_code == 2
    assert "verilator" in done.stderr
    assert "make build" in done.stderr
