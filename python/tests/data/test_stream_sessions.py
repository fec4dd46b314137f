# SPDX-License-Identifier: Apache-2.0
"""Recorded sessions of other Stream V2 senders: valid messages become files, broken ones are refused with a reason."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

import rashpa
from rashpa.cli.main import app
from rashpa.data.stream import stream_recording
from rashpa.data.stream.stream_recording import RecordingError, recorded_messages
from rashpa.node.offline.receive_stream import StreamFiles, read_recording
from rashpa.node.offline.received import Received

pytestmark = pytest.mark.whole

cbor2 = pytest.importorskip("cbor2")

MAGIC = b"\xd9\xd9\xf7"
ROWS, COLUMNS, IMAGES = 24, 40, 3
LITTLE = {"uint8": 64, "uint16": 69, "uint32": 70, "int16": 77, "int32": 78, "float32": 85}
BIG = {"uint16": 65, "uint32": 66, "int16": 73, "int32": 74, "float32": 81}


def pixels(n: int, dtype: str) -> NDArray[Any]:
    return (np.arange(ROWS * COLUMNS) * (n + 3) % 251).reshape(ROWS, COLUMNS).astype(dtype)


def chunk_of(values: NDArray[Any], packed: str) -> bytes:
    """Return a chunk in the form of the HDF5 filters."""
    kind = hdf5plugin.Bitshuffle(cname="lz4") if packed == "bslz4" else hdf5plugin.LZ4()
    with h5py.File("chunk", "w", driver="core", backing_store=False) as file:
        made = file.create_dataset("a", data=values, chunks=values.shape, compression=kind)
        chunk: bytes = made.id.read_direct_chunk((0,) * values.ndim)[1]
        return chunk


def typed(values: NDArray[Any], packed: str, tags: dict[str, int] = LITTLE) -> Any:
    data: Any = values.tobytes() if tags is LITTLE else values.astype(values.dtype.newbyteorder(">")).tobytes()
    if packed:
        element = values.itemsize if packed == "bslz4" else 0
        data = cbor2.CBORTag(
            56500, [packed, element, chunk_of(np.frombuffer(data, values.dtype).reshape(values.shape), packed)]
        )
    return cbor2.CBORTag(tags[values.dtype.name], data)


def array(values: NDArray[Any], packed: str, tags: dict[str, int] = LITTLE) -> Any:
    return cbor2.CBORTag(40, [list(values.shape), typed(values, packed, tags)])


@dataclass
class Session:
    """Describes a sender's messages. `channels`: name -> type; `start`, `image`, `end`: fields to add, or to leave out when None."""

    packed: str = "bslz4"
    channels: dict[str, str] = field(default_factory=lambda: {"threshold_1": "uint32"})
    tags: dict[str, int] = field(default_factory=lambda: LITTLE)
    start: dict[str, Any] = field(default_factory=dict)
    image: dict[str, Any] = field(default_factory=dict)
    end: dict[str, Any] = field(default_factory=dict)
    images: int = IMAGES
    magic: bool = True
    dumps: Callable[[Any], bytes] = cbor2.dumps

    def messages(self) -> list[bytes]:
        names = list(self.channels)
        said: list[dict[str, Any]] = [
            {
                "type": "start", "arm_date": cbor2.CBORTag(0, "2026-01-31T12:00:00.5+01:00"), "beam_center_x": 20.5, "beam_center_y": 11.5, "channels": names,
                "count_time": 0.01, "countrate_correction_enabled": True, "detector_description": "Another Detector 500K", "detector_serial_number": "E-00-0000",
                "countrate_correction_lookup_table": typed(np.arange(100, dtype=np.uint32), self.packed), "detector_translation": [0.0, 0.0, 0.2],
                "flatfield": {name: array(np.ones((ROWS, COLUMNS), np.float32), self.packed) for name in names}, "flatfield_enabled": True,
                "frame_time": 0.02, "goniometer": {"omega": {"increment": 0.1, "start": 90.0}}, "image_size_x": COLUMNS, "image_size_y": ROWS,
                "incident_energy": 12398.4, "incident_wavelength": 1.0, "number_of_images": self.images, "pixel_mask_enabled": True,
                "pixel_mask": {name: array(np.eye(ROWS, COLUMNS, dtype=np.uint32), self.packed) for name in names}, "pixel_size_x": 7.5e-5, "pixel_size_y": 7.5e-5,
                "saturation_value": 200, "sensor_material": "Si", "sensor_thickness": 4.5e-4, "series_id": 12, "series_unique_id": "01GRXX36M4QE98SHNNEKTCR7G7",
                "threshold_energy": dict.fromkeys(names, 6000.0), "user_data": "anything", "virtual_pixel_interpolation_enabled": False,
            } | self.start
        ]  # fmt: skip
        for n in range(self.images):
            data = {
                name: array(pixels(n + 10 * at, dtype), self.packed, self.tags)
                for at, (name, dtype) in enumerate(self.channels.items())
            }
            said.append(
                {
                    "type": "image", "series_id": 12, "series_unique_id": "01GRXX36M4QE98SHNNEKTCR7G7", "image_id": n, "real_time": [1_000_000, 50_000_000],
                    "series_date": cbor2.CBORTag(0, "2026-01-31T11:00:01Z"), "start_time": [n * 1_000_000, 50_000_000],
                    "stop_time": [(n + 1) * 1_000_000, 50_000_000], "user_data": [1, 2], "data": data,
                } | self.image
            )  # fmt: skip
        said.append({"type": "end", "series_id": 12, "series_unique_id": "01GRXX36M4QE98SHNNEKTCR7G7"} | self.end)
        made = [self.dumps({key: value for key, value in one.items() if value is not None}) for one in said]
        return [MAGIC + one if self.magic else one for one in made]


