# SPDX-License-Identifier: Apache-2.0
"""Senders that keep the protocol pass, and each sender that breaks a rule gets a verdict that names it: the two of examples/sender, our emulator, and
mutants of the first."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from typer.testing import CliRunner

from rashpa.cli.main import app
from rashpa.node.judge.judge_engine import JudgeFactory
from rashpa.node.judge.judging import judge_node, judge_orders
from rashpa.node.judge.rules import RULES, Verdicts
from rashpa.testing.waiting import GUARD_S
from rashpa.testing.warm_nodes import WarmNodes

SENDERS = Path(__file__).resolve().parents[4] / "examples" / "sender"
SMALL = (
    ("HEIGHT, PMTU = 256, 128, 1024", "HEIGHT, PMTU = 256, 6, 256"),
    ("frame / 100", "frame / 1000"),
)
IMAGES = 8


def judged(words: list[str], runs: int = 1, silent_s: float = 3.0, patience_s: float = 20.0) -> tuple[Verdicts, str]:
    """Run a sender that gives its orders to a judge; return the verdicts, and the sender's output. A sender that hangs is ended with the judge."""
    factory = JudgeFactory(silent_s)
    ready, urls = threading.Event(), list[str]()

    def announce(url: str) -> None:
        urls.append(url)
        ready.set()

    judging = threading.Thread(target=lambda: asyncio.run(judge_orders(factory, 0, runs, patience_s, announce)))
    judging.start()
    assert ready.wait(GUARD_S)
    environment = {key: value for key, value in os.environ.items() if key != "RASHPA_TOKEN"}
    place = urls[0] if words[-1].endswith(".py") else urls[0].rpartition(":")[2]
    printed = ""
    for run in range(runs):
        sender = subprocess.Popen(
            [*words, place, str(IMAGES)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        if run + 1 == runs:
            judging.join(GUARD_S)
            assert not judging.is_alive()
            if sender.poll() is None and factory.verdicts.broken:
                sender.kill()
        printed += sender.communicate(timeout=GUARD_S)[0]
    return factory.verdicts, printed


def small(tmp_path: Path, *changes: tuple[str, str]) -> list[str]:
    text = (SENDERS / "sender.py").read_text()
    for old, new in (*SMALL, *changes):
        assert text.count(old) == 1, f"sender.py has {text.count(old)} times {old}"
        text = text.replace(old, new)
    path = tmp_path / "sender.py"
    path.write_text(text)
    return [sys.executable, str(path)]


def test_the_sender_in_python_keeps_every_rule_twice(tmp_path: Path) -> None:
    verdicts, said = judged(small(tmp_path), runs=2, silent_s=GUARD_S)
    assert verdicts.whole, (said, verdicts.by_rule)
    assert verdicts.by_rule["record"].kept == 2 * IMAGES


def test_the_sender_in_c_keeps_every_rule(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc") or ""
    program = tmp_path / "sender"
    subprocess.run([compiler, "-O2", "-o", str(program), str(SENDERS / "sender.c")], check=True)
    verdicts, said = judged([str(program)], silent_s=GUARD_S)
    assert verdicts.whole, (said, verdicts.by_rule)


def test_our_emulator_keeps_every_rule_with_two_modules(tmp_path: Path) -> None:
    factory = JudgeFactory(GUARD_S)
    with WarmNodes(tmp_path) as nodes:
        problem = asyncio.run(judge_node(factory, nodes.url("emulator")))
    assert not problem
    assert factory.verdicts.whole, factory.verdicts.by_rule
    assert factory.verdicts.by_rule["record"].kept == 2 * 12


# one change of the sender each: the rule that it breaks, and words of the verdict
MUTANTS: dict[str, tuple[tuple[str, str], str, str]] = {
    "icrc without ones": (("b\"\\xff\" * 8 + ip", "ip"), "icrc", "the ICRC is wrong"),
    "icrc big endian": (('struct.pack("<I", self.icrc(packet))', 'struct.pack(">I", self.icrc(packet))'), "icrc", "the ICRC is wrong"),
    "reserved byte not masked": (('packet[:4] + b"\\xff" + packet[5:]', "packet"), "icrc", "the ICRC is wrong"),
    "no wait for credits": (("        pair.wait_for_credit(frame)\n", ""), "credits", "are granted"),
    "one ahead of credits": (("while self.granted <= image", "while self.granted < image"), "credits", "are granted"),
    "reads credits once": (("while self.granted <= image:", "if self.granted <= image:"), "credits", "are granted"),
    "record before lines": (
        ('        for line in range(HEIGHT):\n', '        pair.write(place["records_offset"] + slot * 128, record(frame, slot, crc32c(pixels)), frame)\n        for line in range(HEIGHT):\n'),
        "lines",
        "when its record comes",
    ),
    "last line left out": (("for line in range(HEIGHT)", "for line in range(HEIGHT - 1)"), "lines", "lacks 512 bytes"),
    "lines taken for contiguous": (('line * place["pitch"]', "line * LINE"), "bounds", "lie in no line"),
    "slots taken for contiguous": (('slot * place["slot_bytes"]', "slot * HEIGHT * LINE"), "bounds", "lie in no line"),
    "first line forgotten": ((' + place["first_line_offset"]\n', "\n"), "bounds", "lie in no line"),
    "key of its own": (("int(place.get(\"rkey\", 0))", "KEY"), "key", "key "),
    "wrong queue pair": (("self.qpn, self.psn)\n", "self.qpn + 1, self.psn)\n"), "packet", "queue pair"),
    "sequence not as told": (('psn="{pair.psn}"', 'psn="{pair.psn ^ 1}"'), "sequence", "is next"),
    "sequence by two": (("self.psn + 1 &", "self.psn + 2 &"), "sequence", "is next"),
    "record of another run": (("crc, RUN)", "crc, RUN + 1)"), "record", "run 2 in the record; 1"),
    "record without own crc": (("crc32c(head + bytes(60))", "0"), "record", "own CRC32C"),
    "checksum of other lines": (("record(frame, slot, crc32c(pixels))", "record(frame, slot, crc32c(pixels[:-1]))"), "checksum", "by its record"),
    "immediate without index": (("frame & 0xFFFFFF)", "0)"), "record", "immediate 0x00000000; 0x00000001"),
    "version of the header": (("0x40 | pad", "0x41 | pad"), "packet", "version 1"),
    "partition key": (("pad << 4, 0xFFFF", "pad << 4, 0x7FFF"), "packet", "partition key 0x7fff"),
    "length of the line": (("self.rkey, len(data))", "self.rkey, LINE)"), "packet", "length 512"),
    "unaligned parts": (("PMTU):\n                part = pixels[line * LINE + start : line * LINE + min(start + PMTU, LINE)]", "100):\n                part = pixels[line * LINE + start : line * LINE + min(start + 100, LINE)]"), "alignment", "multiples of 64"),
    "frames stand still": (("head = struct.pack(\"<IHHIIQQQIIQII\", 0x41505352, 1, 128, 0, 0, frame,", "head = struct.pack(\"<IHHIIQQQIIQII\", 0x41505352, 1, 128, 0, 0, 5,"), "record", "numbers rise"),
    "one image too many told": (('images="{count}"/>\')\n    while', 'images="{count + 1}"/>\')\n    while'), "end", "9 images told, 8 came whole"),
    "no reset": (('    node.order("Reset")\n', ""), "end", "by Reset"),
    "no port for credits": (("port=\"{pair.port}\" qpn", "port=\"0\" qpn"), "endpoint", "port 0"),
    "own queue pair 1": (("QPN, KEY, RUN = 77", "QPN, KEY, RUN = 1"), "endpoint", "queue pair 1"),
    "another opcode": (('">BBHII", opcode, 0x40', '">BBHII", opcode - 0x20, 0x40'), "packet", "opcode 0x0a"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(MUTANTS))
def test_a_broken_rule_is_named(tmp_path: Path, name: str) -> None:
    change, rule, words = MUTANTS[name]
    command = small(tmp_path, change)
    verdicts, said = judged(command, silent_s=0.5, patience_s=3.0)
    assert verdicts.broken, said
    assert verdicts.by_rule[rule].broken, (said, verdicts.by_rule)
    assert any(words in fault for fault in verdicts.by_rule[rule].faults), verdicts.by_rule[rule].faults


def test_the_command_prints_each_rule_and_what_is_wrong(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [sys.executable, "-m", "rashpa.cli.entry", "conformance", "--sender", str(port), "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as judge:
        assert judge.stderr is not None
        assert judge.stdout is not None
        assert f"http://127.0.0.1:{port}/telegram" in judge.stderr.readline()
        subprocess.run([*small(tmp_path), f"http://127.0.0.1:{port}", "8"], check=True, capture_output=True)
        document = json.loads(judge.stdout.read())
        assert judge.wait(GUARD_S) == 0
    assert document["whole"]
    assert list(document["rules"]) == list(RULES)


@pytest.mark.parametrize(
    ("sender", "said"),
    [("nonsense", "neither the URL of a node nor a port"), ("0", "give a port"), ("70000", "give a port")],
)
def test_another_word_is_refused(sender: str, said: str) -> None:
    done = CliRunner().invoke(app, ["conformance", "--sender", sender])
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_port_that_is_taken_and_a_sender_that_does_not_come_are_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = CliRunner().invoke(app, ["conformance", "--sender", str(taken.getsockname()[1])])
    assert done.exit_code == 2
    assert "Address already in use; take another" in done.stderr
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    done = CliRunner().invoke(app, ["conformance", "--sender", str(port), "--timeout", "0.2"])
    assert done.exit_code == 1
    assert "no sender has sent Configure" in done.output
    assert "not seen telegrams" in done.output
