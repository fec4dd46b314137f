#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a folder that runs random configurations of rtl/sender/sender_core_test.cpp on another machine, in all of its processors.

Usage: build/rtl/bin/python tools/rtl/configurations.py FOLDER. In it: the bench, the libraries that it needs but for the C library, and
`run.sh FIRST COUNT [SEED]`. The other machine needs the same processor architecture, a C library at least as new, and bash.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

from blocks import BUILD, benches
from test_rtl import cpp_bench, software

RUN = Path(__file__).resolve().parent / "run_configurations.sh"
# They belong to the machine.
OF_THE_C_LIBRARY = re.compile(r"^(linux-vdso|ld-linux|libc\.|libm\.|libdl\.|librt\.|libpthread\.)")


def libraries(program: Path) -> list[Path]:
    """Return shared objects that a program loads, without the C library."""
    said = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout  # noqa: S603, S607
    found = re.findall(r"^\s*(\S+) => (\S+)", said, re.MULTILINE)
    return [Path(path) for name, path in found if not OF_THE_C_LIBRARY.match(name)]


def main() -> int:
    """Exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    (BUILD / "log").mkdir(parents=True, exist_ok=True)
    bench = next(bench for bench in benches(".cpp") if bench.path.name == "sender_core_test.cpp")
    job = cpp_bench(bench)
    job.commands.pop()  # it is run elsewhere
    for step in (software(), job):
        if not step.run()[0]:
            sys.exit(f"configurations: {step.name} does not build: {step.log}")
    folder.mkdir(parents=True, exist_ok=True)
    program = BUILD / "bench" / bench.name / "bench"
    for source in (program, RUN, *libraries(program)):
        name = {program: "sender_core_test", RUN: "run.sh"}.get(source, source.name)
        (folder / name).unlink(missing_ok=True)
        shutil.copy2(source, folder / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
