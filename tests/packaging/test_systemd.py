# SPDX-License-Identifier: Apache-2.0
"""Checks the unit of long-lived nodes with systemd itself."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

UNIT = Path(__file__).parents[2] / "packaging" / "systemd" / "rashpa-node@.service"
MOST_EXPOSURE = 4.0  # of 10: `systemd-analyze security` calls that OK; a service without any of it has 9.6

pytestmark = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")


def analyze(folder: Path, *words: str) -> str:
    """Return the output of systemd-analyze for the unit, with an existing program in it."""
    text = UNIT.read_text().replace("/opt/rashpa/bin/rashpa", "/bin/true")
    for role in ("receiver", "emulator"):
        (folder / f"rashpa-node@{role}.service").write_text(text)
    done = subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, check=False, timeout=60)
    return f"{done.returncode} {done.stdout}{done.stderr}"


@pytest.mark.parametrize("role", ["receiver", "emulator"])
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path, role: str) -> None:
    said = analyze(tmp_path, "verify", "--man=no", str(tmp_path / f"rashpa-node@{role}.service"))
    ours = [line for line in said.splitlines() if "rashpa-node@" in line]
    assert said.startswith("0"), said
    assert ours == [], said


def test_the_unit_is_hardened(tmp_path: Path) -> None:
    analyze(tmp_path)
    said = analyze(tmp_path, "security", "--offline=true", "--no-pager", str(tmp_path / "rashpa-node@receiver.service"))
    found = re.search(r"Overall exposure level for .*: ([0-9.]+)", said)
    if found is None:
        pytest.skip(f"this systemd-analyze does not judge files: {said[:200]}")
    assert float(found[1]) <= MOST_EXPOSURE, said
