# SPDX-License-Identifier: Apache-2.0
"""Emulators played by a card, in a run file: the order to the node, the cards that it may use, and refusals before anything starts."""

from pathlib import Path

import pytest

from rashpa.control.orders.grant import Grant, grant_of
from rashpa.control.orders.plan_telegrams import source_telegram
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams.telegram import Card, Endpoint, Neighbour, Placement, Source
from rashpa.control.telegrams.telegram_xml import decode, encode
from rashpa.testing.run_file import run_file

HEAD = run_file(
    run={"name": "plan", "frames": 100},
    detector={"width": 100, "height": 100, "module": [{"x": 0, "y": 0}, {"x": 0, "y": 100}]},
    dataset={"modules": 2},
    receiver=None,
    buffer=None,
)
BUFFER = """\
[[buffer]]
name = "full"
bands = {bands}
sink = [{{ kind = "null" }}]
"""
ON_CARD = '[[emulator]]\nname = "detector"\nengine = "fpga"\n'


def plan_of(tmp_path: Path, text: str, bands: int = 1) -> Plan:
    path = tmp_path / "plan.toml"
    path.write_text(HEAD + text + BUFFER.format(bands=bands))
    return load_plan(path)


def told(plan: Plan) -> Source:
    ends = {
        dtp.id: (
            Endpoint(address="127.0.0.1", port=7000, qpn=17, rkey=1, credit_offset=0),
            Placement(
                pixels_offset=0,
                slot_bytes=1,
                slots=2,
                first_line_offset=0,
                pitch=1,
                line_bytes=1,
                lines=1,
                records_offset=9,
            ),
        )
        for dtp in plan.dtps
    }
    order = source_telegram(plan, plan.emulators[0], ends)
    assert decode(encode(order)) == order
    assert order.source is not None
    return order.source


def test_threads_play_where_no_engine_is_named(tmp_path: Path) -> None:
    for text in ("", '[[emulator]]\nname = "detector"\n', '[[emulator]]\nname = "detector"\nengine = "software"\n'):
        plan = plan_of(tmp_path, text)
        assert told(plan).card is None
        assert grant_of(plan, "emulator", "t").cards == ()


def test_a_simulated_card_is_told_and_granted_as_such(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, ON_CARD + 'card = "sim"\n')
    assert told(plan).card == Card(directory="sim")
    assert grant_of(plan, "emulator", "t").cards == ("sim",)
    assert grant_of(plan, "receiver", "t").cards == ()


def test_the_directory_of_a_card_counts_from_the_run_files_folder_and_is_all_that_is_granted(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, ON_CARD + 'card = "cards/one"\n')
    place = str(tmp_path / "cards" / "one")
    assert told(plan).card == Card(directory=place)
    grant = grant_of(plan, "emulator", "t")
    assert grant.cards == (place,)
    assert Grant.of_line(grant.line()) == grant


def test_a_card_in_a_network_is_told_the_mac_addresses(tmp_path: Path) -> None:
    keys = (
        'card = "/dev"\ncard_mac = "02:00:00:00:00:01"\nneighbours = { "127.0.0.1" = "0c:42:a1:00:00:07" }\n'
        'node = "https://far:4780"\n'
    )
    plan = plan_of(tmp_path, ON_CARD + keys)
    assert told(plan).card == Card(
        directory="/dev", mac="02:00:00:00:00:01", neighbours=(Neighbour(address="127.0.0.1", mac="0c:42:a1:00:00:07"),)
    )
    assert grant_of(plan, "emulator", "t").cards == (), "a remote node is granted nothing by a run"


WRONG = {
    "no card": (ON_CARD, "detector is played by a card: name it"),
    "card without engine": ('[[emulator]]\nname = "e"\ncard = "sim"\n', 'only the engine "fpga" has a card'),
    "mac without engine": ('[[emulator]]\nname = "e"\ncard_mac = "02:00:00:00:00:01"\n', 'only the engine "fpga"'),
    "no mac": (ON_CARD + 'card = "/dev"\ncard_mac = "02:00"\n', "card_mac"),
    "mac of a simulated card": (
        ON_CARD + 'card = "sim"\ncard_mac = "02:00:00:00:00:01"\n',
        "take card_mac out, or name",
    ),
    "neighbours of a simulated card": (
        ON_CARD + 'card = "sim"\nneighbours = { "127.0.0.1" = "02:00:00:00:00:01" }\n',
        "take neighbours out, or name",
    ),
    "no such engine": ('[[emulator]]\nname = "e"\nengine = "gpu"\n', "engine"),
    "neighbour": (
        ON_CARD + 'card = "/dev"\nneighbours = { "host" = "02:00:00:00:00:01" }\n',
        '"host" is no IPv4 or IPv6',
    ),
    "verbs": ('[link]\nsource = "verbs"\n' + ON_CARD + 'card = "sim"\n', "a card sends as the link roce does"),
    "rc": (
        '[link.roce]\ntransport = "rc"\n' + ON_CARD + 'card = "sim"\n',
        "a card sends by Unreliable Connected queue pairs",
    ),
    "duplicate": (ON_CARD + 'card = "sim"\n[faults]\nduplicate = 0.1\n', "duplicate needs engine"),
    "reorder": (ON_CARD + 'card = "sim"\n[faults]\nreorder = 0.1\n', "reorder needs engine"),
    "stall": (ON_CARD + 'card = "sim"\n[faults]\nstall = 0.1\n', "stall needs engine"),
    "dead modules": (
        ON_CARD + 'card = "sim"\n[faults]\ndead_modules = [{ module = 0, from_frame = 3 }]\n',
        "dead_modules needs engine",
    ),
    "skip and faults": (
        '[link]\non_full = "skip"\n' + ON_CARD + 'card = "sim"\n[faults]\ndrop = 0.1\n',
        "which skipped images move",
    ),
    "one card twice": (
        ON_CARD + 'card = "/dev"\n[[emulator]]\nname = "other"\nengine = "fpga"\ncard = "/dev"\n',
        "detector and emulator other have the same card /dev",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_work_is_refused_with_file_and_line(tmp_path: Path, what: str) -> None:
    text, said = WRONG[what]
    with pytest.raises(RunFileError, match=r"plan\.toml") as refused:
        plan_of(tmp_path, text)
    assert said in str(refused.value)


def test_a_card_plays_sixteen_dtps(tmp_path: Path) -> None:
    assert len(plan_of(tmp_path, ON_CARD + 'card = "sim"\n', bands=8).dtps) == 16
    with pytest.raises(RunFileError, match="emulator detector has 18 DTPs, a card plays 16"):
        plan_of(tmp_path, ON_CARD + 'card = "sim"\n', bands=9)
    two = ON_CARD + 'card = "sim"\n[[emulator]]\nname = "other"\nengine = "fpga"\ncard = "sim"\n'
    assert len(plan_of(tmp_path, two, bands=16).dtps) == 32, "each has a simulated card of its own"
