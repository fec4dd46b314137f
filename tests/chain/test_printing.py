# SPDX-License-Identifier: Apache-2.0
"""Tests kernels that print in whole runs: printing never delays a run, and the output is in the node's log under the kernel's name."""

import json
import re
import subprocess
import sys
from pathlib import Path

from rashpa.node.logs.log import MOST_PRINTED
from rashpa.testing.run_file import Table, run_file
from rashpa.testing.waiting import eventually

ROOT = Path(__file__).parents[2]
RASHPA = [sys.executable, "-m", "rashpa.cli.entry"]
FRAMES = 300


def run_text(frames: int, orphaned: str, kernel: Table) -> str:
    return run_file(
        run={"name": "prints", "frames": frames, "output": "out", "orphaned": orphaned},
        detector={"pixel": "uint16", "rate_hz": 0},
        dataset={"pixel": None},
        buffer={"kernel": [kernel]},
    )


PYTHON = """\
import ctypes, logging, os, subprocess, sys, threading, time, warnings
from rashpa.data.kernels.kernel import Column, kernel
HELD = ctypes.PyDLL(None)  # calls of it keep the interpreter's lock
IMAGES = [0]
LONG = "x" * 2000
@kernel(takes=["uint16"], columns=[Column("a", "uint32")])
def f(pixels):
    IMAGES[0] += 1
    {body}
    return {{"a": 1}}
"""
WAYS = {
    "print": "print('by print', LONG)",
    "stderr": "print('by stderr', LONG, file=sys.stderr)",
    "progress": "sys.stderr.write('\\r' + f'by progress {IMAGES[0]} {LONG}'); sys.stderr.flush()",
    "no newline": "sys.stdout.write('by no newline' + LONG)",
    "bytes": "sys.stdout.buffer.write(b'\\nby bytes' + LONG.encode() + b'\\n')",
    "descriptor": "os.write(1, b'by descriptor' + LONG.encode() + b'\\n')",
    "log": "logging.warning('by log %d %s', IMAGES[0], LONG)",
    "warning": "warnings.warn(f'by warning {IMAGES[0]} {LONG}')",
    "lock": "HELD.printf(b'by lock %s\\n', LONG.encode())",
    "thread": "t = threading.Thread(target=print, args=('by thread', LONG)); t.start(); t.join()",
    "child": "subprocess.run(['/bin/echo', 'by child', 'x' * 100_000], check=True) if IMAGES[0] < 20 else None",
}
FLOOD = "print('by flood\\n' * 2000)"
PLUGIN = """\
#include <stdio.h>
#include <string.h>
#include "rashpa_plugin.h"
static char text[2001], state;
static void* create(const rashpa_plugin_setup* setup, char* why, size_t bytes) {
  (void)setup, (void)why, (void)bytes;
  memset(text, 'x', 2000);
  return &state;
}
static int process(void* given, const void* pixels, rashpa_plugin_findings* found) {
  (void)given, (void)pixels;
  printf("by printf %s\\n", text);
  fprintf(stderr, "by stderr %s", text);
  found->scalars[0].count = 1;
  return 0;
}
static void destroy(void* given) { (void)given; }
static const rashpa_plugin_column scalars[] = {{"a", "", "one", RASHPA_COLUMN_UINT32}};
static const rashpa_plugin plugin = {
    .abi = RASHPA_PLUGIN_ABI, .bytes = sizeof(rashpa_plugin), .name = "prints", .purpose = "prints", .takes = RASHPA_UINT16,
    .scalar_count = 1, .scalars = scalars, .create = create, .process = process, .destroy = destroy};
RASHPA_PLUGIN_EXPORT const rashpa_plugin* rashpa_plugin_describe(void);
RASHPA_PLUGIN_EXPORT const rashpa_plugin* rashpa_plugin_describe(void) { return &plugin; }
"""


def python_kernel(folder: Path, body: str) -> Table:
    (folder / "m.py").write_text(PYTHON.format(body=body))
    return {"name": "python", "function": "m:f"}


