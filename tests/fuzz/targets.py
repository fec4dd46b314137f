# SPDX-License-Identifier: Apache-2.0
"""Defines the Python parsers of foreign bytes as functions: they read the bytes or refuse them with an error of rashpa; anything else is a finding."""

import atexit
import io
import json
import os
import shutil
import struct
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import cbor2
import numpy as np
import zstandard

from rashpa import _native
from rashpa.control.plan.run_plan import plan_run
from rashpa.control.runfile.run_file_reader import RunFileError, parse_run_file
from rashpa.control.telegrams import telegram, telegram_xml
from rashpa.data.datasets.calibration import load_map
from rashpa.data.datasets.dataset_directory import read_description
from rashpa.data.datasets.datasets import dataset_from_spec
from rashpa.data.files.bounded_cbor import item_place
from rashpa.data.stream.stream1 import read_start
from rashpa.data.stream.stream2 import Image, Other, Start, StreamError, read_message
from rashpa.data.stream.stream_regions import lost_of, regions_of
from rashpa.data.wire.packet import decode, encode
from rashpa.data.wire.packet_hex import PacketError, parse_hex
from rashpa.node.engine.dataset_parts import spec_of
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.series_facts import plain_of

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Target:
    """Describes one parser. `seeds`: good input; the regression corpus is corpus/<name>."""

    name: str
    run: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]


# ---- telegrams ------------------------------------------------------------------------------------------------------------------


def _telegram(data: bytes) -> None:
    try:
        message = telegram_xml.decode(data)
    except telegram_xml.TelegramError:
        return
    # What was understood can be said again, and means the same.
    again = telegram_xml.decode(telegram_xml.encode(message))
    assert repr(again) == repr(message), "a telegram changes when it is sent on"  # repr: nan is not equal to itself
    part = message.source or message.destination if isinstance(message, telegram.Configure) else None
    if part is not None:
        with suppress(EngineError):
            spec_of(part.dataset)


def _telegram_seeds() -> list[bytes]:
    return [path.read_bytes() for path in sorted((ROOT / "schema" / "golden").glob("*.xml"))]


# ---- run files ------------------------------------------------------------------------------------------------------------------


def _run_file(data: bytes) -> None:
    with suppress(RunFileError):
        plan_run(*parse_run_file(ROOT / "examples" / "fuzz.toml", data))


def _run_file_seeds() -> list[bytes]:
    return [path.read_bytes() for path in sorted((ROOT / "examples").glob("*.toml"))]


# ---- datasets: the first byte says which file it is ----------------------------------------------------------------------------

_MAP = np.linspace(0, 1, 24, dtype=np.float32).reshape(4, 6)
_FRAMES = np.arange(1, 49, dtype=np.uint16).reshape(2, 4, 6)
_MAPS = ("map.npy", "map.bin", "map.npy.zst", "map.bin.zst", "map.npz")
_RAW = ("frames.npy", "frames.bin", "frames.npy.zst", "frames.bin.zst")
_FILES = ("dataset.json", *_MAPS, *_RAW)


@cache
def _folder() -> Path:
    """Return a folder, in memory where the machine has such a place. The user of a long-running fuzzer removes it."""
    shm = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="rashpa-fuzz-", dir=shm if os.access(shm, os.W_OK) else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _dataset(data: bytes) -> None:
    if not data:
        return
    name = _FILES[data[0] % len(_FILES)]
    path = _folder() / name
    path.write_bytes(data[1:])
    with suppress(_native.NativeError):
        if name == "dataset.json":
            read_description(path.parent)
        elif name in _MAPS:
            reference = f"{path}:gain" if name.endswith(".npz") else str(path)
            assert load_map(reference, np.dtype("<f4"), _MAP.shape).shape == _MAP.shape
        else:
            loaded = dataset_from_spec({"kind": "files", "files": [[name]], "width": 6, "height": 4}, path.parent)
            assert (loaded.dataset.width, loaded.dataset.height) == (6, 4)


def _npy(array: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]") -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def _dataset_seeds() -> list[bytes]:
    description = {
        "format": "rashpa-dataset",
        "version": 1,
        "kind": "pattern",
        "label": "synthetic",
        "parameters": {"seed": 1},
        "width": 6,
        "height": 4,
        "pixel": "uint16",
        "modules": 1,
        "frames": 2,
        "energy_kev": 12.4,
        "frame_kind": ["hit", "dark"],
        "frame_flags": [0, 1],
        "files": {"module0_raw.npy": {"sha256": "0" * 64}},
    }
    archives = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as archive:
            archive.writestr("gain.npy", _npy(_MAP))
        archives.append(out.getvalue())
    files = {
        "dataset.json": [json.dumps(description, indent=1).encode()],
        "map.npy": [_npy(_MAP), _npy(_MAP.astype(np.float64).T.copy().T)],
        "map.bin": [_MAP.tobytes()],
        "map.npy.zst": [zstandard.compress(_npy(_MAP))],
        "map.bin.zst": [zstandard.compress(_MAP.tobytes())],
        "map.npz": archives,
        "frames.npy": [_npy(_FRAMES), _npy(_FRAMES[0])],
        "frames.bin": [_FRAMES.tobytes()],
        "frames.npy.zst": [zstandard.compress(_npy(_FRAMES))],
        "frames.bin.zst": [zstandard.compress(_FRAMES.tobytes())],
    }
    return [bytes([_FILES.index(name)]) + data for name, contents in files.items() for data in contents]


# ---- packets as text, and the JSON inside telegrams: the first byte says which -------------------------------------------------


