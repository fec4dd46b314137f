# SPDX-License-Identifier: Apache-2.0
"""The tables of stored results agree with the files, and every file has its conditions."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "bench_tables.py"
RESULTS = ROOT / "bench" / "results"

spec = importlib.util.spec_from_file_location("bench_tables", TOOL)
assert spec is not None and spec.loader is not None
bench_tables = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench_tables)


def test_the_tables_are_those_of_the_results() -> None:
    done = subprocess.run([sys.executable, str(TOOL), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_bar_is_judged_by_the_ratio_where_there_is_a_peer() -> None:
    row = {"file": "link_roce.json", "what": "roce, 4096 B lines", "peer": "udp sockets", "say": "lines"}
    assert "| ≥ 4 × | **missed** |" in bench_tables.line(row | {"bar": ">= 4"})
    assert "| ≤ 4 × | met |" in bench_tables.line(row | {"bar": "<= 4"})
    assert "| ≥ 4 | met |" in bench_tables.line(row | {"bar": ">= 4", "of": "value"})
    assert bench_tables.line(row).count("–") == 2


def test_a_row_that_no_file_has_is_named() -> None:
    with pytest.raises(LookupError, match="carrier pigeons"):
        bench_tables.line(
            {"file": "link_roce.json", "what": "roce, 4096 B lines", "peer": "carrier pigeons", "say": ""}
        )
    with pytest.raises(LookupError, match="line_bytes"):
        bench_tables.line(
            {"file": "rtl_rate.json", "find": {"line_bytes": 3}, "value": "wire_busy", "unit": "", "say": ""}
        )


def test_every_file_has_its_conditions() -> None:
    said = (RESULTS / "conditions.md").read_text(encoding="utf-8")
    assert [path.name for path in sorted(RESULTS.glob("*.json")) if path.name not in said] == []
