#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Formats rtl/ with verible; `--check` only says which files differ. Generated files are left alone.

Usage: build/rtl/bin/python tools/rtl/format.py [--check]
"""

import argparse
import subprocess
import sys

from blocks import BIN, ROOT, RTL

GENERATED = "do not edit"  # in the first lines


def main() -> int:
    """Exit status: 1 when a file differs and may not be changed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing")
    check = parser.parse_args().check
    differ = 0
    for path in sorted(RTL.glob("*/*.sv")):
        text = path.read_text(encoding="utf-8")
        if GENERATED in "".join(text.splitlines(keepends=True)[:4]):
            continue
        made = subprocess.run(  # noqa: S603
            [BIN / "verible-verilog-format", "--column_limit=120", "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        if made == text:
            continue
        if check:
            print(f"{path.relative_to(ROOT)}: not formatted; build/rtl/bin/python tools/rtl/format.py")
            differ += 1
        else:
            path.write_text(made, encoding="utf-8")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