def _packet(data: bytes) -> None:
    if not data:
        return
    try:
        said = data[1:].decode("utf-8")
    except UnicodeDecodeError:
        return
    kind = data[0] % 3
    if kind == 0:
        with suppress(PacketError):
            decode(parse_hex(said))
    elif kind == 1:
        with suppress(PacketError, ValueError, RecursionError):  # the command refuses what is no JSON
            packet = json.loads(said)
            with suppress(PacketError):
                encode(packet)
    else:
        part = telegram.Dataset(kind="files", parameters=(telegram.Parameter(name="files", value=said),))
        with suppress(EngineError):
            spec_of(part)


def _packet_seeds() -> list[bytes]:
    vectors = json.loads((ROOT / "schema" / "golden" / "roce_packets.json").read_text(encoding="utf-8"))
    seeds = []
    for vector in vectors[::5]:
        data = bytes.fromhex(vector["layer2"])
        seeds.append(b"\x00" + vector["layer2"].encode())
        seeds.append(b"\x01" + json.dumps(decode(data, "ethernet")).encode())
    return [*seeds, b'\x02[["a.npy"]]']


# ---- messages of Stream V2 -----------------------------------------------------------------------------------------------------


def _stream2(data: bytes) -> None:
    first, end = item_place(memoryview(data))
    assert 0 <= first <= end <= len(data), "an item that is not in the bytes"
    with suppress(StreamError):
        message = read_message(data)
        if not isinstance(message, Other):
            lost_of(message.user_data, regions_of(message.user_data, 8, 8))
        if isinstance(message, Image):
            for packed in message.data.values():
                packed.unpack()
        elif isinstance(message, Start):
            message.mask("threshold_1")
            message.number("beam_center_x")
            message.text("detector_description")


def _stream2_seeds() -> list[bytes]:
    codec, image = _native.BitshuffleLz4(2), np.arange(64, dtype=np.uint16).view(np.uint8)
    chunk = np.empty(codec.bound(image.size, 2), np.uint8)
    packed = chunk[: codec.compress(image, chunk)].tobytes()
    in_one_block = struct.pack(">QII", image.size, image.size, image.size) + image.tobytes()  # which is not compressed
    arrays = (
        cbor2.CBORTag(40, [[8, 8], cbor2.CBORTag(69, cbor2.CBORTag(56500, ["bslz4", 2, packed]))]),
        cbor2.CBORTag(40, [[8, 8], cbor2.CBORTag(69, cbor2.CBORTag(56500, ["lz4", 0, in_one_block]))]),
        cbor2.CBORTag(40, [[8, 8], cbor2.CBORTag(69, image.tobytes())]),
    )
    series = {"series_id": 1, "series_unique_id": "A"}
    mask = cbor2.CBORTag(40, [[8, 8], cbor2.CBORTag(70, bytes(256))])
    said = {
        "number_of_images": 5,
        "channels": ["threshold_1"],
        "beam_center_x": 1.5,
        "pixel_mask": {"threshold_1": mask},
    }
    region = {"id": 5, "module": 0, "x": 0, "y": 0, "width": 8, "height": 8, "turn": 0, "line_rows": [0, 2, 8]}
    times = {"series_date": cbor2.CBORTag(0, "2026-01-31T11:00:01Z"), "start_time": [1, 50]}
    return [
        cbor2.dumps({"type": "start", **series, **said}),
        *(cbor2.dumps({"type": "image", **series, "image_id": 3, "data": {"threshold_1": one}}) for one in arrays),
        cbor2.dumps({"type": "end", **series, "user_data": {"images": 3}}),
        b"\xd9\xd9\xf7"
        + cbor2.dumps({"type": "start", **series, "user_data": {"dtps": [region], "lost": [[5, 2, 3]]}}),
        b"\xd9\xd9\xf7" + cbor2.dumps({"type": "image", **series, "image_id": 0, **times, "data": {"x": arrays[1]}}),
        cbor2.dumps(cbor2.dumps({"type": "end", **series})),
    ]


# ---- starts of Stream V1 --------------------------------------------------------------------------------------------------------

_CUT = b"$$"


def _stream1(data: bytes) -> None:
    """Read frames that are cut at random places."""
    with suppress(StreamError):
        start = read_start(data.split(_CUT))
        plain_of(start.fields)
        start.mask("threshold_1")
        start.flatfield("threshold_1")
        start.number("beam_center_x")
        start.of_channel("threshold_energy", "threshold_1")


def _stream1_seeds() -> list[bytes]:
    head = b'{"htype":"dheader-1.0","series":4,"header_detail":"all"}'
    about = b'{"nimages":10,"ntrigger":2,"count_time":0.1,"detector_distance":0.2,"photon_energy":12000.0}'
    flatfield = b'{"htype":"dflatfield-1.0","shape":[4,2],"type":"float32"}'
    mask = b'{"htype":"dpixelmask-1.0","shape":[4,2],"type":"uint32"}'
    arrays = [flatfield, bytes(32), mask, bytes(range(32))]
    return [head, *(_CUT.join([head, about, *more]) for more in ([], arrays, [*arrays, b"appendix"]))]


TARGETS = {
    target.name: target
    for target in (
        Target("telegram", _telegram, _telegram_seeds),
        Target("run_file", _run_file, _run_file_seeds),
        Target("dataset", _dataset, _dataset_seeds),
        Target("packet_text", _packet, _packet_seeds),
        Target("stream2", _stream2, _stream2_seeds),
        Target("stream1", _stream1, _stream1_seeds),
    )
}