def run_files(folder: Path, kernel: Table, nodes: str = "", orphaned: str = "end") -> None:
    (folder / "run.toml").write_text(run_text(frames=FRAMES, kernel=kernel, orphaned=orphaned) + nodes)


def finished(folder: Path) -> list[str]:
    """Return the receiver's log after a run that must be good."""
    done = subprocess.run(
        [*RASHPA, "run", "run.toml", "--output", "report", "--no-page", "-q"],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    books = json.loads((folder / "report" / "report.json").read_text())["books"]
    assert (books["complete"], books["missing"]) == (FRAMES, 0)
    return (folder / "report" / "nodes.log").read_text().splitlines()


def are_printed_by(who: str, lines: list[str], *ways: str) -> None:
    printed = [line for line in lines if f"{who} printed: " in line]
    for way in ways:
        assert any(f"by {way}" in line for line in printed), way
    assert len(printed) <= MOST_PRINTED
    assert any("Start: the node of" in line for line in lines)  # the run's own entries are still there


def test_a_kernel_that_prints_in_every_way_holds_nothing_up(tmp_path: Path) -> None:
    run_files(tmp_path, python_kernel(tmp_path, "; ".join(WAYS.values())))
    are_printed_by("python m:f", finished(tmp_path), *WAYS)


def test_a_flood_holds_nothing_up_and_is_counted(tmp_path: Path) -> None:
    kernel = python_kernel(tmp_path, FLOOD)
    (tmp_path / "m.py").write_text(f"print('by import')\n{(tmp_path / 'm.py').read_text()}")
    run_files(tmp_path, kernel)
    lines = finished(tmp_path)
    are_printed_by("python m:f", lines, "flood")
    dropped = [
        int(found[1]) for line in lines if (found := re.search(r"\((\d+) more lines, \d+ bytes, are dropped", line))
    ]
    assert 1900 * FRAMES < sum(dropped) < 2000 * FRAMES


def test_a_plugin_that_prints_holds_nothing_up(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(PLUGIN)
    include = ROOT / "src" / "rashpa" / "kernel" / "outside"
    words = ["cc", "-std=c11", "-shared", "-fPIC", f"-I{include}", "p.c", "-o", "prints.so"]
    subprocess.run(words, cwd=tmp_path, check=True, timeout=120)
    run_files(tmp_path, {"name": "plugin", "file": "prints.so"})
    are_printed_by("plugin prints.so", finished(tmp_path), "printf", "stderr")


def test_standing_nodes_whose_output_nobody_reads_are_not_held_up(tmp_path: Path) -> None:
    kernel = python_kernel(tmp_path, f"{WAYS['print']}; {WAYS['descriptor']}")
    pipe = subprocess.PIPE
    words = [*RASHPA, "receiver", "--port", "0", "--kernels", "."]
    with subprocess.Popen(words, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True) as receiver:
        assert receiver.stdout is not None
        url = json.loads(receiver.stdout.readline())["url"]
        try:
            run_files(tmp_path, kernel, f'[nodes]\nreceiver = "{url}"\n')
            finished(tmp_path)
            asked = subprocess.run(
                [*RASHPA, "node", "log", url], capture_output=True, text=True, timeout=60, check=True
            )
            are_printed_by("python m:f", asked.stdout.splitlines(), "print", "descriptor")
        finally:
            receiver.terminate()
            receiver.communicate(timeout=30)


def test_a_run_that_outlives_its_manager_prints_on(tmp_path: Path) -> None:
    slow = "; os.mkdir('begun') if IMAGES[0] == 20 else None; time.sleep(0.01)"  # wait: the kernel takes its time
    kernel = python_kernel(tmp_path, WAYS["print"] + slow)
    run_files(tmp_path, kernel, orphaned="finish")
    words = [*RASHPA, "run", "run.toml", "-q", "--no-page", "--output", "report"]
    manager = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        eventually((tmp_path / "begun").exists)
    finally:
        manager.kill()
        manager.wait()
    done = subprocess.run(
        [*RASHPA, "attach", "out", "-q"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    are_printed_by("python m:f", (tmp_path / "report" / "nodes.log").read_text().splitlines(), "print")
