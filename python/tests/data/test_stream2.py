# SPDX-License-Identifier: Apache-2.0
"""Messages of Stream V2 from any sender: valid parts are read, and invalid ones are refused."""

import dataclasses
import struct
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

import rashpa
from rashpa.data.base.books import DataBooks
from rashpa.data.files.bounded_cbor import CborError, check_cbor
from rashpa.data.stream.stream2 import Image, Other, Start, StreamError, read_message
from rashpa.node.engine.engine import EngineError
from rashpa.node.offline.receive_stream import StreamFiles
from rashpa.node.offline.received import Received

cbor2 = pytest.importorskip("cbor2")

_FILTERS = {"bslz4": hdf5plugin.Bitshuffle(cname="lz4"), "lz4": hdf5plugin.LZ4()}
TAGS = {"uint8": 64, "uint16": 69, "uint32": 70, "int16": 77, "int32": 78, "float32": 85}


def pixels(n: int, dtype: str = "uint16", shape: tuple[int, int] = (48, 64)) -> NDArray[Any]:
    return (np.arange(shape[0] * shape[1]) * (n + 3) % 251).reshape(shape).astype(dtype)


def array(values: NDArray[Any], packed: str = "bslz4", tag: int | None = None) -> Any:
    data: Any = values.tobytes()
    if packed:
        data = cbor2.CBORTag(
            56500, [packed, values.itemsize if packed == "bslz4" else 0, chunk_of(values, _FILTERS[packed])]
        )
    return cbor2.CBORTag(40, [list(values.shape), cbor2.CBORTag(tag or TAGS[values.dtype.name], data)])


def chunk_of(values: NDArray[Any], kind: Any) -> bytes:
    """Return a chunk in the form of this HDF5 filter."""
    with h5py.File("chunk", "w", driver="core", backing_store=False) as file:
        made = file.create_dataset("a", data=values, chunks=values.shape, compression=kind)
        chunk: bytes = made.id.read_direct_chunk((0,) * values.ndim)[1]
        return chunk


def start(number: int = 1, images: int = 5, **more: Any) -> bytes:
    said = {"type": "start", "series_id": number, "series_unique_id": f"ABC{number}", "number_of_images": images}
    packed: bytes = cbor2.dumps(said | {"channels": ["threshold_1"]} | more)
    return packed


def image(image_id: int, number: int = 1, data: dict[str, Any] | None = None, **more: Any) -> bytes:
    said = {"type": "image", "series_id": number, "series_unique_id": f"ABC{number}", "image_id": image_id}
    packed: bytes = cbor2.dumps(said | {"data": data or {"threshold_1": array(pixels(image_id))}} | more)
    return packed


def end(number: int = 1, **more: Any) -> bytes:
    packed: bytes = cbor2.dumps({"type": "end", "series_id": number, "series_unique_id": f"ABC{number}"} | more)
    return packed


def received(tmp_path: Path, messages: list[bytes], *, numbered: bool = False) -> list[Received]:
    files = StreamFiles(tmp_path / "got", numbered=numbered)
    for message in messages:
        files.take(message)
    files.close()
    return files.done


@pytest.mark.parametrize("packed", ["", "lz4", "bslz4"])
@pytest.mark.parametrize("dtype", list(TAGS))
def test_arrays_of_every_type_and_packing_are_read(packed: str, dtype: str) -> None:
    values = pixels(3, dtype)
    message = read_message(image(3, data={"a": array(values, packed)}))
    assert isinstance(message, Image)
    got = message.data["a"].unpack()
    assert got.dtype == values.dtype
    np.testing.assert_array_equal(got, values)


def lz4_image(values: NDArray[Any], block_bytes: int) -> bytes:
    chunk = chunk_of(values, hdf5plugin.LZ4(nbytes=block_bytes))
    packed = cbor2.CBORTag(TAGS[values.dtype.name], cbor2.CBORTag(56500, ["lz4", 0, chunk]))
    return image(0, data={"a": cbor2.CBORTag(40, [list(values.shape), packed])})


@pytest.mark.parametrize("block_bytes", [16, 1000, 4096, 6143, 6144, 0])
@pytest.mark.parametrize("most", [3, 1 << 16])
def test_lz4_is_read_in_blocks_of_any_size_compressed_or_not(block_bytes: int, most: int) -> None:
    values = np.random.default_rng(5).integers(0, most, (48, 64)).astype("uint16")
    message = read_message(lz4_image(values, block_bytes))
    assert isinstance(message, Image)
    np.testing.assert_array_equal(message.data["a"].unpack(), values)


