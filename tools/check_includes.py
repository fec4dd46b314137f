#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles headers alone, and sources without precompiled headers, to check that every file includes what it uses."""

import argparse
import concurrent.futures
import os
import subprocess
import sys
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

from compile_commands import ROOT, changed, entries


def command_for(
    header: Path, commands: dict[Path, list[str]], directories: dict[Path, str], folders: list[str]
) -> tuple[list[str], str] | None:
    """Return the command of a source near the header, changed to compile the header; None when the build has no source near it.

    `folders`: further folders to search for headers (folders_of).
    """
    folder = header.parent
    while folder != ROOT:
        near = sorted(path for path in commands if path.parent == folder) or sorted(
            path for path in commands if path.is_relative_to(folder)
        )
        if near:
            arguments = commands[near[0]]
            options = arguments[: arguments.index("-o")]
            return [*options, *folders, "-x", "c++", str(header)], directories[near[0]]
        folder = folder.parent
    return None


def folders_of(commands: Iterable[list[str]]) -> list[str]:
    """Return the folders in which any source of the build searches for headers, because a near source may belong to another target than a user of the
    header."""
    found: dict[str, None] = {}
    for arguments in commands:
        for argument, following in pairwise(arguments):
            if argument == "-isystem":
                found[f"-isystem{following}"] = None
            elif argument.startswith("-I"):
                found[argument] = None
    return list(found)


def check(command: list[str], directory: str) -> str:
    """Return the compiler's findings, empty when it has none."""
    # Without warnings: a header of which nothing is used alone is no finding.
    done = subprocess.run(  # noqa: S603
        [*command, "-fsyntax-only", "-w"], cwd=directory, capture_output=True, text=True, check=False
    )
    return done.stderr if done.returncode else ""


def main() -> int:
    """Return the exit status, 1 when a file does not compile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="folder with compile_commands.json")
    parser.add_argument("--changed", action="store_true", help="only what changed since LINT_BASE (the last commit)")
    options = parser.parse_args()
    built: list[dict[str, Any]] = entries(options.build)
    commands = {Path(entry["file"]): entry["arguments"] for entry in built}
    directories = {Path(entry["file"]): str(entry["directory"]) for entry in built}
    headers = {path for folder in ("src", "tests", "bench") for path in (ROOT / folder).rglob("*.hpp")}
    # Parts of one source, included once a target.
    headers = {path for path in headers if not path.name.endswith("-inl.hpp")}
    if not any(path.is_relative_to(ROOT / "src" / "bindings") for path in commands):  # no native module in this build
        headers = {path for path in headers if not path.is_relative_to(ROOT / "src" / "bindings")}
    folders = folders_of(commands.values())
    wanted = set(commands) | headers
    if options.changed:
        wanted &= changed("src", "tests", "bench")
    work = []
    for path in sorted(wanted):
        if path in commands:
            arguments = commands[path]
            work.append((path, [*arguments[: arguments.index("-o")], "-c", str(path)], directories[path]))
        elif found := command_for(path, commands, directories, folders):
            work.append((path, *found))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = pool.map(lambda one: check(one[1], one[2]), work)
        for (path, _, _), text in zip(work, texts, strict=True):
            if text:
                failed += 1
                print(f"includes: {path.relative_to(ROOT)} does not compile alone:\n{text}")
    print(f"includes: {len(work)} files, {failed} that do not compile alone")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
