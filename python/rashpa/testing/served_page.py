# SPDX-License-Identifier: Apache-2.0
"""Serves a dashboard without a run, for tests of access."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

TOKEN = "a-token-for-orders"  # noqa: S105  of a test
_PATIENCE_S = 30.0


@dataclass(frozen=True)
class Served:
    """A dashboard. `way`: the address that it prints."""

    way: str
    pid: int

    @property
    def base(self) -> str:
        return self.way.partition("?")[0]

    @property
    def place(self) -> str:
        """Return host and port."""
        return self.base.removeprefix("http://").rstrip("/")

    def cookie(self, way: str = "") -> dict[str, str]:
        answer = httpx.get(way or self.way, timeout=_PATIENCE_S)
        given = answer.headers.get("set-cookie", "")
        good = answer.status_code == 303 and answer.headers["location"] == "/" and "HttpOnly" in given
        if not good or "SameSite=Lax" not in given:
            raise AssertionError(f"{answer.status_code}, {given}: no cookie, or one that others can read")
        return {"cookie": given.partition(";")[0]}


@contextlib.contextmanager
def dashboard(folder: Path, *options: str) -> Iterator[Served]:
    """Serve a dashboard of that folder with options of the command, during the context; its standard error goes to the file `errors` in the folder."""
    words = [sys.executable, "-m", "rashpa.cli.entry", "dashboard", "--port", "0", "--alias", "beamline", *options]
    environment = {**os.environ, "RASHPA_TOKEN": TOKEN}
    with (
        (folder / "errors").open("w") as errors,
        subprocess.Popen(  # noqa: S603  our own command
            words, cwd=folder, stdout=subprocess.PIPE, stderr=errors, env=environment, text=True
        ) as process,
    ):
        said = process.stdout.readline() if process.stdout is not None else ""
        try:
            yield Served(said.removeprefix("dashboard: ").strip(), process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
    if process.returncode != 0:
        raise AssertionError(f"it ended with {process.returncode}")
