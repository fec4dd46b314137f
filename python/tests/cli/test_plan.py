# SPDX-License-Identifier: Apache-2.0
import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from rashpa.cli.main import app
from rashpa.control.capacity.throughput import fingerprint_of, words_of
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.telegrams.telegram import Throughput
from rashpa.testing.run_file import run_file

pytestmark = pytest.mark.whole

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture(autouse=True)
def _nothing_is_loaded(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Skip the loading that nodes would do; test_check_and_run.py tests it, and this file tests it for the examples."""
    if "example" not in request.fixturenames:
        monkeypatch.setattr("rashpa.cli.plan.plan.problems_of_nodes", lambda _: ())


def test_the_plan_of_an_example_names_steps_passes_units_and_memory() -> None:
    done = CliRunner().invoke(app, ["plan", str(EXAMPLES / "01_first_light.toml")])
    assert done.exit_code == 0, done.output
    for text in (
        "1. jungfrau: uint16 → int16 pixels, masked_pixels and saturated_pixels",
        "counts for bragg_count",
        "no pass: jungfrau counts on its way",
        "* unit cpu: jungfrau, bragg_count (counted on the way)",
        "  unit cuda: jungfrau, bragg_count (counted on the way)",
        "columns: masked_pixels, saturated_pixels, bright_pixels",
        "vetoes: too_few, too_many, dark, partial",
        "memory: images",
        "reads the marks of jungfrau",
    ):
        assert text in done.output, done.output


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.glob("*.toml")))
def test_every_example_has_a_plan(example: str) -> None:
    if "recorded" in example and not (EXAMPLES / "../../shared/data/jungfrau_m049").is_dir():
        pytest.skip("the recorded frames of ../shared/data are not here")
    done = CliRunner().invoke(app, ["plan", str(EXAMPLES / example)])
    assert done.exit_code == 0, done.output


def test_nothing_is_written_and_a_bad_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text("[run]\n")
    done = CliRunner().invoke(app, ["plan", str(path)])
    assert done.exit_code == 2
    assert [each.name for each in tmp_path.iterdir()] == ["run.toml"]


def plan(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["plan", *arguments], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done.output


def test_tables_name_nodes_dtps_rates_memory_and_what_is_not_known() -> None:
    text = plan(str(EXAMPLES / "06_two_receivers.toml"))
    for row in (
        r"storage +receiver +this machine +roce +127\.0\.0\.1 +full",
        r"emulator +emulator +this machine +roce +127\.0\.0\.1 +modules 0, 1",
        # 512 lines of 2048 bytes, contiguous at both ends: two a packet, and the event
        r"1 +1 +\[0, 0, 1024, 512\] +all +full \[0, 548\] +1,048,576 +0\.839 +0\.859 +25,700 +emulator +storage",
        r"3 +1 +\[384, 0, 256, 64\] +1 in 10 from 0 +centre \[0, 100\] +32,768 .* +650 +emulator +monitor",
        r"unit cpu of receiver storage, buffer full: a stack +– +100\.00 ms +–",
        r"not known: receiver storage, receiver monitor, emulator: .* --nodes",
    ):
        assert re.search(row, text), (row, text)


def test_programs_get_the_same_as_json() -> None:
    found = json.loads(plan(str(EXAMPLES / "06_two_receivers.toml"), "--json"))
    assert [node["name"] for node in found["nodes"]] == ["storage", "monitor", "emulator"]
    assert sum(dtp["bytes_per_s"] for dtp in found["dtps"]) == pytest.approx(100 * 2 * 1048576 + 10 * 4 * 32768)
    assert found["buffers"][0]["memory"]["images"] == 40 * 1024 * 1060 * 2
    assert all(limit["has"] is None for limit in found["limits"] if limit["kind"] == "link")
    assert found["proposals"] == []


def test_the_picture_has_every_module_and_buffer_and_colours_for_a_dark_ground(tmp_path: Path) -> None:
    path = tmp_path / "plan.svg"
    plan(str(EXAMPLES / "06_two_receivers.toml"), "--output", str(path))
    text = path.read_text(encoding="utf-8")
    root = ET.fromstring(text)
    assert root.tag.endswith("svg")
    for said in ("module 0", "module 1", "receiver storage", "full", "centre", "raw", "1.68 Gb/s"):
        assert f"<!-- {said} -->" in text, said
    assert "prefers-color-scheme: dark" in text
    assert text.count("fill: #1b1f24") > 5, "the colours that are replaced are those that are drawn with"
    plan(str(EXAMPLES / "06_two_receivers.toml"), "--output", str(tmp_path / "again.svg"))
    assert (tmp_path / "again.svg").read_text(encoding="utf-8") == text


def test_a_picture_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        app, ["plan", str(EXAMPLES / "01_first_light.toml"), "--output", str(tmp_path / "no" / "p.svg")]
    )
    assert done.exit_code == 1
    assert "cannot be written: No such file or directory" in done.output


SLOW = run_file(
    run={"name": "slow", "frames": 8},
    detector={"rate_hz": 200.0},
    buffer={"name": "all", "slots": 8, "stack": 4, "kernel": [{"name": "total_counts"}]},
)


def test_nodes_that_are_asked_say_what_fits_and_force_tries_what_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    from rashpa.node.offline.measured_file import default_path, store_measured

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = tmp_path / "slow.toml"
    path.write_text(SLOW)
    section = load_plan(path).buffers[0].section
    measured = Throughput(
        pipeline=fingerprint_of(section, "uint16"),
        what=words_of(section),
        width=64,
        height=32,
        images_per_s=50.0,
        date="2026-11-23",
    )
    store_measured(default_path(), [measured])
    done = CliRunner().invoke(app, ["plan", str(path), "--nodes"])
    assert done.exit_code == 2, done.output
    assert re.search(r"buffer all: a stack +80\.00 ms +20\.00 ms +400 %", done.output), done.output
    text = "buffer[0].every = 4 (all); or buffer[0].region = [0, 12, 64, 8] (all); or detector.rate_hz = 50"
    assert f"what fits: {text}\n" in done.output, done.output
    assert CliRunner().invoke(app, ["run", str(path), "-q"]).exit_code == 2
    report = tmp_path / "report"
    forced = CliRunner().invoke(app, ["run", str(path), "-q", "--force", "--output", str(report)])
    assert forced.exit_code == 0, forced.output
    (caution, fits) = json.loads((report / "report.json").read_text())["run"]["cautions"]
    assert caution.startswith("forced: ") and "a stack of 4 images of buffer all takes unit cpu" in caution
    assert fits == f"forced: what fits: {text}"
    assert "Caution: forced: what fits" in (report / "report.html").read_text()


@pytest.mark.parametrize("columns", [80, 200])
def test_tables_of_a_plan_fit_a_terminal(columns: int) -> None:
    done = CliRunner().invoke(app, ["plan", str(EXAMPLES / "06_two_receivers.toml")], env={"COLUMNS": f"{columns}"})
    tables = done.output.partition("not known:")[0]
    assert max(map(len, tables.splitlines())) <= columns
    assert {"storage", "monitor", "emulator", "1,048,576", "25,700"} <= set(tables.split())
    assert "…" not in tables
