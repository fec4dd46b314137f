# SPDX-License-Identifier: Apache-2.0
"""The defects that the simulator must find can be put back into the present program."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEFECTS = sorted((ROOT / "tests" / "simulation" / "mutants").rglob("*.patch"))


def test_each_defect_has_one_name() -> None:
    names = [patch.stem for patch in DEFECTS]
    assert len(names) == len(set(names)) >= 30


@pytest.mark.parametrize("patch", DEFECTS, ids=lambda patch: patch.stem)
def test_a_defect_applies_to_the_program(patch: Path) -> None:
    assert "\n-" in patch.read_text().partition("@@")[2], "it has its place by a line that it takes away"
    done = subprocess.run(
        ["git", "apply", "-C0", "--check", patch], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stderr}make the patch anew"
