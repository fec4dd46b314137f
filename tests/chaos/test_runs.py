# SPDX-License-Identifier: Apache-2.0
"""Runs twenty plans for CI: every kind of disturbance, each with a fixed plan. `make test-chaos` runs any number of others."""

from pathlib import Path

import pytest
from tests.chaos.draw import KINDS, draw
from tests.chaos.plan import Kind
from tests.chaos.run import run_plan

SEED = 9
# By their places in KINDS; a pause by a number that stands still for one second and not for five, pairs by a short one of a group.
NUMBERS: dict[Kind, int] = {**{kind: place for place, kind in enumerate(KINDS)}, "pause": 46, "pairs": 48}
MORE: list[tuple[int, Kind]] = [(20, "kill"), (21, "terminate"), (25, "members")]
PLANS = [*((number, kind) for kind, number in NUMBERS.items()), *MORE]


@pytest.mark.chaos
@pytest.mark.parametrize(("number", "kind"), PLANS, ids=[f"{kind}-{number}" for number, kind in PLANS])
def test_a_run_that_is_disturbed_stores_no_wrong_pixel_and_tells_the_truth(
    tmp_path: Path, number: int, kind: Kind
) -> None:
    plan = draw(SEED, number, kind)
    verdict = run_plan(plan, tmp_path / "run")
    if verdict.skipped:
        pytest.skip(verdict.skipped)
    for log in sorted((tmp_path / "run").glob("run*.log")):  # pytest shows it where the run failed
        print(log.name, log.read_text(encoding="utf-8", errors="replace"), sep="\n")
    assert not verdict.problems, f"{plan.describe()}\n" + "\n".join(verdict.problems)


def test_the_same_seed_and_number_give_the_same_plan() -> None:
    assert [draw(3, number) for number in range(40)] == [draw(3, number) for number in range(40)]
    assert draw(3, 1) != draw(4, 1)


def test_plans_cover_every_link_transport_kernel_and_disturbance() -> None:
    plans = [draw(1, number) for number in range(300)]
    assert {plan.disturbance.kind for plan in plans} == set(KINDS)
    assert {plan.link for plan in plans} == {"roce", "pcie"}
    assert {plan.transport for plan in plans} == {"uc", "rc", "ud"}
    assert {plan.nodes for plan in plans} == {"local", "url", "mixed"}
    assert {buffer.kernel for plan in plans for buffer in plan.buffers} == {"raw", "photons", "kev", "veto", "csr"}
    assert any(plan.faults.dead for plan in plans)
    assert any(buffer.by_hand for plan in plans for buffer in plan.buffers)
