# SPDX-License-Identifier: Apache-2.0
import fcntl
from pathlib import Path

from rashpa.control.handover.runs_here import journals_here


def test_journals_that_a_manager_holds_are_found(tmp_path: Path) -> None:
    held, left = tmp_path / "held_attach.json", tmp_path / "left_attach.json"
    left.write_text("{}")
    with held.open("w") as file, left.open():
        assert held not in journals_here()
        fcntl.flock(file, fcntl.LOCK_EX)
        found = journals_here()
        assert held in found
        assert left not in found
        held.unlink()
        assert held not in journals_here()
