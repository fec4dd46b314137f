# SPDX-License-Identifier: Apache-2.0
"""Runs `rashpa run` as a user types it, and returns exit code, output and report."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def typed_run(text: str, folder: Path) -> tuple[int, str, dict[str, Any]]:
    """Write the run file into `folder`, run `rashpa run` there, and return its exit code, its output and its report. Fail when there is no report."""
    file = folder / "run.toml"
    file.write_text(text, encoding="utf-8")
    done = subprocess.run(  # noqa: S603  our own command
        [sys.executable, "-m", "rashpa.cli.entry", "run", str(file), "--output", str(folder / "report"), "--no-page"],
        cwd=folder,
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )
    output = done.stdout + done.stderr
    report = folder / "report" / "report.json"
    if not report.is_file():
        raise AssertionError(output)
    return done.returncode, output, json.loads(report.read_text(encoding="utf-8"))


def good_run(text: str, folder: Path) -> tuple[str, dict[str, Any]]:
    """Carry out a run as `typed_run` does, and return its output and its report. Raise AssertionError with the output when its exit code is not 0."""
    code, output, report = typed_run(text, folder)
    if code != 0:
        raise AssertionError(output)
    return output, report
