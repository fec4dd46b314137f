# SPDX-License-Identifier: Apache-2.0
"""Holds the facts of a finished run: its end, its output, its disturbance."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Report = dict[str, Any]


@dataclass(frozen=True)
class Facts:
    """Holds the facts of one run. `effective`: the disturbance hit the run before its end; `early`: it hit before the command could have a handler
    for signals. For a group, `struck`: members that were killed, or stopped for good; `joined`: another member has joined."""

    folder: Path  # of run file, log and report
    output: Path  # of the data files
    exit: int | None  # None: it hung
    seconds: float
    said: str
    frames: int
    effective: bool = False
    early: bool = False
    struck: tuple[str, ...] = ()
    joined: bool = False
    problems: list[str] = field(default_factory=list)

    @property
    def report_file(self) -> Path:
        return self.folder / "report" / "report.json"

    def report(self) -> Report | None:
        """Return the report, None when there is none, or when it is no JSON."""
        try:
            loaded = json.loads(self.report_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return loaded if isinstance(loaded, dict) else None
