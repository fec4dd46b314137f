# SPDX-License-Identifier: Apache-2.0
"""The sender of rtl/, simulated, keeps every rule of the protocol, and each change of its output gets a verdict that names it. `make test-rtl` runs
this file, too."""

import asyncio
import dataclasses
import json
import struct
import subprocess
import sys
from collections.abc import Callable

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa import _native
from rashpa.control.nodes.native_program import native_program
from rashpa.control.telegrams.telegram import Endpoint
from rashpa.data.wire.packet import Flow
from rashpa.node.judge import judge_engine, judging
from rashpa.node.judge.judge_engine import JudgeEngine, JudgeFactory
from rashpa.node.judge.judged_packet import ONLY_IMMEDIATE, JudgedPacket, judge_icrc, take_apart
from rashpa.node.judge.judging import judge_node
from rashpa.node.judge.rules import RULES, Verdicts
from rashpa.testing.waiting import GUARD_S

PSN, ADDRESS, KEY, LENGTH, IMMEDIATE, PAYLOAD = 8, 12, 20, 24, 28, 28
RECORD, RECORD_CRC = 32, 32 + 124
IMAGES, DTPS = 12, 2

pytestmark = pytest.mark.skipif(
    native_program("rashpa_card") is None, reason="no simulated card: Verilator was not there when rashpa was built"
)


def judged(silent_s: float = GUARD_S) -> tuple[Verdicts, str]:
    """Run the simulated card against a judge; return the verdicts, and the problem of the run."""
    factory = JudgeFactory(silent_s)
    problem = asyncio.run(judge_node(factory, "local", "sim"))
    return factory.verdicts, problem