OPTIONAL = dict.fromkeys(
    ("arm_date", "beam_center_x", "channels", "count_time", "countrate_correction_lookup_table", "detector_translation", "flatfield", "goniometer",
     "incident_energy", "number_of_images", "pixel_mask", "saturation_value", "sensor_thickness", "threshold_energy", "user_data", "pixel_size_x")
)  # fmt: skip

VALID = {
    **{f"{dtype} {packed or 'plain'}": Session(packed, {"threshold_1": dtype}) for dtype in LITTLE for packed in ("bslz4", "lz4", "")},
    **{f"{dtype} large end first, {packed or 'plain'}": Session(packed, {"x": dtype}, BIG) for dtype in BIG for packed in ("bslz4", "")},
    "two thresholds": Session(channels={"threshold_1": "uint16", "threshold_2": "uint16"}),
    "four channels of other names": Session(channels={"difference": "int32", "low/high": "uint8", "low_high": "uint8", "β": "uint32"}),
    "without magic": Session(magic=False),
    "nothing optional": Session(start=OPTIONAL, image={"real_time": None, "series_date": None, "start_time": None, "stop_time": None, "user_data": None}),
    "basic header": Session(start=dict.fromkeys(("countrate_correction_lookup_table", "flatfield", "pixel_mask"))),
    "no unique id": Session(start={"series_unique_id": None}, image={"series_unique_id": None}, end={"series_unique_id": None}),
    "unknown fields": Session(start={"new": {"a": [1]}}, image={"new": cbor2.CBORTag(6, [1.5])}, end={"new": None, "last": True}),
    "number of images unknown": Session(start={"number_of_images": 0}),
    "number of images of another kind": Session(start={"number_of_images": 3.0}),
    "canonical": Session(dumps=lambda said: cbor2.dumps(said, canonical=True)),
    "mask of one channel": Session(channels={"a": "uint16", "b": "uint16"}, start={"pixel_mask": {"a": array(np.eye(ROWS, COLUMNS, dtype=np.uint32), "")}}),
    "a long series id": Session(start={"series_id": 1 << 40}, image={"series_id": 1 << 40}, end={"series_id": 1 << 40}),
}  # fmt: skip


def record(folder: Path, messages: list[bytes]) -> Path:
    folder.mkdir()
    for number, message in enumerate(messages, 1):
        (folder / f"{number:06}.cbor").write_bytes(message)
    return folder


