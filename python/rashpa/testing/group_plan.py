# SPDX-License-Identifier: Apache-2.0
"""Makes the plan of a run whose images are dealt among two receivers."""

from pathlib import Path

from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.testing.run_file import run_file

RUN = run_file(
    run={"name": "dealt"},
    detector={"width": 8, "height": 4},
    receiver=[{"name": "a", "port": 0}, {"name": "b", "port": 0}],
    group=[{"name": "farm", "receivers": ["a", "b"]}],
    buffer={"group": "farm", "every": 2, "phase": 1, "slots": 4, "stack": 2},
)


def plan_of(folder: Path, text: str = RUN) -> Plan:
    """Write the run file `text` into `folder` and return its plan."""
    file = folder / "dealt.toml"
    file.write_text(text)
    return load_plan(file)
