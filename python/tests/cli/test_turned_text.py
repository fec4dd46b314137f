# SPDX-License-Identifier: Apache-2.0
"""Names with characters that change the direction of text are never shown unchanged."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rashpa.control.nodes.log_text import lines_of
from rashpa.dashboard.page import told_of
from rashpa.data.base.plain_text import BIDIRECTIONAL
from rashpa.node.logs.log import NodeLog
from rashpa.testing.run_file import small_run

COMMAND = [sys.executable, "-m", "rashpa.cli.entry"]
TURNED = "".join(map(chr, BIDIRECTIONAL))
NAME = "\u202eeno\u2066doog"


def check(text: str) -> None:
    assert not set(TURNED) & set(text)
    assert "\ufffd" in text


@pytest.mark.whole
def test_a_run_shows_no_turned_name_at_the_terminal_in_its_log_or_its_report(tmp_path: Path) -> None:
    output = tmp_path / NAME
    (tmp_path / "run.toml").write_text(
        small_run(run={"name": "n", "frames": 20, "output": str(output)}), encoding="utf-8"
    )
    words = [*COMMAND, "run", "run.toml", "--output", str(output / "report")]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    check(done.stdout + done.stderr)
    assert not set(TURNED) & set((output / "report" / "nodes.log").read_text(encoding="utf-8"))
    assert not set(TURNED) & set((output / "report" / "report.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize("command", ["inspect", "repair", "process", "report"])
def test_a_command_names_a_bad_path_without_them(tmp_path: Path, command: str) -> None:
    words = [*COMMAND, command, NAME]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert not set(TURNED) & set(done.stdout + done.stderr)


def test_the_log_and_the_page_show_none() -> None:
    log = NodeLog()
    log.logger.info(f"run {NAME}")
    log.printed("python m:f", f"{TURNED}\x9b2J")
    for entry in log.newest(2):
        check(str(entry["text"]))
        assert "\x9b" not in str(entry["text"])
    check(lines_of([{"text": NAME}])[0])
    check(json.loads(told_of({"state": f"<p>{NAME}</p>"}))["state"])
