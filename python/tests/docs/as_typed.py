# SPDX-License-Identifier: Apache-2.0
"""A page that is typed in a fresh folder."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

from python.tests.docs.pages import COMMANDS, ROOT, Block, blocks_of

HERE = Path(__file__).parent
# Ports of its own, and processes that end with the page.
_ALONE = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--map-root-user", "--"]
_ALONE += ["sh", "-c", 'ip link set lo up && "$@"', "sh"]
_SECONDS = 550
# Examples end after so many frames: a page is not there to wait for.
_FRAMES = 20
_RUN = COMMANDS | {"python", "toml", "json"}


def run_blocks(page: Path) -> list[Block]:
    """What of a page is run, or looked at."""
    name = str(page.relative_to(ROOT))
    blocks = blocks_of(name, page.read_text(encoding="utf-8"))
    return [block for block in blocks if block.reason is None and (block.language in _RUN or block.marks)]


def given_of(page: Path) -> Path | None:
    """What the page takes for there, made by Python."""
    path = HERE / "given" / f"{page.stem if page.stem != 'README' else page.parent.name}.py"
    return path if path.is_file() else None


def prepare(folder: Path, python: str) -> None:
    """A clone as `make` leaves it, as far as pages use it."""
    (folder / ".venv").symlink_to(sys.prefix)
    for name in ("src", "tools", "bench"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("*.so"))
    for file in (folder / "examples").rglob("*.toml"):
        text = file.read_text(encoding="utf-8")
        file.write_text(re.sub(r"(?m)^frames = (\d+)", lambda found: f"frames = {min(int(found[1]), _FRAMES)}", text))
    tools = folder / ".tools"
    tools.mkdir()
    for name, script in (
        # targets that only run something, without the build that is there
        ("make", f'exec {shutil.which("make")} -f {ROOT}/Makefile -o build/.package -o build/.demo "$@" 2>&1'),
        ("rashpa", f'exec {python} -m rashpa.cli.entry "$@"'),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)


def try_page(page: Path, folder: Path, runs: Path, python: str = sys.executable) -> None:
    """Raises AssertionError with what the page's first wrong block said. `runs` is where runs that several pages take for there are kept."""
    prepare(folder, python)
    steps = [
        {"where": block.where, "language": block.language, "text": block.script, "marks": block.marks}
        for block in run_blocks(page)
    ]
    given = given_of(page)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("RASHPA_", "PYTHON"))} | {
        "PATH": f"{folder}/.tools:{folder}/.venv/bin:{os.environ['PATH']}",
        "HOME": str(folder),
        "PAGES_RUNS": str(runs),
        "MPLBACKEND": "Agg",
        "COLUMNS": "150",
    }
    command = [*(_ALONE if has_own_network() else []), python, str(HERE / "try_page.py")]
    typed = json.dumps({"given": given and str(given), "steps": steps})
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
    """Whether a page can have ports of its own; where not, it has the machine's."""
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return False
    return subprocess.run([*_ALONE, "true"], capture_output=True, check=False).returncode == 0
