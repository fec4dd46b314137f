# SPDX-License-Identifier: Apache-2.0
"""The check of clocks finds files that read the system's clock in place of the product's, and list entries that are no longer needed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "check_clock.py"


def complaints(root: Path) -> list[str]:
    """Return the findings of the check on a tree."""
    done = subprocess.run([sys.executable, TOOL, root], capture_output=True, text=True, check=False)
    assert done.returncode == (1 if done.stdout else 0), done.stderr
    return [line for line in done.stdout.splitlines() if not line.startswith("tools/check_clock.py:")]


def test_the_project_asks_for_time_and_chance_in_one_place() -> None:
    done = subprocess.run([sys.executable, TOOL, ROOT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("link/a.cpp", "auto t = std::chrono::steady_clock::now();\n", True),
        ("link/a.cpp", "auto t = now_ns();  // as steady_clock\n", False),
        ("link/a.cpp", "std::random_device random;\n", True),
        ("link/a.hpp", "return __rdtsc();\n", True),
        ("link/a_test.cpp", "auto t = std::chrono::steady_clock::now();\n", False),
        ("link/testing/a.hpp", "auto t = std::chrono::steady_clock::now();\n", False),
    ],
)
def test_a_file_that_asks_otherwise_is_found(tmp_path: Path, name: str, text: str, found: bool) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    file = tmp_path / "src" / "rashpa" / name
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert bool(complaints(tmp_path)) == found


def test_a_line_of_the_lists_that_nobody_needs_is_found(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    done = subprocess.run([sys.executable, TOOL, tmp_path], capture_output=True, text=True, check=False)
    assert "core/log.cpp needs no line any more" in done.stdout
