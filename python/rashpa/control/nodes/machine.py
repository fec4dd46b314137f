# SPDX-License-Identifier: Apache-2.0
"""Collects the facts of this machine that are stored with every measured figure, and makes the document of every benchmark. It imports nothing of
rashpa."""

import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

# Of the many flags of a processor, those that choose a kernel or a checksum.
_FLAGS = (
    "ssse3",
    "sse4_2",
    "avx2",
    "avx512f",
    "avx512bw",
    "avx512vbmi2",
    "pclmulqdq",
    "vpclmulqdq",
    "asimd",
    "sve",
    "crc32",
)


def measured(name: str, rows: Iterable[Mapping[str, Any]], **facts: object) -> dict[str, Any]:
    """Return the document of a benchmark: name, command, machine, common facts, rows. A row has `what`, `value` and `unit`, and may have more keys."""
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    return {"name": name, "command": command, "machine": machine_facts(), **facts, "rows": [dict(row) for row in rows]}


def write_measured(path: Path, document: Mapping[str, Any]) -> None:
    """Write the document in the form of bench/results."""
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def machine_facts() -> dict[str, Any]:
    """Return processor, memory, system and software in a form for JSON; unknown facts are left out."""
    software = {"python": platform.python_version(), "compiler": _compiler(), "commit": _commit()}
    return hardware_facts() | {name: value for name, value in software.items() if value is not None}


def hardware_facts() -> dict[str, Any]:
    """Return the same facts without Python, compiler and commit, which need other programs to find out."""
    cpuinfo = _read("/proc/cpuinfo")
    model = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    have = set(flags.group(1).split()) if flags else set()
    memory = re.search(r"^MemTotal:\s*(\d+) kB$", _read("/proc/meminfo"), re.MULTILINE)
    release = re.search(r'^PRETTY_NAME="?([^"\n]+)', _read("/etc/os-release"), re.MULTILINE)
    facts = {
        "cpu": model.group(1).strip() if model else platform.processor() or None,
        "cpu_flags": [flag for flag in _FLAGS if flag in have],
        "cores": len(os.sched_getaffinity(0)),
        "cores_online": os.cpu_count(),
        "memory_gb": round(int(memory.group(1)) / 1e6, 1) if memory else None,
        "numa_nodes": len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or None,
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip() or None,
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "os": release.group(1) if release else platform.system(),
        "gpus": _gpus() or None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _gpus() -> list[dict[str, str]]:
    """Return name, driver, memory and highest clocks of each GPU, as nvidia-smi reports them."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    names = ("name", "driver_version", "memory.total", "clocks.max.sm", "clocks.max.mem")
    query = [program, f"--query-gpu={','.join(names)}", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, check=False, timeout=5)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):  # a driver that hangs is no reason to be without a report
        return []
    rows = [line.split(", ") for line in done.stdout.splitlines() if line] if done.returncode == 0 else []
    keys = ("name", "driver", "memory", "clock", "memory_clock")
    return [dict(zip(keys, row, strict=True)) for row in rows if len(row) == len(keys)]


def _compiler() -> str | None:
    """Return the compiler of the build folder, otherwise the machine's own, None without any."""
    for cache in sorted(_source_root().glob("build/release/CMakeFiles/*/CMakeCXXCompiler.cmake")):
        text = cache.read_text(encoding="utf-8", errors="replace")
        found = [re.search(rf'set\(CMAKE_CXX_COMPILER_{name} "([^"]+)"', text) for name in ("ID", "VERSION")]
        if all(found):
            return " ".join(match.group(1) for match in found if match)
    return _first_line(["c++", "--version"])


def _commit() -> str | None:
    """Return the commit of the source tree that this program runs from, with `+` when files differ from it; None when installed without a tree."""
    root = _source_root()
    if not (root / ".git").exists():
        return None
    commit = _first_line(["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"])
    if commit is None:
        return None
    changes = _first_line(["git", "-C", str(root), "status", "--porcelain", "--untracked-files=no"])
    return commit + ("+" if changes else "")


def _source_root() -> Path:
    # tools/store_rows.py loads this file alone, so that it imports nothing of the package
    return Path(__file__).resolve().parents[4]


def _first_line(command: list[str]) -> str | None:
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else None
