# SPDX-License-Identifier: Apache-2.0
"""Records orders and alarms as lines of JSON in a file of the folder of reports."""

import contextlib
import json
import logging
import os
from datetime import UTC, datetime
from pathlib import Path

_log = logging.getLogger(__name__)
NAME = "dashboard_orders.jsonl"


class Record:
    """Writes one audit file. `folder`: the folder of reports; it need not exist before the first line."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / name

    def add(self, **said: str) -> None:
        """Add one line, with the time. When the file cannot be written, for example on a full disk, only the log has the line."""
        when = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        line = json.dumps({"when": when, **said})
        _log.warning("page: %s", line)
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
            with os.fdopen(os.open(self._path, flags, 0o640), "a", encoding="utf-8") as file:
                file.write(f"{line}\n")


class Audit:
    """Records the orders that are given on the page."""

    def __init__(self, folder: Path) -> None:
        self._record = Record(folder, NAME)

    def add(self, order: str, role: str, address: str) -> None:
        """Add one order, before it is carried out."""
        self._record.add(order=order, role=role, address=address)