def test_damaged_lz4_is_refused_or_makes_pixels_of_the_shape_that_was_announced() -> None:
    random = np.random.default_rng(7)
    whole = read_message(lz4_image(random.integers(0, 9, (48, 64)).astype("uint16"), 1024))
    assert isinstance(whole, Image)
    packed, refused = whole.data["a"], 0
    for _ in range(3000):
        damaged = bytearray(packed.data[: random.integers(12, len(packed.data) + 1)])
        for at in random.integers(8, len(damaged), random.integers(0, 4)) if len(damaged) > 8 else ():
            damaged[at] = random.integers(0, 256)
        try:
            got = dataclasses.replace(packed, data=bytes(damaged)).unpack()
        except StreamError as error:
            assert str(error) == "the lz4 bytes are damaged"
            refused += 1
        else:
            assert (got.shape, got.dtype) == (packed.shape, packed.dtype)
    assert refused > 2000


def test_numbers_with_their_large_end_first_are_read() -> None:
    values = pixels(3, "uint16")
    packed = cbor2.CBORTag(40, [list(values.shape), cbor2.CBORTag(65, values.astype(">u2").tobytes())])
    message = read_message(image(3, data={"a": packed}))
    assert isinstance(message, Image)
    np.testing.assert_array_equal(message.data["a"].unpack(), values)


def test_a_series_becomes_a_file_with_what_its_start_says(tmp_path: Path) -> None:
    mask = np.zeros((48, 64), np.uint32)
    mask[3, 5] = 1
    said = {
        "beam_center_x": 12.5, "beam_center_y": 7.25, "incident_energy": 12_000.0, "incident_wavelength": 1.0332,
        "detector_translation": [0.0, 0.0, 0.125], "sensor_material": "Si", "sensor_thickness": 0.00032, "pixel_size_x": 7.5e-5,
        "count_time": 0.001, "frame_time": 0.002, "detector_description": "a detector", "saturation_value": 1000,
        "arm_date": cbor2.CBORTag(0, "2026-01-31T12:00:00+01:00"), "pixel_mask": {"threshold_1": array(mask)},
    }  # fmt: skip
    (one,) = received(tmp_path, [start(**said), *(image(n) for n in range(5)), end()])
    assert one.whole, one
    assert one.files == [str(tmp_path / "got_master.h5")]
    got = rashpa.open(one.files[0])
    assert [got.image(n).tolist() for n in range(5)] == [pixels(n).tolist() for n in range(5)]
    with h5py.File(one.files[0]) as file:
        detector = file["entry/instrument/detector"]
        assert detector["distance"][()] == 0.125
        assert detector["beam_center_x"][()] == 12.5
        assert detector["saturation_value"][()] == 1000
        assert detector["pixel_mask"][3, 5] == 1
        assert file["entry/start_time"][()].decode() == "2026-01-31T11:00:00Z"
        assert file["entry/instrument/beam/incident_wavelength"][()] == 1.0332


def test_what_is_missed_is_counted_and_stands_in_the_tables(tmp_path: Path) -> None:
    (one,) = received(tmp_path, [start(), image(1), image(3), image(2), end()])
    assert (one.images, one.missed, one.late) == (2, 3, 1)  # 0, 2 and 4
    assert not one.whole
    tables = rashpa.open(one.files[0]).tables
    assert tables.frame_number.tolist() == [0, 1, 2, 3]
    assert tables.completeness.tolist() == [3, 1, 3, 1]


def test_our_senders_say_at_the_end_how_many_there_were(tmp_path: Path) -> None:
    (one,) = received(tmp_path, [start(images=100), image(0), image(1), end(user_data={"images": 2})])
    assert one.whole
    (two,) = received(tmp_path / "b", [start(images=100), image(0), end(user_data={"images": 2})])
    assert two.missed == 1


def test_without_a_start_images_are_stored_and_it_is_said(tmp_path: Path) -> None:
    (one,) = received(tmp_path, [image(0), image(1), end()])
    assert (one.images, one.started, one.ended) == (2, False, True)
    assert "its start did not come" in one.troubles[0]
    assert len(rashpa.open(one.files[0])) == 2


def leftovers(images: tuple[int, ...] = (8, 9), ended: bool = True) -> list[bytes]:
    return [*(image(n, 7) for n in images), *([end(7)] if ended else [])]


WHOLE = [start(8, 4), *(image(n, 8) for n in range(4)), end(8)]


