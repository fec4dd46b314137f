# SPDX-License-Identifier: Apache-2.0
"""Reads the commands of a build's compile_commands.json without the precompiled headers, which only the build's own compiler can read."""

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def entries(build: Path) -> list[dict[str, Any]]:
    """Return an entry for each of the project's own C++ files: directory, file, arguments."""
    found = []
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = Path(entry["directory"], entry["file"]).resolve()
        if path.suffix == ".cpp" and path.is_relative_to(ROOT) and not path.is_relative_to(build.resolve()):
            arguments = without_precompiled(shlex.split(entry["command"]))
            found.append({"directory": entry["directory"], "file": str(path), "arguments": arguments})
    return found


def without_precompiled(arguments: list[str]) -> list[str]:
    """Return the compiler and its arguments, without launcher and precompiled header."""
    kept: list[str] = []
    skip = False
    for number, argument in enumerate(arguments):
        following = arguments[number + 1] if number + 1 < len(arguments) else ""
        if skip or argument in {"-fpch-preprocess", "-Winvalid-pch"}:
            skip = False
        elif argument == "-include" and "cmake_pch" in following:
            skip = True
        else:
            kept.append(argument)
    compiler = next(number for number, one in enumerate(kept) if one.endswith(("g++", "c++", "clang++")))
    return kept[compiler:]


def changed(*folders: str) -> set[Path]:
    """Return the files that differ from the commit LINT_BASE, by default from the last one."""
    base = os.environ.get("LINT_BASE") or "HEAD~1"
    listed = subprocess.run(  # noqa: S603
        ["git", "diff", "--name-only", "--diff-filter=d", base, "--", *folders],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return set() if listed.returncode else {ROOT / name for name in listed.stdout.split()}
