# SPDX-License-Identifier: Apache-2.0
"""Finds the processes of one run by a mark in their environment, whatever their parent, and no others."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

MARK = "RASHPA_CHAOS_RUN"
POLL_S = 0.02


def marked(mark: str) -> dict[int, list[str]]:
    """Return the command lines of living processes with the mark, by process id."""
    wanted = f"{MARK}={mark}".encode()
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if wanted not in (entry / "environ").read_bytes().split(b"\0"):
                continue
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue  # it has ended, or is somebody else's
        if words != [""]:
            found[int(entry.name)] = words
    return found


def node_of(mark: str, role: str, name: str) -> int | None:
    """Return the process of a node, by its role (emulator, receiver) and its name."""
    for process, words in marked(mark).items():
        if role in words and "--name" in words and words[words.index("--name") + 1].split()[-1] == name:
            return process
    return None


def parent_of(process: int) -> int:
    """Return the parent of a process, 0 when it has ended."""
    words = _read(Path(f"/proc/{process}/stat")).rpartition(")")[2].split()
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def helpers_of(mark: str, manager: int) -> list[int]:
    """Return the processes of a run that are neither its manager, nor nodes, nor pages."""
    others = {"emulator", "receiver", "dashboard", "join"}
    return [process for process, words in marked(mark).items() if process != manager and not others & set(words)]


def wait_until(condition: Callable[[], bool], limit_s: float) -> bool:
    """Wait, within a bound, until the condition is true; return False when it was not."""
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(POLL_S)  # wait: with a deadline; what a late one means is for the run's verdict
    return True


def crowding() -> float:
    """Return the factor by which everything may take longer because other programs use the processors."""
    return max(1.0, os.getloadavg()[0] / (2 * (os.cpu_count() or 1)))


def send(process: int, number: int) -> bool:
    """Send a signal; return True when the process existed."""
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return False
    return True


def dump(mark: str) -> str:
    """Return the state of each process of a hanging run, thread by thread."""
    lines = []
    for process, words in marked(mark).items():
        lines.append(f"process {process}: {' '.join(words)}")
        for task in sorted(Path(f"/proc/{process}/task").iterdir()):
            lines.append(f"  {task.name} {_read(task / 'comm')} {_state(task)} in {_read(task / 'wchan')}")
            lines += [f"    {line}" for line in _read(task / "stack").splitlines()]
    return "\n".join(lines)


def end_all(mark: str) -> list[str]:
    """Kill the remaining processes of a run, and return their descriptions."""
    left = marked(mark)
    for process in left:
        send(process, signal.SIGCONT)
        send(process, signal.SIGKILL)
    wait_until(lambda: not marked(mark), 5.0)
    return [f"{process} {' '.join(words)}" for process, words in left.items()]


def output_of(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """Return the output of a process so far."""
    return log.read_text(encoding="utf-8", errors="replace") if log.exists() else f"process {process.pid} wrote nothing"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        return f"({error.strerror})"


def _state(task: Path) -> str:
    lines = [line.split(":", 1)[1].strip() for line in _read(task / "status").splitlines() if line.startswith("State:")]
    return lines[0] if lines else "gone"
