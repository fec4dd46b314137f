#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes schema/kernels.json and links.json, what kernels and links of the native module say of themselves, then telegram_parts.xsd, which
follows from them and from the models of the run file, and python/rashpa/kernel.pyi, the kernels as functions.

Usage: make_kernels.py [--check]. With --check nothing is written; exit 1 when a file is out of date.
"""

import sys
from pathlib import Path

from rashpa import _native

ROOT = Path(__file__).resolve().parents[1]


def _stale(name: str, text: str) -> bool:
    """Whether the file is out of date; without --check it is not, for it is written."""
    path = ROOT / name
    if "--check" not in sys.argv[1:]:
        path.write_text(text, encoding="utf-8")
        return False
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    print(f"{name} is out of date; run tools/make_kernels.py, then `make reference`")
    return True


def main() -> int:
    """Exit status."""
    stale = [_stale("schema/kernels.json", _native.kernels_json()), _stale("schema/links.json", _native.links_json())]
    from rashpa.control.part_schema import schema_text  # whose models are made of the two files

    stale.append(_stale("schema/telegram_parts.xsd", schema_text()))
    from rashpa.data.kernel_functions import stub_text

    stale.append(_stale("python/rashpa/kernel.pyi", stub_text()))
    return int(any(stale))


if __name__ == "__main__":
    sys.exit(main())
