# SPDX-License-Identifier: Apache-2.0
"""A stream as a program reads it: image by image, with the number of missed ones."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
import rashpa
from rashpa.data.stored.live import LiveError
from rashpa.data.stream.live_stream import LiveStream
from rashpa.testing.waiting import eventually

cbor2 = pytest.importorskip("cbor2")
zmq = pytest.importorskip("zmq")

PIXELS = np.arange(12, dtype=np.uint16).reshape(3, 4)


def message(kind: str, number: int = 1, **more: Any) -> bytes:
    packed: bytes = cbor2.dumps({"type": kind, "series_id": number, "series_unique_id": f"ABC{number}"} | more)
    return packed


def image(image_id: int, number: int = 1, **user: Any) -> bytes:
    values = cbor2.CBORTag(40, [[3, 4], cbor2.CBORTag(69, (PIXELS + image_id).tobytes())])
    return message("image", number, image_id=image_id, data={"threshold_1": values}, user_data=user)


@pytest.fixture
def sender() -> Iterator[Any]:
    with zmq.Context() as context, context.socket(zmq.PUSH) as socket:
        socket.linger = 0
        yield socket


def endpoint_of(sender: Any) -> str:
    return f"tcp://127.0.0.1:{sender.bind_to_random_port('tcp://127.0.0.1')}"


def live(*words: Any, **more: Any) -> LiveStream:
    images = rashpa.live(*words, **more)
    assert isinstance(images, LiveStream)
    return images


def test_images_come_until_the_end_of_their_series_and_gaps_are_counted(sender: Any) -> None:
    endpoint = endpoint_of(sender)
    found: dict[str, Any] = {"frame_number": 70, "completeness": "partial", "values": {"bright": 3}}
    images = live(endpoint, 30.0)  # connected: a socket without a reader takes nothing
    for one in (
        message("start", number_of_images=9, channels=["threshold_1"]),
        image(0),
        b"no message",
        image(3, **found),
        image(2),
        message("end", user_data={"images": 6}),
        image(0, number=2),
    ):
        sender.send(one)
    with images:
        got = list(images)
    assert [(one.image_id, one.frame_number, one.missed, one.complete) for one in got] == [
        (0, 0, 0, True),
        (3, 70, 2, False),
    ]
    assert np.array_equal(got[1].pixels, PIXELS + 3)
    assert got[1].numbers == {"bright": 3}
    assert images.missed == 4
    assert images.refused[0] == 1
    assert images.start is not None and images.start.images == 9


def test_the_start_of_another_series_ends_it_and_strays_do_not(sender: Any) -> None:
    endpoint = endpoint_of(sender)
    with live(endpoint, 30.0) as images:
        for one in (
            *(image(8, number=7), image(9, number=7), message("end", number=7)),  # left of an aborted one
            *(message("start"), image(0), image(5, number=7), message("end", number=7), image(1)),
            *(message("start", number=2), image(0, number=2)),
        ):
            sender.send(one)
        assert [one.image_id for one in images] == [0, 1]
        assert (images.strays, images.missed) == (5, 0)


def test_of_pub_images_come_also_without_their_start_until_another_series_begins() -> None:
    with zmq.Context() as context, context.socket(zmq.PUB) as socket:
        socket.linger = 0
        with live(endpoint_of(socket), 2.0, pattern="pub") as images:
            eventually(lambda: _heard(socket, images, image(8, number=7)))
            for one in (message("start"), image(0), message("end")):
                socket.send(one)
            rest = [one.image_id for one in images]
    assert [one for one in rest if one != 8] == [0]


def _heard(socket: Any, images: LiveStream, first: bytes) -> bool:
    """Return True when the reader is connected; messages sent before are lost."""
    socket.send(first)
    try:
        return next(images).image_id == 8
    except TimeoutError:
        return False


def test_silence_is_an_error_after_its_time(sender: Any) -> None:
    with rashpa.live(endpoint_of(sender), 0.2) as images, pytest.raises(TimeoutError, match="no message came within"):
        next(images)


def test_what_is_no_endpoint_is_refused() -> None:
    with pytest.raises(LiveError, match="give tcp://ADDRESS:PORT"):
        rashpa.live("tcp://nowhere")
