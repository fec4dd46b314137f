#!/usr/bin/env python3
"""Writes schema/kernels.json: what the kernels of the native module say of themselves.

Usage: make_kernels.py [--check]. With --check nothing is written; exit 1 when the file is out of date.
"""

import sys
from pathlib import Path

from rashpa import _native

PATH = Path(__file__).resolve().parents[1] / "schema" / "kernels.json"


def main() -> int:
    """Exit status."""
    text = _native.kernels_json()
    if "--check" not in sys.argv[1:]:
        PATH.write_text(text, encoding="utf-8")
    elif not PATH.is_file() or PATH.read_text(encoding="utf-8") != text:
        print("schema/kernels.json is out of date; run tools/make_kernels.py, then `make reference`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
