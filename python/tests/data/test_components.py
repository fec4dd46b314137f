# SPDX-License-Identifier: Apache-2.0
"""The text on the components of a build."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rashpa import _native
from rashpa.data.base import components

ROOT = Path(__file__).resolve().parents[3]


def test_the_list_is_that_of_cmake() -> None:
    text = (ROOT / "cmake" / "components.cmake").read_text()
    declared = re.findall(r'^rashpa_component\((\w+) ADDS "([^"]*)" NEEDS "([^"]*)"(?: ASKED)?\)$', text, re.MULTILINE)
    assert declared
    assert [(one.name, one.adds, one.needs) for one in components.components()] == declared


def test_a_build_with_tests_has_all_but_cuda_at_least() -> None:
    assert {one.name for one in components.components() if not one.built} <= {"cuda"}


def test_units_say_the_same() -> None:
    built = {one.name: one.built for one in components.components()}
    for unit, component in (("cuda", "cuda"), ("opencl", "opencl"), ("fpga", "card")):
        words = {name: text for name, _, text in _native.available_units()}[unit]
        assert ("this build leaves out" in words) == (not built[component]), unit


def test_one_line_says_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("cuda", False, "unit cuda", "nvcc"), ("opencl", True, "unit opencl", ""), ("card", False, "unit fpga", "")]
    monkeypatch.setattr(_native, "components", lambda: rows)
    assert components.sentence() == (
        "This build leaves out cuda (unit cuda), card (unit fpga); `make build` has all that this machine can build."
    )
    monkeypatch.setattr(_native, "components", lambda: rows[1:2])
    assert components.sentence() == "This build has all components."


def test_it_can_be_asked_from_a_makefile() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rashpa.data.base.components"], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == components.sentence() + "\n"
