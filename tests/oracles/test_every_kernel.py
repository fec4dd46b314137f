# SPDX-License-Identifier: Apache-2.0
"""Checks that every kernel has an oracle, and that no oracle shares code with the program."""

import ast
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
from rashpa.data.kernels.pipeline import kernel_declarations

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs" / "explanations" / "oracles.md"
FOREIGN = ("numpy",)


def oracles() -> list[Path]:
    """Return the oracle modules, which are beside the tests, without the modules that run kernels."""
    return [file for file in sorted(HERE.glob("*.py")) if not file.name.startswith("test_") and file.stem != "units"]


def judged() -> dict[str, Path]:
    """Return the test that compares each kernel, as the tests declare it."""
    found: dict[str, Path] = {}
    for file in sorted(HERE.glob("test_*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "ORACLES_OF":
                found |= dict.fromkeys(ast.literal_eval(node.value), file)
    return found


def imported(file: Path) -> set[str]:
    """Return the names of the packages that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {one.name.partition(".")[0] for one in node.names}
        if isinstance(node, ast.ImportFrom):
            found.add((node.module or ".").partition(".")[0])
    return found


@pytest.mark.parametrize("name", list(kernel_declarations()))
def test_every_kernel_is_judged(name: str) -> None:
    assert name in judged(), f"{name}: no test in tests/oracles has it in ORACLES_OF; write its oracle"
    text = judged()[name].read_text(encoding="utf-8")
    assert f'"{name}"' in re.sub(r"ORACLES_OF = .*", "", text), f"{name}: {judged()[name].name} never runs it"


@pytest.mark.parametrize("file", oracles(), ids=lambda file: file.stem)
def test_an_oracle_imports_nothing_of_the_product(file: Path) -> None:
    assert imported(file) <= {*sys.stdlib_module_names, *FOREIGN}


def test_the_table_of_oracles_names_every_kernel() -> None:
    rows = re.findall(r"(?m)^\| `(\w+)` \|", DOCS.read_text(encoding="utf-8"))
    assert sorted(rows) == sorted([*kernel_declarations(), "bitshuffle_lz4"])
