# SPDX-License-Identifier: Apache-2.0
"""`rashpa bench`: rows of a program become a table and a file with machine facts."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rashpa.cli.bench import bench
from rashpa.data.base.exit_code import ExitCode

runner = CliRunner()
ROWS = [
    {
        "what": "roce 4096 B",
        "value": 30.0,
        "unit": "Gb/s",
        "against": "zmq push/pull",
        "against_value": 6.0,
        "ratio": 5.0,
    },
    {"what": "roce, CRC off", "value": 36.0, "unit": "Gb/s"},
]


def program(folder: Path, text: str, status: int = 0) -> Path:
    path = folder / "rashpa_link_bench"
    path.write_text(
        f"#!/bin/sh\nprintf '%s' \"$*\" > '{folder}/arguments'\ncat <<'E'\n{text}\nE\nexit {status}\n", encoding="utf-8"
    )
    path.chmod(0o755)
    return path


def use(monkeypatch: pytest.MonkeyPatch, path: Path | None) -> None:
    monkeypatch.setattr(bench, "_program", lambda name: path)


def test_the_file_holds_name_machine_and_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, program(tmp_path, json.dumps({"rows": ROWS})))
    result = runner.invoke(
        bench.app, ["link", "--line-bytes", "1024", "--output", str(tmp_path / "out.json"), "--seconds", "1"]
    )
    assert result.exit_code == 0, result.output
    assert (tmp_path / "arguments").read_text() == "--link roce --json --line-bytes 1024 --seconds 1"
    written: dict[str, Any] = json.loads((tmp_path / "out.json").read_text())
    assert written["name"] == "link roce"
    assert written["machine"]["cores"] >= 1
    assert written["rows"][0] == ROWS[0]
    assert written["rows"][1] == {**ROWS[1], "against": None, "against_value": None, "ratio": None}
    assert "zmq push/pull" in result.stdout


def test_a_missing_ratio_is_computed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    row = {"what": "a", "value": 3.0, "unit": "GB/s", "against": "memcpy", "against_value": 4.0}
    use(monkeypatch, program(tmp_path, json.dumps({"rows": [row]})))
    assert runner.invoke(bench.app, ["link", "--output", str(tmp_path / "out.json")]).exit_code == 0
    assert json.loads((tmp_path / "out.json").read_text())["rows"][0]["ratio"] == 0.75


@pytest.mark.parametrize("text", [json.dumps({"rows": ROWS}), "\n".join(json.dumps(row) for row in ROWS)])
def test_rows_are_read_as_one_object_or_one_a_line(text: str) -> None:
    assert bench.parse_rows(text) == ROWS


def test_a_row_without_a_peer_has_no_ratio(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    row = {"what": "lost", "value": 0.0, "unit": "lines", "against": "none", "against_value": 0.0, "ratio": 0.0}
    use(monkeypatch, program(tmp_path, json.dumps(row)))
    assert runner.invoke(bench.app, ["link", "--output", str(tmp_path / "out.json")]).exit_code == 0
    (written,) = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert written == {**row, "against": None, "against_value": None, "ratio": None}


def test_rows_of_a_program_that_failed_are_kept_and_the_status_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use(monkeypatch, program(tmp_path, json.dumps({"rows": ROWS}), status=1))
    result = runner.invoke(bench.app, ["link", "--output", str(tmp_path / "out.json")])
    assert result.exit_code == 1
    assert len(json.loads((tmp_path / "out.json").read_text())["rows"]) == 2


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        ("", 3, "gave no rows and ended with status 3"),
        ("[]", 0, "gave no rows"),
        ("words", 0, "gave no rows"),
        ('{"what": "x"}', 0, "lacks what, value or unit"),
    ],
)
def test_a_program_without_rows_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, status: int, says: str
) -> None:
    use(monkeypatch, program(tmp_path, text, status))
    result = runner.invoke(bench.app, ["link"])
    assert result.exit_code == 2
    assert says in result.stderr
    assert "rashpa_link_bench" in result.stderr


def test_a_link_without_a_benchmark_is_refused() -> None:
    result = runner.invoke(bench.app, ["link", "--link", "verbs"])
    assert result.exit_code == 2
    assert "there is roce, pcie" in result.stderr


def test_a_benchmark_that_is_not_built_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, None)
    result = runner.invoke(bench.app, ["kernel", "jungfrau"])
    assert result.exit_code == 2
    assert "`make build` in a clone" in result.stderr.replace("\n", " ")


def test_the_gpu_is_measured_in_three_parts_of_one_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[str] = []
    path = program(tmp_path, json.dumps({"rows": ROWS}))

    def asks(name: str) -> Path:
        asked.append(name)
        return path

    monkeypatch.setattr(bench, "_program", asks)
    result = runner.invoke(bench.app, ["gpu", "--images", "2000", "--output", str(tmp_path / "out.json")])
    assert result.exit_code == 0, result.output
    assert asked == ["gpu", "cuda_unit", "chain"]
    assert len(json.loads((tmp_path / "out.json").read_text())["rows"]) == 3 * len(ROWS)
    assert "--frames 2000" in (tmp_path / "arguments").read_text()


def test_a_machine_without_a_gpu_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, program(tmp_path, "", 2))
    result = runner.invoke(bench.app, ["gpu"])
    assert result.exit_code == ExitCode.BAD_INPUT
    assert "gave no rows and ended with status 2" in result.output


def test_the_bench_of_the_simulated_sender_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, None)
    result = runner.invoke(bench.app, ["rtl"])
    assert result.exit_code == ExitCode.BAD_INPUT
    assert "rashpa_rtl_bench is not here" in result.output
    assert "Verilator" in result.output


def test_options_of_the_simulated_sender_go_to_its_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, program(tmp_path, json.dumps({"rows": ROWS})))
    assert runner.invoke(bench.app, ["rtl", "--latency", "300", "--line-bytes", "256"]).exit_code == 0
    assert (tmp_path / "arguments").read_text() == "--json --latency 300 --line-bytes 256"


def test_the_list_of_benchmarks_cuts_no_column(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/a/folder/that/is/long/rashpa_link_bench"
    monkeypatch.setattr(bench, "_program", lambda name: Path(path))
    done = CliRunner().invoke(bench.app, ["list"], env={"COLUMNS": "60"})
    assert done.exit_code == 0
    assert "…" not in done.output
    words = " ".join(done.output.split())
    for name, measures in bench._BENCHMARKS.items():
        assert f"{name} {measures}" in words
    assert path in done.output