def read(tmp_path: Path, session: Session) -> Received:
    files = StreamFiles(tmp_path / "got")
    read_recording(record(tmp_path / "recording", session.messages()), files)
    files.close()
    (received,) = files.done
    return received


@pytest.mark.parametrize("name", list(VALID))
def test_every_valid_session_becomes_files(tmp_path: Path, name: str) -> None:
    session = VALID[name]
    received = read(tmp_path, session)
    assert received.whole, received
    assert received.images == IMAGES
    assert len(received.files) == len(session.channels)
    for at, (file, dtype) in enumerate(zip(received.files, session.channels.values(), strict=True)):
        got = rashpa.open(file)
        assert len(got) == IMAGES
        for n in range(IMAGES):
            np.testing.assert_array_equal(got.image(n), pixels(n + 10 * at, dtype))
            assert got.image(n).dtype == dtype


def test_files_say_when_images_were_taken_and_what_the_start_says(tmp_path: Path) -> None:
    received = read(tmp_path, Session())
    tables = rashpa.open(received.files[0]).tables
    second = 1_769_857_201 + 37  # 2026-01-31T11:00:01Z, TAI
    assert tables.timestamp_ns.tolist() == [second * 10**9 + n * 20_000_000 for n in range(IMAGES)]
    with h5py.File(received.files[0]) as file:
        assert file["entry/start_time"][()].decode() == "2026-01-31T11:00:00.500000Z"
        assert file["entry/instrument/detector/distance"][()] == 0.2
        assert file["entry/instrument/detector/pixel_mask"][3, 3] == 1


def test_a_series_without_images_is_whole_and_has_no_file(tmp_path: Path) -> None:
    received = read(tmp_path, Session(images=0))
    assert received.whole, received
    assert received.files == []


BROKEN: dict[str, tuple[Session, str]] = {
    "another packing": (Session(image={"data": {"a": cbor2.CBORTag(40, [[1, 8], cbor2.CBORTag(69, cbor2.CBORTag(56500, ["zstd", 0, bytes(20)]))])}}), "packed with 'zstd'"),
    "three dimensions": (Session(image={"data": {"a": cbor2.CBORTag(40, [[1, 2, 4], cbor2.CBORTag(64, bytes(8))])}}), "no two counts"),
    "columns first": (Session(image={"data": {"a": cbor2.CBORTag(1040, [[2, 4], cbor2.CBORTag(64, bytes(8))])}}), "no array of two dimensions"),
    "too few bytes": (Session(image={"data": {"a": cbor2.CBORTag(40, [[2, 4], cbor2.CBORTag(64, bytes(7))])}}), "7 bytes for 2 × 4 pixels"),
    "numbers of eight bytes": (Session(image={"data": {"a": cbor2.CBORTag(40, [[2, 4], cbor2.CBORTag(71, bytes(64))])}}), "pixels of uint64; files hold"),
    "no data": (Session(image={"data": None}), "data is no map"),
    "no image number": (Session(image={"image_id": None}), "image_id is 'None'"),
    "an image number that is none": (Session(image={"image_id": -1}), "image_id is '-1'"),
    "damaged chunk": (Session(image={"data": {"a": cbor2.CBORTag(40, [[2, 4], cbor2.CBORTag(69, cbor2.CBORTag(56500, ["bslz4", 2, b"\0" * 7 + b"\x10" + b"\xff" * 12]))])}}), "damaged"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BROKEN))
def test_what_is_broken_is_refused_in_words(tmp_path: Path, name: str) -> None:
    session, says = BROKEN[name]
    received = read(tmp_path, session)
    assert not received.whole
    assert received.refused == IMAGES
    assert any(says in text for text in received.troubles), received.troubles
    assert received.files == []


def test_one_file_holds_all_messages_as_items_or_as_strings(tmp_path: Path) -> None:
    messages = Session().messages()
    (tmp_path / "items.cbor").write_bytes(b"".join(messages))
    (tmp_path / "strings.cbor").write_bytes(b"".join(cbor2.dumps(message) for message in messages))
    for name in ("items", "strings"):
        assert [bytes(one) for one in recorded_messages(tmp_path / f"{name}.cbor")] == messages


