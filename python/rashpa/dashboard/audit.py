# SPDX-License-Identifier: Apache-2.0
"""The record of orders given on the page: one line of JSON each, in a file of the folder of reports."""

import contextlib
import json
import logging
import os
from datetime import UTC, datetime
from pathlib import Path

_log = logging.getLogger(__name__)
NAME = "dashboard_orders.jsonl"


class Audit:
    """Writes the record. `folder`: of the reports; it may be absent until the first order."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME

    def add(self, order: str, role: str, address: str, **more: str) -> None:
        """Add one line. An order is not refused because the disk is full: the log has the line, too."""
        when = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        line = json.dumps({"when": when, "order": order, "role": role, "address": address, **more})
        _log.warning("asked on the page: %s", line)
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
            with os.fdopen(os.open(self._path, flags, 0o640), "a", encoding="utf-8") as file:
                file.write(f"{line}\n")
