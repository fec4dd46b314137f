#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs pynxtools' NeXus validator on NXmx files, in a separate environment (tools/peer_environment.sh pynxtools).

Usage: validate_nxmx.py [--json FILE] MASTER.h5 … Exit 1 when one of them is not valid. The validator follows external links from its working folder
only, so that it runs in each file's folder.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def validator() -> Path:
    """Return the validator's program; make its environment if needed."""
    python = subprocess.run(  # noqa: S603
        [ROOT / "tools/peer_environment.sh", "pynxtools"], check=True, capture_output=True, text=True
    ).stdout.strip()
    return Path(python).parent / "pynx"


def validate(program: Path, master: Path) -> tuple[bool, list[str]]:
    """Return True when the file is valid, and all messages about it."""
    done = subprocess.run(  # noqa: S603
        [program, "validate", master.name],
        cwd=master.resolve().parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    valid = done.returncode == 0 and any("is valid according to the `NXmx`" in line for line in lines)
    return valid, lines


def main() -> int:
    """Return the exit status."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("masters", nargs="+", type=Path)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    program = validator()
    rows = []
    for master in options.masters:
        valid, lines = validate(program, master)
        rows.append({"file": master.name, "valid": valid, "says": lines})
        print("\n".join(lines))
    if options.json:
        pins = (ROOT / "bench/peers/pynxtools.txt").read_text(encoding="utf-8").split()
        text = json.dumps({"command": "tools/validate_nxmx.py", "validator": pins, "rows": rows}, indent=2)
        options.json.write_text(text + "\n", encoding="utf-8")
    return int(not all(row["valid"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
