# SPDX-License-Identifier: Apache-2.0
"""What is made of schema/card_registers.rdl is up to date."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_package_header_and_page_are_up_to_date() -> None:
    """Wherever the compiler is."""
    pytest.importorskip("systemrdl")
    made = subprocess.run(
        [sys.executable, ROOT / "tools" / "make_card_registers.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
