# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import numpy as np

from rashpa.control.books.accounting import COMPLETE, MISSING, OPEN, PARTIAL, account_run, image_fates
from rashpa.control.plan.run_plan import load_plan


def _bytes(*states: int) -> bytes:
    return bytes(states)


def test_an_image_is_complete_or_missing_only_when_all_its_dtps_are() -> None:
    first = np.array([COMPLETE, COMPLETE, MISSING, PARTIAL, OPEN, OPEN], np.uint8)
    second = np.array([COMPLETE, MISSING, MISSING, COMPLETE, MISSING, COMPLETE], np.uint8)
    assert image_fates([first, second]).tolist() == [COMPLETE, PARTIAL, MISSING, PARTIAL, MISSING, PARTIAL]


def test_the_first_image_that_differs_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(
        '[run]\nname = "r"\nframes = 9\n[detector]\nwidth = 8\nheight = 4\n[dataset]\nkind = "pattern"\nwidth = 8\nheight = 4\n'
        '[[buffer]]\nname = "b"\nsink = [{ kind = "null" }]\nbands = 2\nevery = 3\nphase = 1\n'
    )
    plan = load_plan(path)
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
