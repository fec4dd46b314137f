# SPDX-License-Identifier: Apache-2.0
"""Tests random systems: an accepted plan runs without overrun, and a refused plan overruns when it is forced. RASHPA_SYSTEMS=50 tries 50 systems;
`bench/plans_hold.py` is stricter and reports each result."""

import os
from pathlib import Path

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.testing.random_systems import try_out

SYSTEMS = int(os.environ.get("RASHPA_SYSTEMS", "3"))


@pytest.mark.parametrize("seed", range(SYSTEMS))
def test_what_is_accepted_runs_without_overrun_and_what_is_refused_overruns_when_forced(
    tmp_path: Path, seed: int
) -> None:
    trial = try_out(seed, tmp_path, part=0.6, times=3.0)
    assert trial.lost[-1] == 0, trial
    assert trial.overrun > 0, trial
