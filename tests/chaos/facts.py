# SPDX-License-Identifier: Apache-2.0
"""What is known of a run when it is over: how it ended, what it said, what was done to it."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Report = dict[str, Any]


@dataclass(frozen=True)
class Facts:
    """`effective`: the disturbance hit the run before it was over; `early`: before the command could have a handler for signals. Of a
    group, `struck`: members that were killed, or stopped for good; `joined`: one more has come."""

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
        """None when there is none, or it is not JSON."""
        try:
            loaded = json.loads(self.report_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return loaded if isinstance(loaded, dict) else None
