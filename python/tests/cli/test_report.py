# SPDX-License-Identifier: Apache-2.0
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from jsonschema import Draft202012Validator
from rich.console import Console

from rashpa.cli.report.report import report_of, worst_latencies, write_report
from rashpa.cli.report.report_pictures import column_of
from rashpa.cli.report.report_plots import shares
from rashpa.cli.run.run_display import print_outcome
from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.schemas import schema_path
from rashpa.control.telegrams.telegram import FirstErrored, Latency, SinkStatus
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.in_process import run_in_process
from rashpa.testing.run_file import run_file

pytestmark = pytest.mark.whole

RUN = run_file(
    run={"name": "report", "frames": 90},
    detector={"width": 1024, "height": 512},
    dataset={"kind": "jungfrau", "modules": 1},
    faults={"drop": 0.1},
    buffer=[
        {
            "name": "full",
            "sink": [{"kind": "null"}],
            "bands": 2,
            "slots": 40,
            "kernel": [{"name": "jungfrau"}, {"name": "bragg_count", "threshold": 2, "min_pixels": 7}],
        },
        {"name": "third", "sink": [{"kind": "null"}], "every": 3, "phase": 1},
    ],
)
VALIDATOR = Draft202012Validator(json.loads(schema_path("report.schema.json").read_text(encoding="utf-8")))


def outcome_of(tmp_path: Path, text: str, *receivers: str) -> Outcome:
    path = tmp_path / "run.toml"
    path.write_text(text)
    roles = {"emulator": "emulator", **dict.fromkeys(receivers, "receiver")}
    nodes = {name: Node(name, role, FakeFactory(role)) for name, role in roles.items()}
    return run_in_process(load_plan(path), nodes)


@pytest.fixture
def outcome(tmp_path: Path) -> Outcome:
    return outcome_of(tmp_path, RUN, "receiver")


@pytest.fixture
def outcome_of_two(tmp_path: Path) -> Outcome:
    two = RUN.replace(
        "[receiver]\nport = 0\n", '[[receiver]]\nname = "a"\nport = 0\n[[receiver]]\nname = "b"\nport = 0\n'
    )
    return outcome_of(tmp_path, two.replace('name = "third"\n', 'name = "third"\nreceiver = "b"\n'), "a", "b")


def test_the_report_is_as_its_schema_says(outcome: Outcome, tmp_path: Path) -> None:
    as_json, _ = write_report(outcome, tmp_path, Path("run.toml"))
    report = json.loads(as_json.read_text(encoding="utf-8"))
    VALIDATOR.validate(report)
    assert report["run"]["good"]
    assert report["books"]["expected"] == 120
    assert report["books"]["balanced"] is True
    injected = report["injected"]
    assert injected["drop"] > 0
    assert injected["expected_partial"] == report["books"]["partial"]
    assert injected["unexplained"] == 0
    assert report["latency_us"]["ready"]["max"] == 30.0
    assert report["machine"]["cores"] >= 1


def test_a_run_that_was_lost_has_a_report_too(outcome: Outcome, tmp_path: Path) -> None:
    lost = Outcome(outcome.plan, problem="receiver <was> killed", receivers=outcome.receivers)
    as_json, as_html = write_report(lost, tmp_path, Path("run.toml"))
    report = json.loads(as_json.read_text(encoding="utf-8"))
    VALIDATOR.validate(report)
    assert report["run"]["good"] is False
    assert report["injected"]["unexplained"] is None
    assert "receiver &lt;was&gt; killed" in as_html.read_text(encoding="utf-8")
    VALIDATOR.validate(report_of(Outcome(outcome.plan, problem="nothing started"), Path("run.toml")))