@pytest.mark.parametrize(
    "before",
    [
        leftovers(),
        leftovers(ended=False),
        leftovers((), ended=True),
        leftovers((0, 1)),
        [*leftovers(), *leftovers()],
        [*leftovers((5,), ended=False), image(3, 6), end(6), end(7)],
    ],
)
def test_what_is_left_of_other_series_is_not_stored_as_the_one_that_begins(tmp_path: Path, before: list[bytes]) -> None:
    files = StreamFiles(tmp_path / "got")
    for number, message in enumerate([*before, *WHOLE], 1):
        assert files.series == 0, number
        files.take(message)
    assert files.series == 1
    files.close()
    (one,) = [one for one in files.done if one.started]
    assert one.whole, one
    assert one.books == DataBooks(4, 4)
    assert one.files == [str(tmp_path / "got_master.h5")]
    got = rashpa.open(one.files[0])
    assert [got.image(n).tolist() for n in range(4)] == [pixels(n).tolist() for n in range(4)]


@pytest.mark.parametrize("place", range(1, 6))
@pytest.mark.parametrize(
    "stray",
    [
        image(9, 7),
        end(7),
        start(7),
        start(8, series_unique_id="y"),
        image(0, 8, series_unique_id="other"),
        end(8, series_unique_id="x"),
    ],
)
def test_messages_of_other_series_do_not_end_the_one_that_is_received(tmp_path: Path, place: int, stray: bytes) -> None:
    files = StreamFiles(tmp_path / "got")
    for message in [*WHOLE[:place], stray, *WHOLE[place:]]:
        files.take(message)
    files.close()
    (one,) = files.done
    assert one.whole, one
    assert len(rashpa.open(one.files[0])) == 4
    assert sum(files.strays.values()) == 1


def test_a_series_without_an_end_ends_where_the_next_one_begins(tmp_path: Path) -> None:
    aborted = [start(1, 4), image(0, 1), image(1, 1)]
    first, second = received(tmp_path, [*aborted, *WHOLE], numbered=True)
    assert (first.images, first.ended) == (2, False)
    assert second.whole, second
    files = StreamFiles(tmp_path / "one")  # one series alone was asked for: the next one gets no files of its name
    for message in [*aborted, *WHOLE]:
        files.take(message)
    files.close()
    (one,) = files.done
    assert (one.images, one.ended) == (2, False)
    assert files.strays
    (late,) = received(tmp_path / "late", [*aborted, start(2)])[:1]
    assert not late.ended


def test_an_image_that_comes_twice_is_no_loss(tmp_path: Path) -> None:
    (one,) = received(tmp_path, [start(images=3), image(0), image(0), image(2), image(2), image(1), end()])
    assert (one.images, one.repeated, one.late, one.missed) == (2, 2, 1, 1)
    (two,) = received(tmp_path / "b", [start(images=2), image(0), image(1), image(1), image(0), end()])
    assert two.whole, two
    assert "more than once" in two.notes[-1]


def test_strays_of_many_series_take_no_room(tmp_path: Path) -> None:
    files = StreamFiles(tmp_path / "got")
    files.take(WHOLE[0])
    for number in range(100, 1100):
        files.take(image(0, number))
    assert len(files.strays) < 100


def test_who_says_no_unique_id_is_of_the_series_of_its_number(tmp_path: Path) -> None:
    messages = [start(8, 1), image(0, 8, series_unique_id=None), end(8, series_unique_id=None)]
    (one,) = received(tmp_path, messages)
    assert one.whole, one


def test_books_close_whatever_becomes_of_images(tmp_path: Path) -> None:
    broken = image(3, data={"threshold_1": 3})
    other = {"threshold_1": array(pixels(1, shape=(8, 8)))}
    messages = [start(images=6), image(0), image(1, data=other), b"\xff", broken, image(4), image(9), end()]
    (one,) = received(tmp_path, messages)
    # 2, 3 and 5 are missed: what cannot be read has no number that counts; 1 is errored, and 9 is none of the series
    assert one.books == DataBooks(6, 2, 3, 1, one.books.troubles)
    assert one.books.exit_code == 3
    (two,) = received(
        tmp_path / "b", [start(images=0), image(0), image(1, data=other), image(2), image(3, data=other), end()]
    )
    assert two.books == DataBooks(4, 2, 0, 2, two.books.troubles)


def test_a_start_that_comes_again_changes_nothing(tmp_path: Path) -> None:
    (one,) = received(tmp_path, [start(images=2), image(0), start(images=2), image(1), end(), end()])
    assert one.whole, one


def test_each_series_has_files_of_its_own_and_one_without_an_end_says_so(tmp_path: Path) -> None:
    messages = [start(1, 2), image(0, 1), start(2, 1), image(0, 2), end(2)]
    first, second = received(tmp_path, messages, numbered=True)
    assert "its end did not come" in first.troubles
    assert not first.ended
    assert second.whole
    assert first.files + second.files == [str(tmp_path / f"got_000{n}_master.h5") for n in (1, 2)]


