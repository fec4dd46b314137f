# SPDX-License-Identifier: Apache-2.0
"""Random systems: what the planner accepts runs without overrun, and what it refuses overruns when it is forced. RASHPA_SYSTEMS=50 tries so many;
`bench/plans_hold.py` is stricter and says what came of each."""

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
