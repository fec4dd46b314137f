# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import numpy as np

from rashpa.control.books.accounting import COMPLETE, MISSING, OPEN, PARTIAL, account_received, account_run, image_fates
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan


def _bytes(*states: int) -> bytes:
    return bytes(states)


def plan_of(tmp_path: Path, frames: int) -> Plan:
    """Return the plan of a buffer with two DTPs that takes every third frame."""
    path = tmp_path / "r.toml"
    path.write_text(
        f'[run]\nname = "r"\nframes = {frames}\n[detector]\nwidth = 8\nheight = 4\n[dataset]\nkind = "pattern"\nwidth = 8\nheight = 4\n'
        '[[buffer]]\nname = "b"\nsink = [{ kind = "null" }]\nbands = 2\nevery = 3\nphase = 1\n'
    )
    return load_plan(path)


def test_an_image_is_complete_or_missing_only_when_all_its_dtps_are() -> None:
    first = np.array([COMPLETE, COMPLETE, MISSING, PARTIAL, OPEN, OPEN], np.uint8)
    second = np.array([COMPLETE, MISSING, MISSING, COMPLETE, MISSING, COMPLETE], np.uint8)
    assert image_fates([first, second]).tolist() == [COMPLETE, PARTIAL, MISSING, PARTIAL, MISSING, PARTIAL]


def test_a_dtp_that_sent_less_than_others_lacks_the_rest() -> None:
    longer, shorter = np.array([COMPLETE, MISSING, COMPLETE], np.uint8), np.array([COMPLETE], np.uint8)
    assert image_fates([longer, shorter]).tolist() == [COMPLETE, MISSING, PARTIAL]


def test_the_first_image_that_differs_is_named(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 9)
    fates = {0: _bytes(COMPLETE, COMPLETE, MISSING), 1: _bytes(COMPLETE, PARTIAL, MISSING)}
    (good,) = account_run(plan, fates, {"b": _bytes(COMPLETE, PARTIAL, MISSING)})
    assert (good.expected_complete, good.expected_partial, good.expected_missing, good.unexplained) == (1, 1, 1, 0)
    (bad,) = account_run(plan, fates, {"b": _bytes(COMPLETE, COMPLETE, OPEN)})
    assert bad.unexplained == 2
    assert (
        bad.first_unexplained
        == "buffer b image 1 (frame 4): the emulator's log says partial, the receiver found complete"
    )
    (short,) = account_run(plan, fates, {"b": _bytes(COMPLETE)})
    assert short.unexplained == 3
    assert (short.expected_complete, short.expected_partial, short.expected_missing) == (0, 0, 0)
    assert short.first_unexplained == "buffer b: the log has 3 images, the receiver 1"


def test_each_fate_is_counted_for_itself(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 18)
    found = _bytes(COMPLETE, PARTIAL, MISSING, COMPLETE, MISSING, COMPLETE)
    for accounts in (account_run(plan, {0: found, 1: found}, {"b": found}), account_received(plan, {"b": found})):
        (one,) = accounts
        assert (one.name, one.expected_complete, one.expected_partial, one.expected_missing) == ("b", 3, 1, 2)
        assert (one.unexplained, one.first_unexplained) == (0, "")
