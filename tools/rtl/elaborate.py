#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Elaborates modules of rtl/ with slang inside Yosys: no latch, nothing undriven, no loop.

Usage: build/rtl/bin/python tools/rtl/elaborate.py MODULE…
"""

import sys
from collections.abc import Iterable

from blocks import folders, modules, packages
from pyosys import libyosys


def read(top: str, design: libyosys.Design, without: Iterable[str] = ()) -> None:
    """Read a module and its parts into `design`, and check them. Of the modules `without` there are only the ports."""
    empty = [word for name in without for word in ("--blackboxed-module", name)]
    sources = [*map(str, packages()), str(modules()[top])]
    words = ["read_slang", "--top", top, *empty, *folders(), "--libext", ".sv", *sources]
    libyosys.run_pass(" ".join(words), design)
    libyosys.run_pass("proc", design)
    libyosys.run_pass("select -assert-none t:$dlatch t:$adlatch t:$dlatchsr", design)
    libyosys.run_pass("check -assert", design)


def main() -> int:
    """Exit status; Yosys ends the program at an error."""
    for top in sys.argv[1:]:
        read(top, libyosys.Design())
    return 0


if __name__ == "__main__":
    sys.exit(main())
