# SPDX-License-Identifier: Apache-2.0
"""Tests for seconds the program that watches long runs: constant values pass, and growth is found."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SOAK = Path(__file__).parents[2] / "bench" / "soak.py"


def loaded() -> Any:
    spec = importlib.util.spec_from_file_location("soak", SOAK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["soak"] = module
    spec.loader.exec_module(module)
    return module


def test_ten_seconds_at_a_steady_rate_are_flat(tmp_path: Path) -> None:
    said = tmp_path / "soak.json"
    command = [sys.executable, str(SOAK), "--minutes", "0.17", "--rate-hz", "200", "--json", str(said)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(said.read_text())
    assert {row["what"] for row in result["rows"]} == {"run", "receiver", "emulator", "python"}
    assert {row["unit"] for row in result["rows"]} == {"MiB grown"}
    assert (result["name"], result["wrong"]) == ("soak", [])
    assert result["books"]["balanced"]
    assert result["books"]["missing"] == 0


@pytest.mark.parametrize(
    ("rss", "descriptors", "threads", "text"),
    [(2**20, 0, 0, "memory"), (0, 1, 0, "descriptors"), (0, 0, 1, "threads"), (0, 0, 0, "")],
)
def test_what_grows_by_the_second_is_found(rss: int, descriptors: int, threads: int, text: str) -> None:
    soak = loaded()
    samples = [soak.Sample(float(n), 10**8 + n * rss, 10 + n * descriptors, 5 + n * threads) for n in range(120)]
    _, wrong = soak.judge(samples, 1000.0, 8, 8 << 20)
    assert [line.split()[0] for line in wrong] == ([text] if text else [])
