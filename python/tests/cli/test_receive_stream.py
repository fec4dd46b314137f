# SPDX-License-Identifier: Apache-2.0
"""`rashpa receive-stream`: its summary of received images, and its exit codes."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
cbor2 = pytest.importorskip("cbor2")
zmq = pytest.importorskip("zmq")

SERIES = {"series_id": 3, "series_unique_id": "one"}


def message(kind: str, **more: Any) -> bytes:
    made: bytes = cbor2.dumps({"type": kind, **SERIES, **more})
    return made


def image(n: int) -> bytes:
    pixels = np.full((6, 8), n, np.uint32)
    return message("image", image_id=n, data={"a": cbor2.CBORTag(40, [[6, 8], cbor2.CBORTag(70, pixels.tobytes())])})


def received(tmp_path: Path, messages: list[bytes], *options: str) -> Result:
    """Run a sender and the command; return the command's result."""
    from rashpa.cli.main import app

    with zmq.Context() as context, context.socket(zmq.PUSH) as socket:
        port = socket.bind_to_random_port("tcp://127.0.0.1")
        socket.linger = 0
        sending = threading.Thread(target=lambda: [socket.send(one) for one in messages])
        sending.start()
        address = f"127.0.0.1:{port}"
        result = CliRunner().invoke(app, ["receive-stream", address, str(tmp_path / "got"), *options])
        sending.join()
    return result


def test_a_whole_series_is_0(tmp_path: Path) -> None:
    result = received(tmp_path, [message("start", number_of_images=2), image(0), image(1), message("end")])
    assert result.exit_code == 0, result.output
    assert f"series 3: 2 images: {tmp_path / 'got'}_master.h5" in result.output


def test_missed_images_are_3(tmp_path: Path) -> None:
    result = received(tmp_path, [message("start", number_of_images=3), image(0), image(2), b"\xff", message("end")])
    assert result.exit_code == 3, result.output
    assert "2 images, missed 1, 1 messages could not be read" in result.output


def test_a_series_without_an_end_is_1(tmp_path: Path) -> None:
    result = received(tmp_path, [message("start", number_of_images=2), image(0)], "--timeout", "1")
    assert result.exit_code == 1, result.output
    assert "its end did not come" in result.output


def test_files_that_are_there_are_2(tmp_path: Path) -> None:
    messages = [message("start", number_of_images=1), image(0), message("end")]
    assert received(tmp_path, messages).exit_code == 0
    again = received(tmp_path, messages)
    assert again.exit_code == 2, again.output
    assert "give --replace" in again.output
    assert received(tmp_path, messages, "--replace").exit_code == 0
    numbered = received(
        tmp_path, [*messages, message("start", series_id=4), message("end", series_id=4)], "--series", "2"
    )
    assert "got_0001_master.h5" in numbered.output


@pytest.mark.parametrize("address", ["nowhere://x", "tcp://:::1"])
def test_an_address_that_is_none_is_2(tmp_path: Path, address: str) -> None:
    from rashpa.cli.main import app

    result = CliRunner().invoke(app, ["receive-stream", address, str(tmp_path / "got"), "--timeout", "1"])
    assert result.exit_code == 2, result.output
    assert "rashpa receive-stream:" in result.output


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"whole_run": True, "missing": 7, "errored": 1}, (10, 2, 7, 1)),
        ({"whole_run": True, "missing": -1, "errored": True}, (2, 2, 0, 0)),
        ({"whole_run": False, "missing": 7}, (2, 2, 0, 0)),
        ({}, (2, 2, 0, 0)),
    ],
)
def test_images_that_never_came_to_the_sender_are_missing(
    tmp_path: Path, said: dict[str, object], expected: tuple[int, int, int, int]
) -> None:
    messages = [
        message("start", number_of_images=10),
        image(0),
        image(1),
        message("end", user_data={"images": 2, **said}),
    ]
    result = received(tmp_path, messages, "--json")
    books = json.loads(result.stdout)["books"]
    assert (books["expected"], books["made"], books["missing"], books["errored"]) == expected
    assert result.exit_code == (0 if expected[2] == 0 else 3), result.output
