#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a file for bench/results from the rows of a benchmark program: name, machine facts including the GPU, rows.

Usage: store_rows.py NAME BUILD_JSON ROWS OUT. Prints the rows as a table. It runs without the package's dependencies.
"""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any


def _measured(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the document that `rashpa bench` writes, without importing the package."""
    path = Path(__file__).resolve().parents[1] / "python" / "rashpa" / "control" / "nodes" / "machine.py"
    spec = importlib.util.spec_from_file_location("machine", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"store_rows: {path} is no module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    document: dict[str, Any] = module.measured(name, rows)
    return document


def main() -> int:
    """Return the exit status."""
    name, build, rows_file, out = sys.argv[1:5]
    rows = [json.loads(line) for line in Path(rows_file).read_text(encoding="utf-8").splitlines() if line.strip()]
    document = _measured(name, rows)
    document["machine"] |= json.loads(Path(build).read_text(encoding="utf-8"))
    Path(out).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    for row in rows:
        against = f"  {row['ratio']:6.2f} x {row['against']}" if row["against_value"] else ""
        print(f"{row['what']:<78} {row['value']:9.2f} {row['unit']:<9}{against}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
