# SPDX-License-Identifier: Apache-2.0
"""`rashpa doctor`, with and without a run file, and with nodes that answer or do not."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rashpa.cli.main import app
from rashpa.control.plan.run_plan import load_plan
from rashpa.node.doctor import checkup
from rashpa.node.doctor.finding import Finding, Setting

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "01_first_light.toml"


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a machine with one setting, which is poor until it is 7."""
    place = tmp_path / "setting"
    place.write_text("3")

    def look(*_: object) -> tuple[Finding, ...]:
        now = place.read_text()
        if now == "7":
            return (Finding("room", "good", now, "7"),)
        return (Finding("room", "poor", now, "7", "packets are lost", "sysctl -w room=7", (Setting(place, "7"),)),)

    monkeypatch.setattr("rashpa.cli.node.doctor.look", look)
    return place


def test_what_is_poor_comes_with_reason_and_command_and_exit_1(setting: Path) -> None:
    done = CliRunner().invoke(app, ["doctor", str(EXAMPLE)])
    assert done.exit_code == 1
    assert done.output.splitlines()[:3] == [
        "poor     room: 3, wanted: 7",
        "         packets are lost",
        "         → sysctl -w room=7",
    ]
    assert setting.read_text() == "3"


def test_apply_sets_it_and_the_second_look_counts(setting: Path) -> None:
    done = CliRunner().invoke(app, ["doctor", str(EXAMPLE), "--apply"])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == ["good     room: 7, wanted: 7", "set      room: 3 → 7"]
    assert setting.read_text() == "7"


@pytest.mark.usefixtures("setting")
def test_json_has_all_and_no_more() -> None:
    done = CliRunner().invoke(app, ["doctor", "--json"])
    assert json.loads(done.output) == {
        "findings": [
            {
                "subject": "room",
                "state": "poor",
                "found": "3",
                "wanted": "7",
                "why": "packets are lost",
                "command": "sysctl -w room=7",
            }
        ],
        "elsewhere": [],
        "set": [],
        "not_set": [],
        "hop": "",
    }


def test_demands_of_a_run_file_are_those_of_its_nodes_here() -> None:
    needs = checkup.needs_here(load_plan(EXAMPLE))
    assert sorted((end.role, end.kind, end.packet_bytes) for end in needs.ends) == [
        ("emulator", "roce", 20 + 8 + 12 + 16 + 4096 + 4),
        ("receiver", "roce", 20 + 8 + 12 + 16 + 4096 + 4),
    ]
    assert needs.elsewhere == ()
    assert needs.memory_bytes > 0
    # 2400 frames at 200 Hz of 1024 x 512 x 2 pixels of 2 bytes, and what every packet costs
    payload = 200 * 1024 * 1024 * 2
    assert payload < needs.receiving[0].bytes_per_s < 1.4 * payload


def test_a_detector_of_udp_wants_its_own_packets_and_sockets() -> None:
    plan = load_plan(EXAMPLE.with_name("16_detector_udp.toml"))
    needs = checkup.needs_here(plan)
    # header of SLS 48 bytes, and 8192 of pixels
    assert {(end.kind, end.packet_bytes) for end in needs.ends} == {("sls", 20 + 8 + 48 + 8192)}
    assert needs.socket_bytes == plan.file.link.of("sls").socket_buffer != plan.file.link.of("roce").socket_buffer


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.toml"], "nothing.toml"),
        ([str(EXAMPLE), "other.toml"], "a second run file"),
        (["http://127.0.0.1:9"], "127.0.0.1:9"),
    ],
)
def test_bad_input_ends_with_2_and_one_line(words: list[str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RASHPA_TOKEN", "0123456789abcdef0123456789abcdef")
    done = CliRunner().invoke(app, ["doctor", *words])
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stderr.startswith("rashpa doctor: ")
    assert len(done.stderr.splitlines()) == 1
