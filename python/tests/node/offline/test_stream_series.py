# SPDX-License-Identifier: Apache-2.0
"""Images of a received series are counted once each: stored, missed, late, repeated or refused."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.data.stream.stream2 import End, Image, Start, StreamError
from rashpa.node.offline import stream_series
from rashpa.node.offline.channel_file import StreamOptions
from rashpa.node.offline.stream_series import StreamSeries

PIXELS = np.arange(6, dtype=np.uint16).reshape(2, 3)


class File:
    """Replaces the files of a channel, and records their rows."""

    made: ClassVar[list["File"]] = []

    def __init__(self, prefix: Path, channel: str, first: Any, images: int, *_: Any) -> None:
        self.name, self.images, self._first = prefix.name, images, first
        self.rows: list[int | None] = []
        self.facts = SimpleNamespace(troubles=[], notes=[])
        File.made.append(self)

    def check(self, pixels: Any) -> None:
        if pixels.shape != self._first.shape:
            raise StreamError("another shape")

    def skip(self, first: int, count: int) -> None:
        self.rows += [None] * count

    def add(self, image: Image, pixels: Any) -> None:
        self.rows.append(image.image_id)

    def close(self, received: Any) -> str:
        return f"{self.name}_master.h5"


@pytest.fixture(autouse=True)
def _no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_series, "ChannelFile", File)
    monkeypatch.setattr(File, "made", [])


class Packed:
    """Holds pixels, or bytes that are damaged."""

    def __init__(self, pixels: Any) -> None:
        self._pixels = pixels

    def unpack(self) -> Any:
        if self._pixels is None:
            raise StreamError("the bslz4 bytes are damaged")
        return self._pixels


def image(image_id: int, *, pixels: Any = PIXELS, channels: tuple[str, ...] = ("threshold_1",)) -> Image:
    data: Any = {name: Packed(pixels) for name in channels}
    return Image(5, "u", {}, image_id, data)


def start(images: int | None = 10, channels: tuple[str, ...] = ("threshold_1",), **fields: Any) -> Start:
    return Start(5, "u", {}, images, channels, fields)


def series(first: Start | Image | None = None) -> StreamSeries:
    return StreamSeries(first or start(), Path("out/run"), StreamOptions("refuse", 1))


def ended(**said: Any) -> End:
    return End(5, "u", said)


def test_a_whole_series_is_whole() -> None:
    one = series(start(3))
    for number in range(3):
        one.image(image(number))
    found = one.close(ended())
    assert found.whole
    assert (found.books.expected, found.books.made, found.books.missing) == (3, 3, 0)
    assert found.files == ["run_master.h5"]
    assert File.made[0].rows == [0, 1, 2]


def test_gaps_are_missed_and_their_images_late() -> None:
    one = series()
    for number in (0, 3, 1, 3, 0, 4):
        one.image(image(number))
    found = one.close(ended(images=7))
    assert (found.images, found.missed, found.late, found.repeated) == (3, 2 + 2, 1, 2)
    assert File.made[0].rows == [0, None, None, 3, 4]
    assert not found.whole
    assert (found.books.expected, found.books.made, found.books.missing) == (7, 3, 4)


def test_images_that_cannot_be_read_are_errored_and_not_missed_as_well() -> None:
    one = series(start(4))
    one.image(image(0))
    one.image(image(1, pixels=None))
    one.image(image(2, pixels=PIXELS[:1]))
    one.image(image(2, pixels=None))
    one.image(image(3))
    found = one.close(ended())
    assert (found.images, found.refused, found.errored, found.missed, found.errored_in_gaps) == (2, 3, 2, 2, 2)
    assert (found.books.expected, found.books.made, found.books.missing, found.books.errored) == (4, 2, 0, 2)
    assert found.troubles[0] == "image 1: the bslz4 bytes are damaged"


def test_an_errored_image_behind_the_last_one_is_in_no_gap() -> None:
    one = series(start(None))
    one.image(image(0))
    one.image(image(5, pixels=None))
    found = one.close(ended())
    assert (found.missed, found.errored, found.errored_in_gaps) == (0, 1, 0)
    assert (found.books.expected, found.books.made, found.books.errored) == (2, 1, 1)


def test_a_number_beyond_the_series_is_refused() -> None:
    one = series(start(2))
    one.image(image(2))
    one.image(image(0))
    found = one.close(None)
    assert (found.refused, found.images, found.missed) == (1, 1, 0)
    assert found.troubles == ["image 2: the series has 2", "its end did not come"]
    endless = series(start(None))
    endless.image(image(1 << 40))
    assert endless.received.refused == 1


def test_the_senders_own_losses_count_where_it_tells_them_of_the_whole_run() -> None:
    for said, wanted in (
        ({"whole_run": True, "missing": 3, "errored": 2}, (3, 2)),
        ({"missing": 3, "errored": 2}, (0, 0)),
        ({"whole_run": True, "missing": -1, "errored": True}, (0, 0)),
    ):
        one = series(start(1))
        one.image(image(0))
        found = one.close(ended(**said))
        assert (found.never_sent, found.spoilt) == wanted


def test_each_channel_has_files_of_its_own_under_a_safe_name() -> None:
    one = series(start(2, ("a/b", "a b", "ü")))
    one.image(image(0, channels=("a/b", "a b", "ü")))
    assert [file.name for file in File.made] == ["run_a_b_1", "run_a_b_2", "run___3"]
    one.image(image(1, channels=("a/b",)))
    assert one.received.troubles == ["image 1: channels a/b; the series has a/b, a b, ü"]


def test_channels_that_lack_are_a_loss_and_others_a_remark() -> None:
    one = series(start(1, ("low", "high")))
    one.image(image(0, channels=("low", "extra")))
    assert one.received.troubles == ["the start names the channels low, high, and images lack high"]
    assert one.received.notes == ["images hold the channels extra, which the start does not name"]


def test_a_series_without_its_start_says_so() -> None:
    one = series(image(0))
    assert not one.received.started
    assert one.received.troubles == ["its start did not come: the files say nothing of the experiment"]


@pytest.mark.parametrize(
    ("first", "pixels", "says"),
    [
        (start(1), PIXELS.astype(np.float64), "pixels of float64; files hold uint8, uint16"),
        (start(1, image_size_x=4), PIXELS, "its images have 3 × 2 pixels, and the start message says image_size_x = 4"),
    ],
)
def test_pixels_that_files_do_not_hold_or_the_start_does_not_announce_are_refused(
    first: Start, pixels: Any, says: str
) -> None:
    one = series(first)
    one.image(image(0, pixels=pixels))
    found = one.close(ended())
    assert found.refused == 1
    assert says in found.troubles[0]
    assert "no image could be read, and no file is written" in found.troubles
    assert found.files == []
