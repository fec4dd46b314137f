# SPDX-License-Identifier: Apache-2.0
"""Compares the sink raw with fio: sequential writes past the page cache into the same folder, alternately; figures are medians.

    .venv/bin/python bench/raw.py --folder /data/bench --rounds 5

Both end when all data are on the device. fio (Debian: `apt-get install fio`) writes 4 MiB at a time, 16 in flight, by io_uring, into a file with
reserved space.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rashpa.control.nodes.machine import measured, write_measured
from rashpa.control.nodes.native_program import native_program

FIO = ["--name=seq", "--rw=write", "--bs=4M", "--iodepth=16", "--ioengine=io_uring", "--direct=1", "--end_fsync=1"]


def fio_bytes_per_s(folder: Path, gib: int) -> float:
    """Write one new file with fio, and return its rate in bytes/s."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        command = ["fio", *FIO, f"--size={gib}G", f"--directory={made}", "--output-format=json"]
        said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        return float(said["jobs"][0]["write"]["bw_bytes"])


def sink_bytes_per_s(program: Path, folder: Path, which: str) -> dict[str, float]:
    """Return the sink's rates in bytes/s, by case."""
    done = subprocess.run(
        [str(program), f"--benchmark_filter=store_raw.*({which})", "--benchmark_format=json"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "RASHPA_BENCH_FOLDER": str(folder)},
    )
    rows: list[dict[str, Any]] = json.loads(done.stdout)["benchmarks"]
    wrong = [row for row in rows if row.get("error_occurred")]
    if wrong:
        raise SystemExit(f"bench/raw.py: {wrong[0]['name']}: {wrong[0]['error_message']}")
    return {row["name"].split("/iterations")[0]: float(row["bytes_per_second"]) for row in rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="on the file system that is measured")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gib", type=int, default=2, help="of fio's file")
    parser.add_argument(
        "--least", type=float, default=0.8, help="of fio's rate, for the first case; 1 is returned below"
    )
    parser.add_argument(
        "--before", type=Path, help="rashpa_sink_bench of another build, measured by turns with this one"
    )
    parser.add_argument("--cases", default=".*", help="regular expression: those that are measured")
    parser.add_argument("--json", type=Path, help="where the result is written")
    asked = parser.parse_args()
    if shutil.which("fio") is None:
        print("bench/raw.py: there is no fio; apt-get install fio", file=sys.stderr)
        return 2
    program = native_program("rashpa_sink_bench")
    if program is None:
        print("bench/raw.py: rashpa_sink_bench is not built; make build", file=sys.stderr)
        return 2
    asked.folder.mkdir(parents=True, exist_ok=True)
    programs = [("", Path(program))] + ([("before: ", asked.before)] if asked.before is not None else [])
    peers: list[float] = []
    cases: dict[str, list[float]] = {}
    for number in range(asked.rounds):
        peers.append(fio_bytes_per_s(asked.folder, asked.gib))
        for label, one in programs if number % 2 else reversed(programs):  # whoever is first has the emptier caches
            for name, rate in sink_bytes_per_s(one, asked.folder, asked.cases).items():
                cases.setdefault(label + name, []).append(rate)
        print(
            f"round {number + 1}: fio {peers[-1] / 1e6:.0f} MB/s", *(f"{n} {v[-1] / 1e6:.0f}" for n, v in cases.items())
        )
    peer = statistics.median(peers)
    rows = [
        {
            "case": name,
            "mb_per_s": round(statistics.median(rates) / 1e6, 1),
            "of_fio": round(statistics.median(rates) / peer, 3),
            "of_fio_by_round": [round(rate / own, 3) for rate, own in zip(rates, peers, strict=True)],
        }
        for name, rates in sorted(cases.items(), key=lambda one: one[0].startswith("before"))
    ]
    fio = {"mb_per_s": round(peer / 1e6, 1), "rounds": [round(rate / 1e6, 1) for rate in peers], "options": FIO}
    for row in rows:
        print(f"{row['case']}: {row['mb_per_s']} MB/s, {row['of_fio']} of fio's {peer / 1e6:.0f} MB/s")
    if asked.json is not None:
        write_measured(asked.json, measured("sink raw beside fio", rows, fio=fio))
    return 0 if rows[0]["of_fio"] >= asked.least else 1


if __name__ == "__main__":
    raise SystemExit(main())
