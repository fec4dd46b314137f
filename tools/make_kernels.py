#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes schema/kernels.json and links.json, what kernels and links of the native module say of themselves, and then telegram_parts.xsd, which
follows from them and from the models of the run file.

Usage: make_kernels.py [--check]. With --check nothing is written; exit 1 when a file is out of date.
"""

import sys
from pathlib import Path

from rashpa import _native

FOLDER = Path(__file__).resolve().parents[1] / "schema"


def _stale(name: str, text: str) -> bool:
    """Whether the file is out of date; without --check it is not, for it is written."""
    path = FOLDER / name
    if "--check" not in sys.argv[1:]:
        path.write_text(text, encoding="utf-8")
        return False
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    print(f"schema/{name} is out of date; run tools/make_kernels.py, then `make reference`")
    return True


def main() -> int:
    """Exit status."""
    stale = [_stale("kernels.json", _native.kernels_json()), _stale("links.json", _native.links_json())]
    from rashpa.control.part_schema import schema_text  # whose models are made of the two files

    stale.append(_stale("telegram_parts.xsd", schema_text()))
    return int(any(stale))


if __name__ == "__main__":
    sys.exit(main())
