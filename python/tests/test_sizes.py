# SPDX-License-Identifier: Apache-2.0
"""The check of sizes finds files, functions and interfaces that are too large."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "check_sizes.py"


def complaints(root: Path) -> list[str]:
    """Return the findings of the check on a tree."""
    done = subprocess.run([sys.executable, TOOL, root], capture_output=True, text=True, check=False)
    assert done.returncode == (1 if done.stdout else 0), done.stderr
    return done.stdout.splitlines()


def function(lines: int) -> str:
    """Return a function of `lines` lines, of which two are its declaration and one its docstring."""
    return 'def f(\n    a: int) -> None:\n    """Do nothing."""\n' + "    a = 1\n" * (lines - 3)


def interface(virtuals: int) -> str:
    declared = "".join(f"  virtual void f{number}() = 0;\n" for number in range(virtuals))
    return (
        f"class Small {{\n  virtual ~Small() = default;\n  virtual void f() = 0;\n}};\nclass Large {{\n{declared}}};\n"
    )


def test_the_project_is_read_piece_by_piece() -> None:
    done = subprocess.run([sys.executable, TOOL, ROOT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("python/rashpa/a.py", function(60), []),
        ("python/rashpa/a.py", function(61), ["python/rashpa/a.py: f() has 61 lines, more than 60; split it by sense"]),
        ("tools/a.py", function(61), ["tools/a.py: f() has 61 lines, more than 60; split it by sense"]),
        ("python/tests/test_a.py", function(61), []),
        ("tests/a.cpp", "\n" * 500, []),
        ("tests/a.cpp", "\n" * 501, ["tests/a.cpp: has 501 lines, more than 500; give a part of it a file"]),
        ("docs/a.md", "\n" * 501, []),
        ("src/rashpa/a.hpp", interface(8), []),
        (
            "src/rashpa/a.hpp",
            interface(9),
            ["src/rashpa/a.hpp: Large has 9 virtual functions, more than 8; give an ability a base of its own"],
        ),
    ],
)
def test_what_is_too_large_is_found(tmp_path: Path, name: str, text: str, found: list[str]) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    file = tmp_path / name
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert complaints(tmp_path) == found
