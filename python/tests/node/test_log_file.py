# SPDX-License-Identifier: Apache-2.0
import json
from pathlib import Path

import pytest

from rashpa.node.logs.log import NodeLog
from rashpa.node.logs.log_file import Format, log_into
from rashpa.node.logs.serve_error import ServeError
from rashpa.testing.fake_engine import LogMessage


def written(file: Path, form: Format) -> list[str]:
    log = NodeLog("info", log_into(file, form), "right")
    log.know_modules({1: 3})
    log.hear([LogMessage("warning", "lines are lost", 7, "full", 1, 5312)])
    log.hear([LogMessage("info", 'said "again"\n', time=1.0)] * 3)
    log.hear([LogMessage("error", "the end", run=7, time=2.0), *[LogMessage("error", "no end", time=3.0)] * 2])
    log.end()
    return file.read_text().splitlines()


def test_lines_for_programs_say_node_run_dtp_module_and_frame_and_nothing_that_does_not_apply(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in written(tmp_path / "node.log", "json")]
    assert lines[0] == {
        "time": "1970-01-01T00:00:00.000Z", "node": "right", "level": "warning", "text": "lines are lost", "times": 1,
        "run": 7, "buffer": "full", "dtp": 1, "module": 3, "frame": 5312,
    }  # fmt: skip
    assert [(line["text"], line["times"]) for line in lines] == [
        ("lines are lost", 1), ('said "again"', 1), ('said "again"', 3), ("the end", 1), ("no end", 1), ("no end", 2),
    ]  # fmt: skip
    assert set(lines[1]) == {"time", "node", "level", "text", "times"}


def test_lines_for_people_are_those_of_the_command(tmp_path: Path) -> None:
    assert written(tmp_path / "node.log", "text") == [
        "1970-01-01T00:00:00.000Z warning [run 7, buffer full, DTP 1, module 3, frame 5312] lines are lost",
        '1970-01-01T00:00:01.000Z info    said "again"',
        '1970-01-01T00:00:01.000Z info    said "again" (3 times)',
        "1970-01-01T00:00:02.000Z error   [run 7] the end",
        "1970-01-01T00:00:03.000Z error   no end",
        "1970-01-01T00:00:03.000Z error   no end (2 times)",
    ]


def test_a_log_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(ServeError, match=r"log file .*node\.log: Not a directory; give a file in a folder"):
        log_into(tmp_path / "taken" / "node.log", "text")
