#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs one cocotb bench of rtl/ with the Verilator that is first in PATH.

Usage: cocotb_bench.py PATH NUMBER FOLDER [covered]: the bench, which of its sets of parameters, where it is built; whether what it reaches is
counted. Exit 1 when a test failed or there was none.
"""

import os
import shutil
import sys
from pathlib import Path

from blocks import RTL, benches, folders, modules, packages
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner


def main() -> int:
    """Exit status."""
    path, number, folder = Path(sys.argv[1]).resolve(), int(sys.argv[2]), Path(sys.argv[3])
    bench = next(bench for bench in benches(".py") if (bench.path, bench.number) == (path, number))
    sys.path[:0] = [str(path.parent), str(RTL / "testing")]
    # The wheel's makefile lacks the switch for precompiled headers.
    os.environ["MAKEFLAGS"] = "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1"
    if shutil.which("ccache"):
        os.environ["OBJCACHE"] = "ccache"
    runner = get_runner("verilator")
    runner.build(
        sources=[*packages(), modules()[bench.top]],
        hdl_toplevel=bench.top,
        build_dir=folder,
        build_args=[
            *("-Wno-fatal", "-Werror-USERFATAL", "--x-initial", "unique", "--x-assign", "unique"),
            *bench.options,
            *(("--coverage-line", "--coverage-toggle") if "covered" in sys.argv[4:] else ()),
            *folders(),
        ],
        always=True,
    )
    results = runner.test(hdl_toplevel=bench.top, test_module=path.stem, build_dir=folder, test_dir=folder)
    tests, failed = get_results(results)
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
