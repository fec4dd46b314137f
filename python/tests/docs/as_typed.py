# SPDX-License-Identifier: Apache-2.0
"""Types a page in a new folder."""

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from python.tests.docs.pages import COMMANDS, ROOT, Block, blocks_of
from python.tests.docs.try_page import shortened

from rashpa.testing.prepared import within

HERE = Path(__file__).parent
_HANDED_OVER = Path(within.__file__).with_name("handed_over.py")
_WITHIN = ["-P", "-m", "rashpa.testing.prepared.within"]
_SECONDS = 550
_FRAMES = 20  # of examples
SHARED = "rashpa example stored\nrashpa run run.toml\n"  # typed once for all pages that begin with it
_RUN = COMMANDS | {"python", "toml", "json"}


def run_blocks(page: Path) -> list[Block]:
    """Return the blocks of a page that are run or checked."""
    name = str(page.relative_to(ROOT))
    blocks = blocks_of(name, page.read_text(encoding="utf-8"))
    return [block for block in blocks if block.reason is None and (block.language in _RUN or block.marks)]


def prepare(folder: Path, python: str, commands: str) -> None:
    """Make a folder like a clone after `make`, as far as pages use it. Commands of rashpa are forked by the server `commands`."""
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    for path in Path(sys.prefix).iterdir():
        if path.name != "bin":
            (folder / ".venv" / path.name).symlink_to(path)
    for path in (Path(sys.prefix) / "bin").iterdir():
        if path.name != "rashpa":
            (programs / path.name).symlink_to(path)
    for name in ("src", "tools", "bench"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("*.so"))
    for file in (folder / "examples").rglob("*.toml"):
        file.write_text(shortened(file.read_text(encoding="utf-8"), _FRAMES), encoding="utf-8")
    tools = folder / ".tools"
    tools.mkdir()
    for name, script in (
        # targets that only run something, without the build that is there
        ("make", f'exec {shutil.which("make")} -f {ROOT}/Makefile -o build/.package -o build/.demo "$@" 2>&1'),
        ("rashpa", f'exec {python} -IS {_HANDED_OVER} {commands} {python} "$@"'),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)
    (programs / "rashpa").symlink_to(tools / "rashpa")


def try_page(page: Path, folder: Path, runs: Path, python: str = sys.executable, *, before: str = "") -> None:
    """Type a page. Raise AssertionError with the output of its first wrong block. `runs`: the folder with the runs of shared blocks; `before`:
    commands that set up the page's own network."""
    commands = f"rashpa-page-{secrets.token_hex(8)}"
    prepare(folder, python, commands)
    steps: list[dict[str, Any]] = [{"where": "before", "language": "sh", "text": before, "marks": {}}] if before else []
    steps += [
        {
            "where": block.where,
            "language": block.language,
            "text": block.script,
            "marks": block.marks,
            "shared": block.script == SHARED,
        }
        for block in run_blocks(page)
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("RASHPA_", "PYTHON"))} | {
        "PATH": f"{folder}/.tools:{folder}/.venv/bin:{os.environ['PATH']}",
        "HOME": str(folder),
        "PAGES_RUNS": str(runs),
        "MPLBACKEND": "Agg",
        "COLUMNS": "150",
    }
    # ports of its own, and processes that end with the page
    alone = ["--alone"] if has_own_network() else []
    command = [python, *_WITHIN, *alone, "--commands", commands, "--", python, str(HERE / "try_page.py")]
    typed = json.dumps(steps)
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=-1, stdout=-1, stderr=-2, text=True, start_new_session=True
    ) as process:
        try:
            said, _ = process.communicate(typed, timeout=_SECONDS)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, said


@cache
def has_own_network() -> bool:
    """Return True when a page can have its own network; otherwise it uses the machine's ports."""
    command = [sys.executable, *_WITHIN, "--alone", "--", "true"]
    return shutil.which("ip") is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0
