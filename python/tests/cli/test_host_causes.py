# SPDX-License-Identifier: Apache-2.0
"""A run that lost lines without an ordered fault names poor facts of this machine, and nothing otherwise."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from rashpa.cli.run.host_causes import host_causes
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.telegrams.telegram import Books
from rashpa.node.doctor import checkup
from rashpa.node.doctor.finding import Host

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "01_first_light.toml"


@dataclass
class Ended:
    """Holds the part of an outcome that host_causes reads."""

    plan: Any
    books: Books
    interrupted: str = field(default="")


def ended(partial: int = 0, missing: int = 0, drop: float = 0.0, node: str = "local") -> Any:
    plan = load_plan(EXAMPLE)
    file = plan.file.model_copy(update={"faults": plan.file.faults.model_copy(update={"drop": drop})})
    receivers = tuple(_moved(one, node) for one in plan.receivers)

    return Ended(replace(plan, file=file, receivers=receivers), Books(**_books(partial, missing)))


def _moved(receiver: Any, node: str) -> Any:

    return replace(receiver, node=node)


def _books(partial: int, missing: int) -> dict[str, int]:
    zeros = dict.fromkeys(("complete", "accepted", "vetoed", "errored", "written"), 0)
    return {"expected": 9, "partial": partial, "missing": missing, **zeros}


@pytest.fixture(autouse=True)
def _poor_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sys/net/core").mkdir(parents=True)
    (tmp_path / "sys/net/core/rmem_max").write_text("4096")
    (tmp_path / "sys/net/core/netdev_max_backlog").write_text("10")
    monkeypatch.setattr(checkup, "Host", lambda: Host(tmp_path, tmp_path / "none"))
    monkeypatch.setattr("os.geteuid", lambda: 1000)


@pytest.mark.parametrize("lost", [{"partial": 1}, {"missing": 1}])
def test_the_two_likeliest_causes_come_with_their_commands(lost: dict[str, Any]) -> None:
    first, second = host_causes(ended(**lost))
    assert "4,096 bytes" in first
    assert "sysctl -w net.core.rmem_max=" in first
    assert "sysctl -w net.core.netdev_max_backlog=" in second


@pytest.mark.parametrize("case", [{}, {"partial": 1, "drop": 0.1}, {"missing": 1, "node": "https://elsewhere:4781"}])
def test_nothing_is_said_where_nothing_was_lost_here(case: dict[str, Any]) -> None:
    assert host_causes(ended(**case)) == ()
