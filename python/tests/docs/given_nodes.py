# SPDX-License-Identifier: Apache-2.0
"""Programs that a page takes for running already. What is left at the page's end goes with its process group."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

_SECONDS = 120


def wait(condition: Callable[[], object], process: subprocess.Popen[bytes], output: Path) -> None:
    """Until it holds."""
    latest = time.monotonic() + _SECONDS
    while not condition():
        if process.poll() is not None or time.monotonic() > latest:
            raise AssertionError(output.read_text(encoding="utf-8"))
        time.sleep(0.05)  # wait: with a deadline and the end of the process, in a program of its own


def start(*words: str, until: str | Callable[[], object]) -> subprocess.Popen[bytes]:
    """A command that goes on; returns when it has said this, or when this holds."""
    output = Path(f".given_{words[1]}").absolute()
    with output.open("wb") as file:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=file, stderr=-2)
    ready = (lambda: until in output.read_text(encoding="utf-8")) if isinstance(until, str) else until
    wait(ready, process, output)
    return process


def start_run(file: Path | str, folder: str) -> subprocess.Popen[bytes]:
    """A run that stores images; returns when it has stored some."""

    def begun() -> bool:
        return any(path.stat().st_size > 30_000 for path in Path(folder).glob("*_data_000001.h5"))

    return start("rashpa", "run", str(file), until=begun)