def test_the_command_passes_the_simulated_card() -> None:
    words = [sys.executable, "-m", "rashpa.cli.entry", "conformance", "--sender", "card", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=GUARD_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert document["whole"]
    assert list(document["rules"]) == list(RULES)
    assert document["rules"]["record"]["kept"] == DTPS * IMAGES
    assert document["rules"]["icrc"]["kept"] == document["rules"]["packet"]["kept"] > DTPS * IMAGES


# ---- mutants of the output: as of RTL that makes these bytes, and the ICRC of them ----------------------------------------------


def _is_record(data: bytes) -> bool:
    return data[0] == ONLY_IMMEDIATE


def _with(data: bytes, at: int, form: str, value: int) -> bytes:
    out = bytearray(data)
    struct.pack_into(form, out, at, value)
    return bytes(out)


def _changed(data: bytes, at: int, form: str, change: Callable[[int], int]) -> bytes:
    return _with(data, at, form, change(struct.unpack_from(form, data, at)[0]))


def _of_lines(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda data: data if _is_record(data) else change(data)


def _of_records(change: Callable[[bytes], bytes], sealed: bool = True) -> Callable[[bytes], bytes]:
    """Return a change of records alone. `sealed`: the record's own checksum is that of the changed bytes."""

    def mutant(data: bytes) -> bytes:
        if not _is_record(data):
            return data
        out = change(data)
        return _with(out, RECORD_CRC, "<I", _native.crc32c(out[RECORD:RECORD_CRC])) if sealed else out

    return mutant


def _words_exchanged(data: bytes) -> bytes:
    first, second = data[PAYLOAD : PAYLOAD + 4], data[PAYLOAD + 4 : PAYLOAD + 8]
    return data[:PAYLOAD] + second + first + data[PAYLOAD + 8 :]


# the change, the rule that it breaks, and words of the verdict
MUTANTS: dict[str, tuple[Callable[[bytes], bytes], str, str]] = {
    "the migration bit of the records' header is a version": (
        _of_records(lambda data: _changed(data, 1, "B", lambda flags: flags | 1)),
        "packet",
        "version 1",
    ),
    "records take no sequence number": (
        _of_records(lambda data: _changed(data, PSN, ">I", lambda psn: psn & ~0xFFFFFF | psn - 1 & 0xFFFFFF)),
        "sequence",
        "is next",
    ),
    "lines begin a beat too late": (
        _of_lines(lambda data: _changed(data, ADDRESS, ">Q", lambda address: address + 64)),
        "bounds",
        "lie in no line",
    ),
    "the key of another row of the table": (
        _of_records(lambda data: _changed(data, KEY, ">I", lambda key: key ^ 1)),
        "key",
        "key ",
    ),
    "the length counts whole beats": (
        _of_lines(lambda data: _changed(data, LENGTH, ">I", lambda length: (length + 127) // 128 * 128)),
        "packet",
        "length 384 with a payload of 320 bytes",
    ),
    "two words of a beat are exchanged": (_of_lines(_words_exchanged), "checksum", "by its record"),
    "the checksum of the image before": (
        _of_records(lambda data: _changed(data, RECORD + 56, "<I", lambda crc: crc ^ 0x80000000)),
        "checksum",
        "by its record",
    ),
    "the record's own checksum is the template's": (
        _of_records(lambda data: _changed(data, RECORD_CRC, "<I", lambda crc: crc ^ 1), sealed=False),
        "record",
        "own CRC32C",
    ),
    "the index of the immediate stands still": (
        _of_records(lambda data: _changed(data, IMMEDIATE, ">I", lambda value: value & 0xFF000000)),
        "record",
        "immediate 0x",
    ),
    "records are of the run before": (
        _of_records(lambda data: _changed(data, RECORD + 60, "<I", lambda run: run + 1)),
        "record",
        "in the record; ",
    ),
}


@pytest.mark.parametrize("name", list(MUTANTS))
def test_changed_output_breaks_its_rule(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    change, rule, words = MUTANTS[name]
    sent = [b""]  # the datagram that is judged, as the card has sent it

    def changed(data: bytes, verdicts: Verdicts) -> JudgedPacket | None:
        sent[0] = data
        return take_apart(change(data), verdicts)

    def judge_sent(packet: JudgedPacket, flow: Flow, verdicts: Verdicts) -> None:
        judge_icrc(dataclasses.replace(packet, whole=sent[0]), flow, verdicts)

    monkeypatch.setattr(judge_engine, "take_apart", changed)
    monkeypatch.setattr(judge_engine, "judge_icrc", judge_sent)
    verdicts, problem = judged(silent_s=2.0)
    assert verdicts.by_rule[rule].broken, (problem, verdicts.by_rule)
    assert any(words in fault for fault in verdicts.by_rule[rule].faults), verdicts.by_rule[rule].faults
    assert not verdicts.by_rule["icrc"].broken


def test_an_icrc_in_the_order_of_the_other_fields_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        judge_engine, "take_apart", lambda data, verdicts: take_apart(data[:-4] + data[:-5:-1], verdicts)
    )
    verdicts, _ = judged(silent_s=2.0)
    assert not verdicts.by_rule["icrc"].kept
    assert "the ICRC is wrong" in verdicts.by_rule["icrc"].faults[0]
    assert [rule for rule, verdict in verdicts.by_rule.items() if verdict.broken] == ["icrc"]


def test_a_credit_too_many_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    credit = JudgeEngine._credit

    def one_more(engine: JudgeEngine, number: int, end: Endpoint, images: int, received: int) -> bytes:
        return credit(engine, number, end, images + 1, received)

    monkeypatch.setattr(JudgeEngine, "_credit", one_more)
    verdicts, _ = judged(silent_s=2.0)
    assert verdicts.by_rule["credits"].broken
    assert "are granted" in verdicts.by_rule["credits"].faults[0]


@pytest.mark.parametrize(
    ("fault", "rules"), [("drop = 0.02", {"sequence", "lines"}), ("corrupt = 0.02", {"icrc"})], ids=["drop", "corrupt"]
)
def test_faults_that_the_rtl_makes_itself_are_found(
    monkeypatch: pytest.MonkeyPatch, fault: str, rules: set[str]
) -> None:
    monkeypatch.setattr(judging, "_RUN", judging._RUN.replace("[[buffer]]", f"[faults]\nseed = 1\n{fault}\n[[buffer]]"))
    verdicts, problem = judged(silent_s=2.0)
    broken = {rule for rule, verdict in verdicts.by_rule.items() if verdict.broken}
    assert broken >= rules, (problem, verdicts.by_rule)
    assert verdicts.by_rule["packet"].kept
