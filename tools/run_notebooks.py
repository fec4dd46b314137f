#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the notebooks of docs/tutorials, cell by cell, and stores the text and pictures that they print.

Usage: run_notebooks.py [--check] [NOTEBOOK …]. With --check nothing is stored; exit 1 when a cell fails, or when its texts differ from the stored
ones. Texts of a cell with the tag "varies" may differ between machines. Cells are plain Python without magics, and Jupyter is not needed; `display`
works as in Jupyter. Each notebook runs in a separate process and folder.
"""

import ast
import base64
import contextlib
import difflib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "tutorials"


class Outputs:
    """Collects the printed and shown outputs of a cell, in the form of notebooks."""

    def __init__(self) -> None:
        self._printed = io.StringIO()
        self._shown: list[dict[str, Any]] = []

    def __enter__(self) -> "Outputs":
        self._redirected = contextlib.redirect_stdout(self._printed)
        self._redirected.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._redirected.__exit__(*error)

    def display(self, value: Any, *, clear: bool = False) -> None:
        """Show a value as Jupyter does. `clear`: first remove the earlier outputs of the cell."""
        if clear:
            self._shown.clear()
            self._printed.seek(0)
            self._printed.truncate()
        self._shown.append({"output_type": "display_data", "data": data_of(value), "metadata": {}})

    def result(self, value: Any) -> None:
        """Store the value of the cell's last expression."""
        data = data_of(value)
        self._shown.append({"output_type": "execute_result", "execution_count": None, "data": data, "metadata": {}})

    @property
    def all(self) -> list[dict[str, Any]]:
        """Return the outputs in the order of a notebook: printed texts, then shown values."""
        text = self._printed.getvalue().splitlines(keepends=True)
        printed: list[dict[str, Any]] = [{"output_type": "stream", "name": "stdout", "text": text}] if text else []
        return printed + self._shown


def data_of(value: Any) -> dict[str, Any]:
    """Return a value by media type. The text of a value with HTML, such as a run, has no memory address."""
    from matplotlib.figure import Figure

    if isinstance(value, Figure):
        drawn = io.BytesIO()
        value.savefig(drawn, format="png", dpi=60, bbox_inches="tight", metadata={"Software": None})
        return {"image/png": base64.b64encode(drawn.getvalue()).decode(), "text/plain": ["<Figure>"]}
    if hasattr(value, "_repr_html_"):
        return {"text/html": value._repr_html_().splitlines(keepends=True), "text/plain": [f"<{type(value).__name__}>"]}
    return {"text/plain": repr(value).splitlines(keepends=True)}


def run_cell(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the outputs of a cell. Raise its errors."""
    import matplotlib.pyplot as plt

    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with Outputs() as outputs:
        names["display"] = outputs.display
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    for number in plt.get_fignums():
        outputs.display(plt.figure(number))
        plt.close(number)
    if value is not None:
        outputs.result(value)
    return outputs.all


def texts_of(outputs: list[dict[str, Any]]) -> list[str]:
    """Return the lines of a cell's outputs, without its pictures."""
    texts = []
    for output in outputs:
        data = output.get("data", {"text/plain": output.get("text", ())})
        texts += [
            line
            for kind, lines in sorted(data.items())
            if kind.startswith("text/")
            for line in "".join(lines).split("\n")
        ]
    return [re.sub(r"base64,[^\"]*", "base64,…", line) for line in texts]


def what_differs(cell: dict[str, Any], outputs: list[dict[str, Any]]) -> str:
    """Return the difference between the stored texts and the present ones, empty without any."""
    if "varies" in cell["metadata"].get("tags", ()):
        return ""
    return "\n".join(difflib.unified_diff(texts_of(cell["outputs"]), texts_of(outputs), "stored", "now", lineterm=""))


def run_notebook(path: Path, *, store: bool) -> int:
    """Run a notebook in this process, in a temporary working folder, and return the exit status."""
    os.environ["MPLBACKEND"] = "Agg"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory(prefix="notebook-") as folder:
        os.chdir(folder)
        for number, cell in enumerate(notebook["cells"]):
            if cell["cell_type"] != "code":
                continue
            try:
                outputs = run_cell("".join(cell["source"]), names)
            except Exception:  # noqa: BLE001 (any error of a cell is a result)
                print(f"{path.name}: cell {number} fails:\n{traceback.format_exc()}")
                return 1
            if not store and (differing := what_differs(cell, outputs)):
                print(
                    f"{path.name}: cell {number} does not show what is stored; run tools/run_notebooks.py\n{differing}"
                )
                return 1
            cell["outputs"] = outputs
        os.chdir("/")
    if store:
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def main() -> int:
    """Return the exit status."""
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
