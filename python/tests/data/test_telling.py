# SPDX-License-Identifier: Apache-2.0
import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rashpa.data.base.telling import MOST_BYTES, Apart, Behind, OnlyTells, TellingStream
from rashpa.testing.waiting import eventually


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    for file in (reader, writer):
        with contextlib.suppress(OSError):
            os.close(file)


def stream_into(file: int, encoding: str = "utf-8") -> tuple[TellingStream, TellingStream, int]:
    """Return the stream, the stream for its faults, and the descriptor that reads the latter."""
    reader, writer = os.pipe()
    stream, other = TellingStream(file, "standard output", encoding), TellingStream(writer, "standard error", "utf-8")
    stream.elsewhere = other
    return stream, other, reader


def test_text_arrives_in_order_and_at_once(pipe: tuple[int, int]) -> None:
    stream, _, _ = stream_into(pipe[1])
    print("one", "two", file=stream)
    stream.write("three\n")
    assert os.read(pipe[0], 100) == b"one two\nthree\n"


def test_a_character_that_the_encoding_lacks_costs_that_character(pipe: tuple[int, int]) -> None:
    stream, _, _ = stream_into(pipe[1], "latin-1")
    stream.write("a → é \udc80\n")
    assert os.read(pipe[0], 100) == "a ? é ?\n".encode("latin-1")


def test_bytes_are_no_text(pipe: tuple[int, int]) -> None:
    with pytest.raises(TypeError):
        stream_into(pipe[1])[0].write(b"")  # type: ignore[arg-type]


def test_who_cannot_be_told_is_given_up_and_that_is_said_once(pipe: tuple[int, int]) -> None:
    os.close(pipe[0])
    stream, _, said = stream_into(pipe[1])
    for _ in range(5):
        assert stream.write("text\n") == 5
    assert (
        os.read(said, 1000)
        == b"rashpa: standard output: Broken pipe; nothing more is told there, and the command goes on\n"
    )
    assert stream.said == "standard output: Broken pipe; what was told there is lost"


def test_what_is_the_command_s_answer_ends_it_when_it_is_lost() -> None:
    with Path("/dev/full").open("w") as full:
        stream, _, said = stream_into(full.fileno())
        stream.answers = True
        with pytest.raises(SystemExit) as ended:
            stream.write("text\n")
    assert ended.value.code == 1
    assert os.read(said, 1000) == b"rashpa: standard output: No space left on device\n"


def test_a_reader_who_reads_again_has_what_found_room_and_how_much_did_not(pipe: tuple[int, int]) -> None:
    stream, _, said = stream_into(pipe[1])
    text = "x" * 4095 + "\n"
    count = 3 * MOST_BYTES // len(text)
    for _ in range(count):
        stream.write(text)
    assert b"nobody takes what is told there" in os.read(said, 1000)
    got = b""

    def read() -> bool:
        nonlocal got
        got += os.read(pipe[0], 1 << 20)
        return b"last" in got

    told = threading.Thread(target=lambda: stream.drain())
    told.start()
    eventually(lambda: read() or not told.is_alive())
    stream.write("last\n")
    eventually(read)
    assert got.count(text.encode()) < count
    assert b"texts were left out)\nlast" in got
    assert stream.said == ""


def test_who_writes_for_one_who_hangs_waits_once() -> None:
    goes_on, late = threading.Event(), []
    behind = Behind(lambda _data, _left_out: goes_on.wait(60), lambda: late.append(1))
    assert [behind.put(b"x") for _ in range(100)] == [False] * 100
    assert late == [1]
    goes_on.set()
    assert behind.drain()
    assert behind.put(b"y")


def test_an_observer_that_fails_is_said_once_and_told_no_more() -> None:
    said: list[str] = []
    called = []

    def observe(number: int) -> None:
        called.append(number)
        if number == 2:
            raise KeyError("receiver")

    watched = OnlyTells("the observer", observe, said.append)
    for number in range(5):
        watched(number)
    assert called == [0, 1, 2]
    assert said == ["the observer: KeyError: 'receiver'; it is given up, and the run goes on"]


def test_an_observer_that_hangs_holds_up_nobody() -> None:
    goes_on, seen = threading.Event(), []

    def observe(number: int) -> None:
        goes_on.wait(60)
        seen.append(number)

    apart = Apart(observe)
    for number in range(5):
        apart(number)
    assert seen == []
    assert not apart.drain()
    goes_on.set()
    assert apart.drain()
    assert seen == [0, 1, 2, 3, 4]
