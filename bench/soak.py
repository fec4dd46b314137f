# SPDX-License-Identifier: Apache-2.0
"""Watches an open-ended run at a steady rate from outside: memory, file descriptors and threads of the manager and of all nodes must stay constant.

    .venv/bin/python bench/soak.py --minutes 60

Values in /proc are sampled once a second. The first quarter, and at least 15 s, is warm-up. Afterwards no process may have more descriptors or
threads than it had. Memory may grow by the amount that is kept for each image (docs/how-to/long_runs.md), and by --slack-mib.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rashpa.control.nodes.machine import measured, write_measured
from rashpa.testing.run_file import run_file

IMAGE_BYTES = {"null": 8, "hdf5": 96}  # kept of an image by any process: tables, rows; a vector of rows doubles
WARM_UP_S = 15.0  # or half of a run that is shorter than that


@dataclass(frozen=True)
class Sample:
    """Holds one sample of one process."""

    seconds: float
    rss: int
    descriptors: int
    threads: int


def run_text(seconds: float, folder: str, rate_hz: float, link: str, sink: str) -> str:
    """Return the run file, with two modules."""
    return run_file(
        run={"name": "soak", "frames": "until stopped", "duration_s": seconds, "output": folder},
        detector={"width": 256, "height": 128, "rate_hz": rate_hz, "module": [{"x": 0, "y": 0}, {"x": 256, "y": 0}]},
        dataset={"modules": 2},
        link={"kind": link},
        buffer={"name": "all", "slots": 64, "stack": 8, "sink": [{"kind": sink}]},
    )


def processes_below(root: int) -> Iterator[int]:
    """Yield `root` and the ids of all processes that it has started."""
    yield root
    for task in Path(f"/proc/{root}/task").glob("*/children"):
        for child in task.read_text().split():
            yield from processes_below(int(child))


def look(process: int, seconds: float) -> Sample:
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines() if ":" in line
    )
    descriptors = sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())
    return Sample(seconds, int(status["VmRSS"].split()[0]) * 1024, descriptors, int(status["Threads"]))


def name_of(process: int) -> str:
    words = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
    return next((word for word in words if word in ("run", "emulator", "receiver")), Path(words[0]).name)


def plays(folder: Path) -> bool:
    """Return True when the run's emulators have been started, by the journal of the run."""
    try:
        return any(json.loads(journal.read_text())["began"] > 0 for journal in folder.glob("*_attach.json"))
    except (OSError, ValueError):  # not there yet, or just written
        return False


def watch(command: list[str], folder: Path, seconds: float) -> tuple[int, dict[str, list[Sample]]]:
    """Return the exit code, and the samples of each process from the first frame on, while all of them ran."""
    seen: dict[str, list[Sample]] = {}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as run:
        while run.poll() is None and not plays(folder):
            time.sleep(0.05)
        began = time.monotonic()
        while run.poll() is None:
            now = time.monotonic() - began
            try:
                found = {f"{name_of(one)} {one}": look(one, now) for one in processes_below(run.pid)}
            except (OSError, KeyError, ValueError):  # one of them has just ended
                found = {}
            if now < seconds:  # then the run is being ended, and nodes with it
                for name, sample in found.items():
                    seen.setdefault(name, []).append(sample)
            time.sleep(min(1.0, seconds / 40))
    return run.returncode, seen


def judge(samples: list[Sample], rate_hz: float, image_bytes: int, slack: int) -> tuple[dict[str, Any], list[str]]:
    """Return the figures of one process, and a text for each value that grows."""
    last = samples[-1].seconds
    warm = max(0.25 * last, min(WARM_UP_S, 0.5 * last))
    steady = [sample for sample in samples if sample.seconds >= warm]
    first, half = steady[0], steady[len(steady) // 2 :]
    grown = half[-1].rss - first.rss
    allowed = slack + int(image_bytes * rate_hz * (last - first.seconds))
    row = {
        "value": round(grown / 2**20, 2),
        "unit": "MiB grown",
        "seconds": round(last - first.seconds, 1),
        "rss_mib": round(half[-1].rss / 2**20, 2),
        "allowed_mib": round(allowed / 2**20, 2),
        "descriptors": [min(one.descriptors for one in steady), max(one.descriptors for one in steady)],
        "threads": [min(one.threads for one in steady), max(one.threads for one in steady)],
    }
    wrong = []
    if grown > allowed:
        wrong.append(f"memory has grown by {row['value']} MiB, {row['allowed_mib']} are explained")
    for what in ("descriptors", "threads"):  # of the later half: no more than the earlier had
        before = max(getattr(one, what) for one in steady if one not in half)
        if min(getattr(one, what) for one in half) > before:
            wrong.append(f"{what} have grown from {before} to {max(getattr(one, what) for one in half)}")
    return row, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--rate-hz", type=float, default=500.0, help="frames a second")
    parser.add_argument("--link", choices=("roce", "pcie"), default="roce")
    parser.add_argument("--sink", choices=tuple(IMAGE_BYTES), default="null")
    parser.add_argument("--slack-mib", type=float, default=8.0, help="that a process may grow by, unexplained")
    parser.add_argument("--json", type=Path, help="also writes machine and figures to this file")
    given = parser.parse_args()
    seconds = 60.0 * given.minutes
    with tempfile.TemporaryDirectory(prefix="rashpa-soak-") as folder:
        file = Path(folder) / "soak.toml"
        file.write_text(run_text(seconds, folder, given.rate_hz, given.link, given.sink))
        report = Path(folder) / "report"
        command = [sys.executable, "-m", "rashpa.cli.main", "run", str(file), "-q", "--output", str(report)]
        code, seen = watch(command, Path(folder), seconds)
        books = json.loads((report / "report.json").read_text())["books"] if code == 0 else {}
    wrong = [] if code == 0 else [f"the run ended with exit status {code}"]
    rows = []
    for name, samples in seen.items():
        if samples[-1].seconds < 0.5 * seconds or len(samples) < 8:
            continue  # one of the start
        row, trouble = judge(samples, given.rate_hz, IMAGE_BYTES[given.sink], int(given.slack_mib * 2**20))
        rows.append({"what": name.split()[0], **row})
        wrong += [f"{name}: {text}" for text in trouble]
    if code == 0 and len(rows) < 3:
        wrong.append(f"only {', '.join(row['what'] for row in rows) or 'nothing'} was seen for long enough")
    result = measured("soak", rows, books=books, wrong=wrong)
    print(json.dumps(result, indent=2))
    if given.json:
        write_measured(given.json, result)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
