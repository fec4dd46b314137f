#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the notebooks of docs/tutorials, cell after cell, and stores what they print and draw in them.

Usage: run_notebooks.py [--check] [NOTEBOOK …]. With --check nothing is stored; exit 1 when a cell fails. Cells are plain Python: no magics, no Jupyter is
needed. Each notebook runs in a process and a folder of its own.
"""

import ast
import base64
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "tutorials"


def run_cell(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """The outputs of a cell, as notebooks hold them. Raises what the cell raises."""
    import matplotlib.pyplot as plt

    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append(
            {"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(keepends=True)}
        )
    for number in plt.get_fignums():
        drawn = io.BytesIO()
        plt.figure(number).savefig(drawn, format="png", dpi=60, bbox_inches="tight", metadata={"Software": None})
        plt.close(number)
        data = {"image/png": base64.b64encode(drawn.getvalue()).decode(), "text/plain": ["<Figure>"]}
        outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
    if value is not None and not outputs:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        outputs.append({"output_type": "execute_result", "execution_count": None, "data": data, "metadata": {}})
    return outputs


def run_notebook(path: Path, *, store: bool) -> int:
    """Exit status; in this process, whose working folder becomes a temporary one."""
    os.environ["MPLBACKEND"] = "Agg"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory(prefix="notebook-") as folder:
        os.chdir(folder)
        for number, cell in enumerate(notebook["cells"]):
            if cell["cell_type"] != "code":
                continue
            try:
                cell["outputs"] = run_cell("".join(cell["source"]), names)
            except Exception:  # noqa: BLE001 (whatever a cell raises is what it is run for)
                print(f"{path.name}: cell {number} fails:\n{traceback.format_exc()}")
                return 1
        os.chdir("/")
    if store:
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def main() -> int:
    """Exit status."""
    given = [Path(name).resolve() for name in sys.argv[1:] if not name.startswith("--")]
    if "--in-this-process" in sys.argv[1:]:
        return run_notebook(given[0], store="--check" not in sys.argv[1:])
    options = [name for name in sys.argv[1:] if name.startswith("--")]
    commands = (
        [sys.executable, __file__, "--in-this-process", *options, str(path)]
        for path in given or sorted(FOLDER.glob("*.ipynb"))
    )
    return max((subprocess.run(command, check=False).returncode for command in commands), default=0)


if __name__ == "__main__":
    sys.exit(main())
