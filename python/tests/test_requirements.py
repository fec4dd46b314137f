# SPDX-License-Identifier: Apache-2.0
"""Layers of requirements and packages: the purpose of each, and their agreement."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("run", "test", "lint", "docs", "beamline", "rtl")


def _wanted(layer: str) -> set[str]:
    text = (ROOT / "requirements" / f"{layer}.in").read_text()
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return {re.split(r"[=<>\[; ]", line)[0].lower() for line in lines if line and not line.startswith("-c")}


def _locked(layer: str) -> dict[str, str]:
    text = (ROOT / "requirements" / f"{layer}.lock").read_text()
    return {name.lower(): version for name, version in re.findall(r"^([A-Za-z0-9_.-]+)==([^ ]+)", text, re.MULTILINE)}


def _project() -> dict[str, list[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return {"run": project["project"]["dependencies"], "build": project["build-system"]["requires"]}


def test_the_run_layer_is_what_the_package_asks_for_and_what_builds_it() -> None:
    names = {re.split(r"[=<>\[; ]", one)[0].lower() for part in _project().values() for one in part}
    assert _wanted("run") == names


@pytest.mark.parametrize("layer", LAYERS)
def test_a_lock_has_all_that_its_layer_wants(layer: str) -> None:
    locked = {name.replace("_", "-") for name in _locked(layer)}
    assert {name.replace("_", "-") for name in _wanted(layer)} <= locked


def test_layers_that_share_an_environment_agree_on_versions() -> None:
    seen: dict[str, str] = {}
    for layer in ("run", "test", "lint", "beamline"):
        for name, version in _locked(layer).items():
            assert seen.setdefault(name, version) == version, f"{layer}: {name}"


def test_a_run_needs_no_tools_of_tests() -> None:
    others = set().union(*(_wanted(layer) for layer in LAYERS if layer != "run"))
    assert not others & set(_locked("run"))


def test_system_packages_stand_in_one_layer_each() -> None:
    names = [
        line.split()[0]
        for layer in ("run", "test", "lint")
        for line in (ROOT / f"packages-{layer}.txt").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    assert len(names) == len(set(names))
