# SPDX-License-Identifier: Apache-2.0
"""The notebooks of the tutorials run, print the stored outputs, and have their pictures. python/tests/docs types the pages."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.whole

ROOT = Path(__file__).resolve().parents[2]


NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: str(path.stem))
def test_every_cell_of_a_notebook_runs(notebook: Path) -> None:
    pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    command = [sys.executable, str(ROOT / "tools" / "run_notebooks.py"), "--check", str(notebook)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: str(path.stem))
def test_a_notebook_is_stored_with_its_pictures(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [(cell, "".join(cell["source"])) for cell in cells if cell["cell_type"] == "code"]
    drawing = [cell for cell, source in code if "plt.show()" in source or "display(figure" in source]
    assert drawing
    for cell in drawing:
        assert any("image/png" in output.get("data", {}) for output in cell["outputs"]), "run tools/run_notebooks.py"


def notebook_of(folder: Path, source: str, *, tags: tuple[str, ...] = ()) -> Path:
    path = folder / "one.ipynb"
    cell: dict[str, object] = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {"tags": list(tags)},
        "outputs": [],
    }
    path.write_text(json.dumps({"cells": [{**cell, "source": source.splitlines(keepends=True)}]}), encoding="utf-8")
    return path


def run_notebooks(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(ROOT / "tools" / "run_notebooks.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


SHOWS = """\
class Rich:
    def _repr_html_(self):
        return '<b>rich</b><img src="data:image/png;base64,AAAA">'


print("gone")
display(1)
display(Rich(), clear=True)
print("stays")
[2, 3]
"""


def test_a_cell_shows_what_jupyter_would_show(tmp_path: Path) -> None:
    path = notebook_of(tmp_path, SHOWS)
    assert run_notebooks(str(path)).returncode == 0
    (cell,) = json.loads(path.read_text(encoding="utf-8"))["cells"]
    printed, rich, value = cell["outputs"]
    assert printed["text"] == ["stays\n"]
    assert rich["data"]["text/html"] == ['<b>rich</b><img src="data:image/png;base64,AAAA">']
    assert value["data"] == {"text/plain": ["[2, 3]"]}
    assert run_notebooks("--check", str(path)).returncode == 0
    drawn_otherwise = path.read_text(encoding="utf-8").replace("base64,AAAA", "base64,BBBB")
    path.write_text(drawn_otherwise, encoding="utf-8")
    assert run_notebooks("--check", str(path)).returncode == 0


@pytest.mark.parametrize(("tags", "status"), [((), 1), (("varies",), 0)])
def test_a_text_that_is_no_longer_true_is_found(tmp_path: Path, tags: tuple[str, ...], status: int) -> None:
    path = notebook_of(tmp_path, "print(1)\n", tags=tags)
    done = run_notebooks("--check", str(path))
    assert done.returncode == status
    assert ("+1" in done.stdout) == bool(status)
