# SPDX-License-Identifier: Apache-2.0
"""A test imports each Python module by its name, except for the modules of a list that only becomes shorter."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "check_tested.py"


def run(*words: str | Path) -> tuple[int, str]:
    done = subprocess.run([sys.executable, TOOL, *words], capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.returncode, done.stdout


def test_no_module_loses_its_test() -> None:
    status, output = run()
    assert status == 0, output


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make a tree with modules that are tested in every way, and one module of the list."""
    source, tests = tmp_path / "python" / "rashpa" / "data", tmp_path / "python" / "tests"
    source.mkdir(parents=True)
    tests.mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tools").mkdir()
    for name in ("one", "two", "three", "four", "old", "__init__"):
        (source / f"{name}.py").write_text("")
    (tests / "test_a.py").write_text("import rashpa.data.one\nfrom rashpa.data.two import f\n")
    (tmp_path / "tests" / "test_b.py").write_text('from rashpa.data import three\nrun("-m", "rashpa.data.four")\n')
    (tmp_path / "tools" / "untested_modules.txt").write_text("rashpa.data.old\n")
    return tmp_path


def test_a_module_is_tested_however_its_test_names_it(tree: Path) -> None:
    assert run("--root", tree) == (0, "1 of 5 modules are imported by no test (at most 1)\n")
    assert run("--root", tree, "--list")[1].splitlines()[0] == "    0  rashpa.data.old"


def test_a_new_module_without_a_test_is_named(tree: Path) -> None:
    (tree / "python" / "rashpa" / "data" / "new.py").write_text("")
    status, output = run("--root", tree, "--update")
    assert status == 1
    assert "rashpa.data.new: no test imports it; test it in python/tests, at its mirrored path" in output


def test_the_list_only_becomes_shorter(tree: Path) -> None:
    (tree / "tests" / "test_c.py").write_text("import rashpa.data.old\n")
    status, output = run("--root", tree)
    assert status == 0
    assert "rashpa.data.old: a test imports it, or it is gone; run tools/check_tested.py --update" in output
    assert run("--root", tree, "--update")[0] == 0
    assert (tree / "tools" / "untested_modules.txt").read_text() == ""
