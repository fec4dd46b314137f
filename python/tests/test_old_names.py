# SPDX-License-Identifier: Apache-2.0
"""Modules are found by their former names."""

import importlib
import sys

import pytest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rashpa.data.reader", "rashpa.data.stored.reader"),
        ("rashpa.data.crystfel_geometry", "rashpa.data.geometry.crystfel_geometry"),
        ("rashpa.control.run_plan", "rashpa.control.plan.run_plan"),
        ("rashpa.node.folders", "rashpa.node.engine.folders"),
        ("rashpa.cli.told", "rashpa.cli.teller"),
        ("rashpa.control.handover.holder", "rashpa.control.handover.run_owner"),
        ("rashpa.control.holder", "rashpa.control.handover.run_owner"),
        ("rashpa.control.nodes.at_once", "rashpa.control.nodes.gather_limited"),
        ("rashpa.control.at_once", "rashpa.control.nodes.gather_limited"),
        ("rashpa.control.nodes.meanwhile", "rashpa.control.nodes.poll_while"),
        ("rashpa.control.run.carry_out", "rashpa.control.run.run_to_end"),
        ("rashpa.data.figures.seen", "rashpa.data.figures.image_view"),
        ("rashpa.data.seen", "rashpa.data.figures.image_view"),
    ],
)
def test_an_old_name_is_the_same_module_and_says_the_new_one(old: str, new: str) -> None:
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"this module is {new} now"):
        module = importlib.import_module(old)
    assert module is importlib.import_module(new)
    assert module.__spec__ is not None and module.__spec__.name == new


@pytest.mark.parametrize(
    "name", ["rashpa.data.no_such_module", "rashpa.no_such_package.reader", "rashpa.data.stored.x"]
)
def test_a_name_that_never_was_is_not_found(name: str) -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(name)