def test_the_report_of_two_receivers_knows_where_each_buffer_lies(outcome_of_two: Outcome, tmp_path: Path) -> None:
    as_json, as_html = write_report(outcome_of_two, tmp_path, Path("run.toml"))
    report = json.loads(as_json.read_text(encoding="utf-8"))
    VALIDATOR.validate(report)
    assert report["run"]["good"]
    assert [(buffer["name"], buffer["receiver"]) for buffer in report["buffers"]] == [("full", "a"), ("third", "b")]
    first, second = report["receivers"]
    assert (first["name"], first["buffers"], second["name"], second["buffers"]) == ("a", ["full"], "b", ["third"])
    for entry in ("expected", "complete", "partial", "missing", "accepted", "vetoed", "errored", "written"):
        assert first["books"][entry] + second["books"][entry] == report["books"][entry]
    assert first["link"]["events"] + second["link"]["events"] == report["link"]["events"]
    assert set(report["software"]) == {"emulator", "a", "b"}
    assert {notice["node"] for notice in report["notifications"]} == {"emulator", "a", "b"}
    page = as_html.read_text(encoding="utf-8")
    for text in (
        "full at a: completeness",
        "third at b: decision",
        "<h2>Receivers</h2>",
        "<th class='text'>receiver</th>",
    ):
        assert text in page


def test_a_receiver_that_was_never_heard_is_in_the_report_with_open_books(
    outcome_of_two: Outcome, tmp_path: Path
) -> None:
    del outcome_of_two.receivers["b"]
    as_json, as_html = write_report(outcome_of_two, tmp_path, Path("run.toml"))
    report = json.loads(as_json.read_text(encoding="utf-8"))
    VALIDATOR.validate(report)
    assert report["run"]["good"] is False
    assert report["books"]["balanced"] is False
    assert [(one["heard"], one["books"]["balanced"]) for one in report["receivers"]] == [(True, True), (False, False)]
    assert "never heard" in as_html.read_text(encoding="utf-8")


def test_a_report_from_before_there_were_several_receivers_is_still_one(outcome: Outcome) -> None:
    report = report_of(outcome, Path("run.toml"))
    assert [one["name"] for one in report["receivers"]] == ["receiver"]
    del report["receivers"]
    for buffer in report["buffers"]:
        del buffer["receiver"]
    VALIDATOR.validate(report)


def test_the_closing_table_names_receivers_only_where_there_are_several(
    outcome: Outcome, outcome_of_two: Outcome
) -> None:
    def shown(one: Outcome) -> str:
        console = Console(record=True, width=120, file=io.StringIO())
        print_outcome(console, one)
        return console.export_text()

    assert re.search(r"receiver\W+a\W+b\W", shown(outcome_of_two))
    assert "receiver" not in shown(outcome)


def test_the_page_needs_no_network(outcome: Outcome, tmp_path: Path) -> None:
    _, as_html = write_report(outcome, tmp_path, Path("run.toml"))
    page = as_html.read_text(encoding="utf-8")
    assert not re.search(r"<(script|link)\b[^>]*\b(src|href)=", page)
    for heading in ("full: completeness", "full: decision", "third: completeness"):
        assert heading in page


def test_shares_of_states_add_up_and_no_image_is_lost_between_bins() -> None:
    table = np.array([1, 1, 1, 2, 3, 3, 1], np.uint8)
    edges, percent = shares(table, 4, 3)
    assert edges.tolist() == [0, 2, 4, 7]
    assert percent[:, 1].tolist() == [0, 50, 50, 0]
    assert np.allclose(percent.sum(axis=0), 100)
    edges, percent = shares(table[:2], 4, 400)
    assert edges.tolist() == [0, 1, 2]


def test_the_worst_buffer_counts_in_the_summary_of_latencies() -> None:
    worst = worst_latencies(
        [
            Latency(stage="ready", count=10, p50=1.0, p99=9.0, max=10.0),
            Latency(stage="ready", count=5, p50=2.0, p99=3.0, max=30.0),
        ]
    )
    assert worst["ready"] == {"count": 15, "p50": 2.0, "p99": 9.0, "max": 30.0}
    assert worst["written"]["count"] == 0


