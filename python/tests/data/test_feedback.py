# SPDX-License-Identifier: Apache-2.0
"""A receiver's published records, decoded from untrusted bytes."""

import json
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rashpa
from rashpa.data.stream.feedback import FEEDBACK_FOLDER, address_of, open_feedback, ring_name
from rashpa.data.stream.feedback_record import Description, FeedbackError, image_of


def column(name: str, kind: str = "uint32") -> dict[str, str]:
    return {"name": name, "type": kind, "unit": "", "doc": ""}


SAID: dict[str, Any] = {
    "format": "rashpa feedback",
    "version": 1,
    "run": 3,
    "buffer": "full",
    "width": 64,
    "height": 32,
    "stack": 1,
    "images": 100,
    "every": 1,
    "phase": 0,
    "completeness": ["open", "complete", "partial", "missing"],
    "decisions": ["none", "accepted", "vetoed", "errored"],
    "veto_reasons": ["none", "too_few", "too_many", "dark", "partial", "no_hit"],
    "error_reasons": ["none", "unit", "overwritten", "storage", "dropped"],
    "columns": [column("n_peaks"), column("offset", "int64"), column("sum", "float64")],
    "tables": [
        {"name": "peaks", "capacity": 3, "columns": [column("x", "float64"), column("pixels")]},
        {"name": "other", "capacity": 1, "columns": [column("a", "int64")]},
    ],
}


def description(**changes: Any) -> Description:
    return Description.parse(json.dumps({**SAID, **changes}).encode())


def record(decision: int = 1, reason: int = 0, rows: tuple[int, int] = (2, 1), measured: int = 1) -> bytes:
    fate = 5 | 1 << 32 | decision << 40 | reason << 48
    words = [2 * 9 + 2, 9, 18, 27, fate, 1000, 2000, 3000, 0, rows[0], 0, rows[1], measured, 0, 0, 0]
    scalars = struct.pack("<Qqd", 2, -7, 1.5)
    first = b"".join(struct.pack("<dQ", 0.5 + row, row) for row in range(rows[0]))
    return struct.pack("<16Q", *words) + scalars + first + struct.pack("<q", -1) * rows[1]


def test_a_record_is_an_image_with_its_numbers_and_rows() -> None:
    image = image_of(description(), record(), 5000)
    assert (image.run, image.buffer, image.number, image.index, image.frame) == (3, "full", 9, 9, 18)
    assert (image.flags, image.completeness, image.decision, image.reason) == (5, "complete", "accepted", "none")
    assert image.scalars == {"n_peaks": 2, "offset": -7, "sum": 1.5}
    np.testing.assert_array_equal(image.peaks["x"], [0.5, 1.5])
    np.testing.assert_array_equal(image.peaks["pixels"], [0, 1])
    np.testing.assert_array_equal(image.tables["other"]["a"], [-1])
    assert image.measured
    assert image.latency_s == pytest.approx(4e-6)


def test_reasons_are_those_of_the_decision() -> None:
    assert image_of(description(), record(2, 5, (0, 0)), 0).reason == "no_hit"
    errored = bytearray(record(3, 0, (0, 0)))
    errored[4 * 8 + 7] = 2
    assert image_of(description(), bytes(errored), 0).reason == "overwritten"


@pytest.mark.parametrize(
    ("bytes_", "said"),
    [
        (b"", "too short"),
        (record()[:-1], "are not in a record"),
        (record() + b"\0", "holds"),
        (record(rows=(4, 0)), "4 rows of table peaks"),
        (record(decision=9), "decision 9 is none of"),
        (record(reason=6), "reason of a veto 6 is none of"),
        (b"\1" + record()[1:], "not a whole one"),
    ],
)
def test_a_record_that_is_none_is_refused(bytes_: bytes, said: str) -> None:
    with pytest.raises(FeedbackError, match=said):
        image_of(description(), bytes_, 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "another"},
        {"version": 2},
        {"run": -1},
        {"run": True},
        {"buffer": 3},
        {"columns": [column("a", "complex")]},
        {"columns": [column(f"a{i}") for i in range(65)]},
        {"columns": {}},
        {"tables": [{"name": "t", "capacity": 2**21, "columns": []}]},
        {"tables": [{"name": "t", "capacity": 1, "columns": [column(f"a{i}") for i in range(17)]}]},
        {"decisions": ["none", 1]},
    ],
)
def test_a_description_that_is_none_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(FeedbackError):
        description(**changes)


def test_a_newer_receiver_is_said_to_be_one() -> None:
    with pytest.raises(FeedbackError, match="publishes version 2, and this program reads version 1"):
        description(version=2)


def test_damaged_bytes_are_refused_or_read_and_nothing_else() -> None:
    dice = random.Random(5)
    good, text = record(), json.dumps(SAID).encode()
    refused = 0
    for _ in range(3000):
        damaged, said = bytearray(good), bytearray(text)
        for bytes_ in (damaged, said):
            for _ in range(dice.randrange(3)):
                bytes_[dice.randrange(len(bytes_))] = dice.randrange(256)
        del damaged[dice.randrange(len(good), len(good) * 4) :]
        try:
            image_of(Description.parse(bytes(said)), bytes(damaged), 0)
        except FeedbackError:
            refused += 1
    assert 500 < refused < 3000
    for bad in (b"[" * 100_000, b"\xff", b"{}", b"null", b"1e999"):
        with pytest.raises(FeedbackError):
            Description.parse(bad)


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(FeedbackError, match="name"):
        description(tables=[{"name": "t", "capacity": 1, "columns": [column("a"), column("a")]}])


def test_a_ring_that_does_not_come_ends_the_wait(tmp_path: Path) -> None:
    pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    with pytest.raises(TimeoutError, match=r"no receiver published there within 0\.01 s"):
        rashpa.feedback(tmp_path / "none", timeout_s=0.01)
    (tmp_path / "file").write_bytes(b"x" * 8192)
    with pytest.raises(FeedbackError, match="no ring that can be read"):
        rashpa.feedback(tmp_path / "file")
    with pytest.raises(FeedbackError, match="name a ring"):
        rashpa.feedback("http://127.0.0.1:1")


def test_a_socket_where_nobody_publishes_is_waited_for() -> None:
    pytest.importorskip("zmq")
    with open_feedback("tcp://127.0.0.1:9", timeout_s=0.05) as images, pytest.raises(TimeoutError):
        next(images)
    with pytest.raises(FeedbackError, match="closed"):
        next(images)
    with pytest.raises(FeedbackError, match="give tcp"):
        open_feedback("tcp://nothing")


def test_names_and_addresses() -> None:
    assert str(FEEDBACK_FOLDER / ring_name("hits")) == "/dev/shm/rashpa.hits"
    assert address_of("tcp://127.0.0.1:80") == "127.0.0.1"
    assert address_of("tcp://[::1]:80") == "::1"
