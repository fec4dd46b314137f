# SPDX-License-Identifier: Apache-2.0
"""Figures in texts agree with the stored results."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "docs_figures.py"


def check(*files: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(TOOL), "--check", *map(str, files)], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_every_figure_in_the_texts_is_that_of_the_results() -> None:
    assert check() == (0, "")
    assert "<!--= gpu.json;" in (ROOT / "docs" / "explanations" / "gpu.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("figure", "says"),
    [
        ("<!--= gpu.json; graph launch to visible effect, p50; .1f -->9.9<!--/-->", "figures differ"),
        ("<!--= gpu.json; no such row; .1f -->9.9<!--/-->", "has no 'no such row'"),
    ],
)
def test_one_that_differs_is_found(tmp_path: Path, figure: str, says: str) -> None:
    text = tmp_path / "text.md"
    text.write_text(f"It takes {figure} µs.\n")
    code, said = check(text)
    assert code == 1
    assert says in said


def test_figures_are_written_where_they_differ() -> None:
    spec = importlib.util.spec_from_file_location("docs_figures", TOOL)
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    row = "graph: JUNGFRAU 4M, stack 10, convert + count, 100000 images, 10000 kept"
    value, ratio = tool.rows("gpu_unit.json")[row]
    text = f"<!--= gpu_unit.json; {row}; .1f -->?<!--/--> GB/s, <!--= gpu_unit.json; {row}; %.0f -->?<!--/--> %"
    assert f"-->{value:.1f}<!--/--> GB/s" in tool.with_figures(text)
    assert f"-->{100 * ratio:.0f}<!--/--> %" in tool.with_figures(text)