def test_numbers_of_the_pipeline_come_from_the_file_when_it_has_them(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a_master.h5", "w") as file:
        file["/entry/rashpa/bright_pixels"] = np.array([3, 0, 8], np.uint32)
    found = column_of(tmp_path / "a_master.h5", "bright_pixels")
    assert found is not None
    assert found.tolist() == [3, 0, 8]
    assert column_of(tmp_path / "absent.h5", "bright_pixels") is None


def test_each_sink_has_its_books_and_null_is_called_what_it_is(outcome: Outcome, tmp_path: Path) -> None:
    as_json, as_html = write_report(outcome, tmp_path, Path("run.toml"))
    (sink,) = json.loads(as_json.read_text(encoding="utf-8"))["buffers"][0]["sinks"]
    assert (sink["name"], sink["kind"], sink["keeps"]) == ("null", "null", "counted, not stored")
    assert sink["accepted"] == sink["written"] == outcome.buffers[0].books.accepted
    assert "counted, not stored" in as_html.read_text(encoding="utf-8")
    console = Console(record=True, width=160, file=io.StringIO())
    print_outcome(console, outcome)
    shown = console.export_text()
    assert "counted, not stored" in shown
    assert "buffer full: nothing was stored; its sink null only counts" in shown


def test_what_a_sink_drops_is_shown_and_what_it_loses_is_red(outcome: Outcome) -> None:
    first = FirstErrored(index=7, frame=7, reason="storage", text="no space")
    accepted = outcome.buffers[0].books.accepted
    kept = SinkStatus(
        name="null",
        on_full="wait",
        accepted=accepted,
        written=accepted,
        dropped=0,
        errored=0,
        waiting=0,
        bytes_written=0,
        bytes_stored=0,
        error="",
    )
    dropping = SinkStatus(
        name="memory",
        on_full="drop",
        accepted=accepted,
        written=accepted - 4,
        dropped=4,
        errored=0,
        waiting=0,
        bytes_written=0,
        bytes_stored=0,
        error="",
        first=replace(first, reason="dropped"),
    )
    losing = SinkStatus(
        name="hdf5",
        on_full="wait",
        accepted=accepted,
        written=accepted - 3,
        dropped=0,
        errored=3,
        waiting=0,
        bytes_written=0,
        bytes_stored=0,
        error="no space",
        first=first,
    )

    def with_sinks(*sinks: SinkStatus) -> Outcome:
        status = outcome.receivers["receiver"]
        assert status.destination is not None
        buffers = tuple(replace(buffer, sinks=sinks) for buffer in status.destination.buffers)
        known = replace(status, destination=replace(status.destination, buffers=buffers))
        return replace(outcome, receivers={"receiver": known})

    dropped = with_sinks(kept, dropping)
    assert dropped.good
    console = Console(record=True, width=200, file=io.StringIO())
    print_outcome(console, dropped)
    assert f"sink memory was behind and did not get 4 of {accepted} images" in console.export_text()
    lost = with_sinks(kept, losing)
    assert not lost.good
    assert lost.reasons[0] == (
        f"buffer full: sink hdf5 lost 3 of {accepted} images; the first: image 7 (frame 7), storage: no space"
    )


def test_several_emulators_have_their_own_rows(tmp_path: Path) -> None:
    text = RUN.replace("modules = 1", "modules = 2").replace(
        "height = 512\n", "height = 512\nmodule = [{ x = 0, y = 0 }, { x = 1024, y = 0 }]\n"
    )
    path = tmp_path / "run.toml"
    path.write_text(text + '[[emulator]]\nname = "upper"\n[[emulator]]\nname = "lower"\n')
    roles = {"upper": "emulator", "lower": "emulator", "receiver": "receiver"}
    nodes = {name: Node(name, role, FakeFactory(role)) for name, role in roles.items()}
    outcome = run_in_process(load_plan(path), nodes)
    folder = tmp_path / "report"
    folder.mkdir()
    as_json, as_html = write_report(outcome, folder, path)
    report = json.loads(as_json.read_text(encoding="utf-8"))
    VALIDATOR.validate(report)
    assert [(one["name"], one["modules"], one["images_sent"]) for one in report["emulators"]] == [
        ("upper", [0], 2 * 90 + 30),
        ("lower", [1], 2 * 90 + 30),
    ]
    assert report["injected"]["drop"] == sum(one["injected"]["drop"] for one in report["emulators"]) > 0
    page = as_html.read_text(encoding="utf-8")
    assert "<h2>Emulators</h2>" in page
    assert "<td class='text'>lower</td>" in page
