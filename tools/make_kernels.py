#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes schema/kernels.json, links.json and sections.json, the native module's declarations of kernels, links and sections. From them and the models
of the run file it makes telegram_parts.xsd. It also writes two stubs: kernel.pyi, the kernels as functions, and engine_keys.pyi, the keys of
sections. For kernels without conformance vectors it makes some.

Usage: make_kernels.py [--check]. With --check nothing is written; exit 1 when a file is out of date.
"""

import sys
from pathlib import Path

from rashpa import _native

ROOT = Path(__file__).resolve().parents[1]


def _stale(name: str, text: str) -> bool:
    """Return True when the file is out of date; without --check, write it."""
    path = ROOT / name
    if "--check" not in sys.argv[1:]:
        path.write_text(text, encoding="utf-8")
        return False
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    print(f"{name} is out of date; run tools/make_kernels.py, then `make reference`")
    return True


def _without_vectors() -> bool:
    """Return True when a kernel has no conformance vectors; without --check, make them. Existing vectors stay, because they must only change on
    purpose."""
    import make_conformance
    from rashpa.data.kernels.conformance import write_vectors
    from rashpa.data.kernels.pipeline import kernel_declarations

    make_conformance.FOLDER.mkdir(exist_ok=True)
    missing = [one for one in kernel_declarations() if not (make_conformance.FOLDER / f"{one}.npz").is_file()]
    for name in missing:
        if "--check" in sys.argv[1:]:
            print(f"schema/conformance/{name}.npz is not there; run tools/make_kernels.py")
            continue
        try:
            write_vectors(name, make_conformance.vectors_of(name), make_conformance.FOLDER)
        except (_native.NativeError, KeyError, ValueError) as error:
            print(
                f"kernel {name}: its declaration alone makes no vectors ({error}); give it CASES in tools/make_conformance.py"
            )
    return bool(missing) and "--check" in sys.argv[1:]


def main() -> int:
    """Return the exit status."""
    stale = [_stale("schema/kernels.json", _native.kernels_json()), _stale("schema/links.json", _native.links_json())]
    stale.append(_stale("schema/sections.json", _native.sections_json()))
    from rashpa.control.runfile import engine_keys  # models are made from these files
    from rashpa.control.telegrams.part_schema import schema_text

    stale.append(_stale("python/rashpa/control/runfile/engine_keys.pyi", engine_keys.stub_text()))
    stale.append(_stale("schema/telegram_parts.xsd", schema_text()))
    from rashpa.data.kernels.kernel_functions import stub_text

    stale.append(_stale("python/rashpa/kernel.pyi", stub_text()))
    stale.append(_without_vectors())
    return int(any(stale))


if __name__ == "__main__":
    sys.exit(main())