def test_each_channel_has_files_of_its_own(tmp_path: Path) -> None:
    def both(n: int) -> dict[str, Any]:
        return {"threshold_1": array(pixels(n)), "threshold_2": array(pixels(n + 7, "uint32"), "lz4")}

    (one,) = received(tmp_path, [start(images=2), image(0, data=both(0)), image(1, data=both(1)), end()])
    assert one.whole
    for name, place, dtype in (("threshold_1", 0, "uint16"), ("threshold_2", 7, "uint32")):
        got = rashpa.open(tmp_path / f"got_{name}_master.h5")
        np.testing.assert_array_equal(got.image(1), pixels(1 + place, dtype))


def test_an_image_of_another_shape_is_refused_and_the_rest_is_stored(tmp_path: Path) -> None:
    other = {"threshold_1": array(pixels(1, shape=(8, 8)))}
    (one,) = received(tmp_path, [start(images=3), image(0), image(1, data=other), image(2), end()])
    assert (one.images, one.refused, one.missed) == (2, 1, 1)
    assert "image 1: 8 × 8 pixels" in one.troubles[0]


def test_files_that_are_there_are_not_written_over(tmp_path: Path) -> None:
    received(tmp_path, [start(images=1), image(0), end()])
    with pytest.raises(EngineError, match="exists"):
        received(tmp_path, [start(images=1), image(0), end()])


def test_messages_of_other_types_are_passed_over() -> None:
    message = read_message(cbor2.dumps({"type": "calibration", "series_id": 1, "gain": 3}))
    assert isinstance(message, Other)
    assert message.type == "calibration"


def bomb(size: int, packed: str = "bslz4") -> bytes:
    data = struct.pack(">QI", size, 8192) + struct.pack(">I", 4) + b"\0\0\0\0"
    return image(
        0,
        data={"a": cbor2.CBORTag(40, [[1 << 20, 1 << 20], cbor2.CBORTag(69, cbor2.CBORTag(56500, [packed, 2, data]))])},
    )


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (b"", "it ends at byte 0"),
        (b'{"htype":"dheader-1.0","series":1}', "Stream V1 .* version 2"),
        (b"\xff", "no item|begins no item"),
        (b"\x81" * 100 + b"\x00", "inside each other"),
        (b"\x9b" + b"\xff" * 8, "are there"),
        (b"\x5b" + b"\x7f" * 8, "a string of"),
        (cbor2.dumps([1]) + b"\x00", "behind the end"),
        (b"\xc4\x82\x1a\x7f\xff\xff\xff\x01", "tag 4 .* is not read"),
        (b"\x9f" + b"\x00" * 200_000 + b"\xff", "items"),
        (cbor2.dumps([1]), "no map with a type"),
        (cbor2.dumps({"type": "image", "series_id": -1}), "series_id is '-1'"),
        (image(1 << 40).replace(b"image_id", b"image_ix"), "image_id is 'None'"),
        (bomb(1 << 41), "pixels, 134217728 at most"),
        (image(0, data={"a": array(pixels(0), "", 70)}), "are due"),
        (image(0, data={"a": array(pixels(0), "", 99)}), "tag 99, which is not read"),
        (image(0, data={"a": 3}), "no array of two dimensions"),
    ],
)
def test_what_is_no_message_is_refused_with_a_reason(message: bytes, says: str) -> None:
    with pytest.raises(StreamError, match=says):
        read_message(message)


@pytest.mark.parametrize("packed", ["bslz4", "lz4"])
def test_damaged_pixels_are_refused(packed: str) -> None:
    whole = image(0, data={"a": array(pixels(0), packed)})
    damaged = whole[:-200] + bytes(200)
    message = read_message(damaged)
    assert isinstance(message, Image)
    with pytest.raises(StreamError, match=r"damaged|make"):
        message.data["a"].unpack()


def test_an_item_of_any_depth_within_the_limit_is_right() -> None:
    check_cbor(cbor2.dumps({"a": [1, 2.5, None, True, {"b": b"x" * 300}], "c": "d" * 70_000, "e": -5}))
    check_cbor(b"\xbf\x61a\x9f\x01\x02\xff\xff")
    with pytest.raises(CborError):
        check_cbor(b"\xbf\x61a\x9f\x01\x02\xff")


def test_a_start_with_strange_values_is_still_a_start() -> None:
    message = read_message(start(beam_center_x="far", incident_energy=float("nan"), channels=3, arm_date=7))
    assert isinstance(message, Start)
    assert message.number("beam_center_x") == 0.0
    assert message.number("incident_energy") == 0.0
    assert message.channels == ()