@pytest.mark.parametrize("piece", [1, 7, 4096])
def test_one_file_is_read_in_pieces_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr(stream_recording, "_PIECE", piece)
    messages = Session().messages()
    (tmp_path / "items.cbor").write_bytes(b"".join(messages))
    assert [bytes(one) for one in recorded_messages(tmp_path / "items.cbor")] == messages
    (tmp_path / "cut.cbor").write_bytes(b"".join(messages)[:-3])
    assert [bytes(one) for one in recorded_messages(tmp_path / "cut.cbor")] == [*messages[:-1], messages[-1][:-3]]


def test_a_file_that_is_cut_while_it_is_read_ends_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_recording, "_PIECE", 4096)
    messages = Session(packed="").messages()
    path = tmp_path / "items.cbor"
    path.write_bytes(b"".join(messages))
    found = recorded_messages(path)
    assert bytes(next(found)) == messages[0]
    os.truncate(path, 10)
    assert len(list(found)) < len(messages)


def test_names_are_in_the_order_of_their_numbers_between_start_and_end(tmp_path: Path) -> None:
    names = ["start", "image_2", "image_10", "end"]
    for name in names:
        (tmp_path / f"{name}.cbor").write_bytes(cbor2.dumps(name))
    assert [cbor2.loads(bytes(one)) for one in recorded_messages(tmp_path)] == names


def test_the_command_reads_a_recording_and_goes_on_behind_a_broken_file(tmp_path: Path) -> None:
    folder = record(tmp_path / "recording", Session().messages())
    done = CliRunner().invoke(app, ["receive-stream", str(folder), str(tmp_path / "got")])
    assert done.exit_code == 0, done.output
    assert "series 12: 3 images: " in done.output
    (folder / "000003.cbor").write_bytes(b"\xa1")
    done = CliRunner().invoke(app, ["receive-stream", str(folder), str(tmp_path / "got"), "--replace"])
    assert done.exit_code == 3
    assert "series 12: 2 images, missed 1, 1 messages could not be read" in done.output


@pytest.mark.parametrize("what", ["empty folder", "no file", "empty file", "no regular file"])
def test_what_is_no_recording_is_refused(tmp_path: Path, what: str) -> None:
    path = {"empty folder": tmp_path, "no regular file": Path("/dev/null")}.get(what, tmp_path / "a.cbor")
    if what == "empty file":
        path.write_bytes(b"")
    with pytest.raises(RecordingError):
        list(recorded_messages(path))


def lossy(lost: Any, **regions: Any) -> Session:
    dtps = [
        {"id": 5, "module": 0, "x": 0, "y": 0, "width": COLUMNS, "height": ROWS, "turn": 0, "flip": False} | regions
    ]
    return Session(
        start={"user_data": {"dtps": dtps}},
        image={"user_data": {"completeness": "partial", "lost": lost, "lost_runs": 1}},
    )


def test_lost_lines_are_in_the_files(tmp_path: Path) -> None:
    received = read(tmp_path, lossy([[5, 2, 3], [5, 20, 1]]))
    assert received.whole, received
    got = rashpa.open(received.files[0])
    for row in range(IMAGES):
        mask = got.lost_mask(row)
        assert np.flatnonzero(mask.all(axis=1)).tolist() == [2, 3, 4, 20]
        assert mask.sum() == 4 * COLUMNS


@pytest.mark.parametrize("lost", [[[5, 20, 9]], [[6, 0, 1]], [[5, -1, 2]], "all", [[5, 1]], [["a", 1, 2]]])
def test_lost_lines_that_cannot_be_are_left_out(tmp_path: Path, lost: Any) -> None:
    received = read(tmp_path, lossy(lost))
    assert not rashpa.open(received.files[0]).lost_mask(0).any()


def test_regions_outside_of_the_image_are_left_out(tmp_path: Path) -> None:
    received = read(tmp_path, lossy([[5, 2, 3]], width=COLUMNS + 1))
    assert rashpa.open(received.files[0]).lost_runs(0) == ()
