#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy on the C++ files of a build, on the given files, or on changed ones; as many at a time as there are cores."""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from compile_commands import ROOT, changed, entries

MOST_CHANGED = 30  # about three minutes; a change of everything is checked by `make tidy`
# Options that only GCC knows are no finding of ours.
ARGUMENTS = ["--quiet", "--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-ignored-optimization-argument"]


def changed_files() -> set[Path]:
    """Return changed files; for a header, the .cpp files beside it."""
    files = changed("src")
    return (
        files
        | {path.with_suffix(".cpp") for path in files}
        | {path.with_name(f"{path.stem}_test.cpp") for path in files}
    )


def tidy(path: Path, build: Path) -> tuple[Path, int, str, float]:
    """Return file, exit status, findings and seconds."""
    start = time.monotonic()
    done = subprocess.run(  # noqa: S603
        ["clang-tidy", "-p", str(build), *ARGUMENTS, str(path)],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return path, done.returncode, done.stdout + (done.stderr if done.returncode else ""), time.monotonic() - start


def main() -> int:
    """Return the exit status, 1 when there is a finding."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="folder with compile_commands.json")
    parser.add_argument("--changed", action="store_true", help="only what changed since LINT_BASE (the last commit)")
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    commands = [entry for entry in entries(options.build) if Path(entry["file"]).is_relative_to(ROOT / "src")]
    files = sorted({Path(entry["file"]) for entry in commands})
    if options.changed:
        differing = changed_files()
        files = [path for path in files if path in differing]
        if len(files) > MOST_CHANGED:
            print(f"clang-tidy: left out: {len(files)} files changed, more than {MOST_CHANGED}; run `make tidy`")
            return 0
    if options.files:
        wanted = {path.resolve() for path in options.files}
        files = [path for path in files if path in wanted]
    failed = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        Path(folder, "compile_commands.json").write_text(json.dumps(commands), encoding="utf-8")
        for path, status, text, seconds in pool.map(lambda path: tidy(path, Path(folder)), files):
            failed += status != 0
            print(f"clang-tidy: {path.relative_to(ROOT)} {'FAILED' if status else 'ok'} {seconds:.0f} s")
            if status:
                print(text)
    print(f"clang-tidy: {len(files)} files, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
