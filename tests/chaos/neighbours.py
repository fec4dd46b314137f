# SPDX-License-Identifier: Apache-2.0
"""Places foreign files in the folders of a run while it goes on, and opens its page meanwhile."""

import contextlib
import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from random import Random

_EVERY_S = 0.15
_LOOK_S = 1.0
_ANSWER_S = 20.0  # of the page, on a busy machine
_HUGE = 8 << 30  # bytes, sparse
_SECRET = b"of somebody else"
# of requests to the manager, and of reports of past runs: who reads these folders meets them
_IN_OUTPUT = ("chaos_stop.json", "chaos_steer.json", "chaos_join.json", "old/report.json", "older/run/report.json")
_IN_REPORT = ("report.json", "report.html", "nodes.log")
_WRITTEN_OVER = ("fifo", "link", "device", "huge")  # a folder cannot be


def _deep(path: Path) -> None:
    path.write_text("[" * 200_000)


def _number(path: Path) -> None:
    path.write_text('{"run": {"name": "old", "frames": ' + "9" * 100_000 + ', "rate": 1e999999}}')


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(_HUGE)


class Neighbours:
    """Places foreign files for one run. The same seed puts the same files into the same places in the same order. `problems`: the faults that they
    caused."""

    def __init__(self, seed: int, output: Path, report: Path) -> None:
        self._dice = Random(seed)
        self._output, self._report = output, report
        self._secret = output.parent / "secret"
        self._placed: set[Path] = set()
        self._looked = 0.0
        self._browser = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor()
        )  # who has shown the token gets a cookie
        self.problems: list[str] = []
        self._strange: dict[str, Callable[[Path], None]] = {
            "deep": _deep,
            "number": _number,
            "huge": _huge,
            "fifo": lambda path: os.mkfifo(path),
            "link": lambda path: path.symlink_to(self._secret),
            "device": lambda path: path.symlink_to("/dev/zero"),
            "folder": lambda path: path.mkdir(),
        }

    def haunt(self, process: "subprocess.Popen[bytes]", page: Callable[[], str]) -> bool:
        """Place files until the run ends; return True when any was placed. `page`: returns the address of the page to open, once it is known."""
        self._secret.write_bytes(_SECRET)
        try:
            while process.poll() is None:
                self._place()
                self._look(page(), process)
                time.sleep(_EVERY_S)  # wait: the next thing appears
            if self._secret.read_bytes() != _SECRET:
                self.problems.append("what a link of a neighbour leads to was written")
            return bool(self._placed)
        finally:
            self._clear()

    def _place(self) -> None:
        in_output = self._dice.random() < 0.7
        folder, names = (self._output, _IN_OUTPUT) if in_output else (self._report, _IN_REPORT)
        path = folder / self._dice.choice(names)
        kind = self._dice.choice(tuple(self._strange) if in_output else _WRITTEN_OVER)
        if not folder.is_dir():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        if not in_output and not path.is_symlink() and path.is_file() and path.stat().st_size not in (0, _HUGE):
            return  # the run's own
        _remove(path)
        self._placed.add(path)
        with contextlib.suppress(FileExistsError):  # the run was faster
            self._strange[kind](path)

    def _look(self, page: str, process: "subprocess.Popen[bytes]") -> None:
        if not page or self.problems or time.monotonic() - self._looked < _LOOK_S:
            return
        self._looked = time.monotonic()
        try:
            with self._browser.open(page, timeout=_ANSWER_S) as answer:
                answer.read()
        except OSError as error:
            if process.poll() is None:
                self.problems.append(f"the page answers {error}")

    def _clear(self) -> None:
        for path in self._placed:
            if path.parent != self._report or path.is_symlink() or not path.is_file() or path.stat().st_size == _HUGE:
                _remove(path)
        for name in ("old", "older"):
            shutil.rmtree(self._output / name, ignore_errors=True)
        self._secret.unlink(missing_ok=True)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def page_address(log: Path) -> str:
    """Return the address that a page has printed, empty before."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return next((line.split()[-1] for line in lines if line.startswith("dashboard: ")), "")
