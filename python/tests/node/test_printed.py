# SPDX-License-Identifier: Apache-2.0
"""Printed text on its way into a node's log: lines, limits, names, and readers that do not read."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rashpa.node.host import printed_drain
from rashpa.node.host.printed import PrintedStream, PrintsAs
from rashpa.node.host.printed_drain import BEGIN, BURST, END, LONGEST, MIDDLE, MOST_FRAME, OWN, Lines
from rashpa.node.logs.log import MOST_PRINTED, NodeLog

DRAIN = [sys.executable, "-I", "-S", str(Path(printed_drain.__file__))]
MUCH = 8 << 20  # bytes, far more than all pipes and queues hold


def framed(name: bytes, text: bytes) -> bytes:
    return BEGIN + name + MIDDLE + text + END


def fed(*pieces: bytes) -> list[tuple[bytes, bytes]]:
    lines = Lines()
    return [one for piece in pieces for one in lines.feed(piece)] + list(lines.end())


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ((b"a\nb\n",), [(b"", b"a"), (b"", b"b")]),
        ((b"a", b"b\n", b"c"), [(b"", b"ab"), (b"", b"c")]),
        ((b"\r 1%\r 2%", b"\r 3%"), [(b"", b" 1%"), (b"", b" 2%"), (b"", b" 3%")]),
        ((framed(b"k", b"a ") + b"raw\n" + framed(b"k", b"b\n"),), [(b"", b"raw"), (b"k", b"a b")]),
        ((framed(b"k", b"cut\n")[:4], framed(b"k", b"cut\n")[4:]), [(b"k", b"cut")]),
        ((b"x" * (2 * LONGEST + 1),), [(b"", b"x" * LONGEST), (b"", b"x" * LONGEST), (b"", b"x")]),
        ((BEGIN + b"no frame\n" + b"y" * MOST_FRAME + b"\n",), None),
        ((BEGIN + b"no name" + END + b"\nz\n",), [(b"", b"no name" + END), (b"", b"z")]),
        ((BEGIN + b"never ended",), [(b"", BEGIN + b"never ended")]),
    ],
)
def test_pieces_become_lines_of_who_printed_them(
    pieces: tuple[bytes, ...], expected: list[tuple[bytes, bytes]] | None
) -> None:
    found = fed(*pieces)
    if expected is not None:
        assert found == expected
    assert all(len(line) <= LONGEST for _, line in found)
    assert b"".join(line for _, line in found).count(b"y") == b"".join(pieces).count(b"y")


def test_names_that_are_invented_take_no_memory() -> None:
    lines = Lines()
    found = [one for n in range(10_000) for one in lines.feed(framed(b"%d" % n, b"no end"))]
    assert len(found) + len(list(lines.end())) == 10_000


def drained(data: bytes, times: int = 1) -> tuple[list[dict[str, object]], list[str]]:
    """Return the drain's output for the data: records, and lines of standard error."""
    pipe = subprocess.PIPE
    with subprocess.Popen(DRAIN, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(times):  # nobody reads meanwhile
            process.stdin.write(data)
        process.stdin.close()
        said = process.stdout.read().decode().splitlines()
        assert process.wait(30) == 0
    records = [json.loads(line) for line in said if line.startswith('{"')]
    return records, [line for line in said if not line.startswith('{"')]


@pytest.mark.parametrize(
    "line", [b"short\n", b"x" * 100_000, b"y" * 100_000 + b"\n", framed(b"k", b"z" * 1000 + b"\n")]
)
def test_whoever_prints_without_a_reader_is_not_held_up_and_what_is_dropped_is_counted(line: bytes) -> None:
    times = MUCH // len(line)
    records, _ = drained(line, times)
    kept = sum(len(str(record["text"])) for record in records if "text" in record)
    dropped = sum(int(str(record["bytes"])) for record in records if "bytes" in record)
    assert kept <= (BURST + 1000) * LONGEST
    text = line.count(b"x") + line.count(b"y") + line.count(b"z") or len(line) - 1
    assert kept + dropped >= times * text


def test_the_last_words_are_said_after_a_flood() -> None:
    _, said = drained(b"flood\n" * 200_000 + b"terminate called: these are the last words\n")
    assert said[-1] == "terminate called: these are the last words"
    assert any("are dropped)" in line for line in said)


class KeptOutlet(printed_drain.Outlet):
    """Stores the offered lines for a test to read."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def offer(self, line: bytes) -> bool:
        self.lines.append(line)
        return True

    def close(self) -> None:
        """Do nothing: no thread was started."""


@pytest.mark.parametrize("pause_s", [0.0, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("ticks", [0, 1, 3])
@pytest.mark.parametrize("own", [b"", framed(OWN.encode(), b"the child is gone\n")])
def test_the_last_words_are_said_however_long_the_flood_was_over(
    monkeypatch: pytest.MonkeyPatch, pause_s: float, ticks: int, own: bytes
) -> None:
    now = 0.0
    monkeypatch.setattr("rashpa.node.host.printed_drain.time.monotonic", lambda: now)
    said = KeptOutlet()
    drain = printed_drain.Drain(KeptOutlet(), said)
    for _ in range(3):
        drain.take(b"flood\n" * BURST)
    drain.take(b"the last words\n")
    for _ in range(ticks):
        now += pause_s
        drain.tick()
    drain.take(own)
    now += pause_s
    drain.end()
    assert said.lines[-1] == b"the last words\n"
    assert sum(line == b"the last words\n" for line in said.lines) == 1
    assert sum(b"are dropped)" in line for line in said.lines) == 1


def test_words_that_newer_ones_follow_are_not_the_last() -> None:
    said = KeptOutlet()
    drain = printed_drain.Drain(KeptOutlet(), said)
    drain.take(b"flood\n" * (2 * BURST) + b"in the flood\n")
    drain._room = 5.0
    drain.take(b"after it\n")
    drain.end()
    assert said.lines[-1] == b"after it\n"
    assert b"in the flood\n" not in said.lines


def test_messages_of_the_node_itself_are_only_said() -> None:
    records, said = drained(framed(OWN.encode(), b"a warning\n") + framed(b"python m:f", b"image 1\n"))
    assert records == [{"who": "python m:f", "text": "image 1"}]
    assert said == ["a warning", "image 1"]


def test_memory_is_bounded_while_nobody_reads() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(DRAIN, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        for _ in range(32):
            process.stdin.write(b"w" * (1 << 20))
        process.stdin.flush()
        status = Path(f"/proc/{process.pid}/status").read_text()
        peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
        process.kill()
    assert peak < 40_000  # kB


def test_a_stream_frames_what_is_printed_under_a_name() -> None:
    reading, writing = os.pipe()
    stream = PrintedStream(writing)
    stream.write("nobody ")
    with PrintsAs("python m:f"):
        print("image", 1, "\x02\x04", file=stream)
        with PrintsAs("python m:g"):
            stream.write("ä\udcff")
    stream.buffer.write(b"bytes\n")
    found = os.read(reading, 65536)
    os.close(reading)
    expected = {(b"", b"nobody bytes"), (b"python m:f", b"image 1 "), (b"python m:g", "ä?".encode())}
    assert set(fed(found)) == expected
    with pytest.raises(TypeError, match=r"write\(\) takes text, not bytes"):
        stream.write(b"no text")  # type: ignore[arg-type]
    assert stream.write("the drain is gone") == 17
    os.close(writing)


def test_printed_lines_push_no_other_entry_out_of_the_log() -> None:
    copied: list[str] = []
    log = NodeLog(copy=lambda entry: copied.append(entry.text))
    log.logger.info("armed")
    log.know_printers(["plugin peaks.so", "python m:f"])
    for number in range(10_000):
        log.printed("python m:f" if number % 2 else "", f"{number}\x1b[2J")
    log.logger.error("stopped")
    texts = [str(entry["text"]) for entry in log.newest(1000)]
    assert len(texts) == MOST_PRINTED + 2
    assert {"armed", "stopped"} < set(texts)
    last = [text for text in texts if "printed" in text][-2:]
    assert last == ["plugin peaks.so or python m:f printed: 9998[2J", "python m:f printed: 9999[2J"]
    assert {entry["text"] for entry in log.newest(2)} == {last[-1], "stopped"}
    assert len(copied) == 10_002
    assert NodeLog("warning").newest(5) == []
