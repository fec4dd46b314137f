# SPDX-License-Identifier: Apache-2.0
"""Tests detectors that send DECTRIS Stream V2, as a user runs them: an emulated one with faults, and an independent sender."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

import rashpa
from rashpa.testing.free_ports import free_ports
from rashpa.testing.run_file import run_file
from rashpa.testing.typed_run import good_run, typed_run

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "17_stream2.toml"


def test_the_example_loses_what_the_injector_says(tmp_path: Path) -> None:
    text = re.sub(r"(?m)^frames = 600$", "frames = 150", EXAMPLE.read_text(encoding="utf-8"))
    text = re.sub(r"(?m)^(drop|duplicate|reorder|corrupt) = .*$", r"\1 = 0.03", text)
    output, report = good_run(text, tmp_path)
    assert "0 unexplained" in output
    books, injected = report["buffers"][0]["books"], report["injected"]
    assert books["expected"] == 150
    assert books["missing"] == injected["drop"] + injected["corrupt"] > 0
    assert report["link"]["malformed"] == injected["corrupt"]


SENDER = '''
"""A detector of two thresholds, written with the libraries that DECTRIS's own client uses."""
import sys
import cbor2, h5py, hdf5plugin, numpy as np, zmq, zstandard

rows, columns, images = 64, 96, 12
socket = zmq.Context().socket(zmq.PUSH)
socket.linger = 20000
socket.bind("tcp://127.0.0.1:" + sys.argv[1])

def chunk_of(array, filter_of):
    with h5py.File("memory", "w", driver="core", backing_store=False) as file:
        data = file.create_dataset("data", data=array, chunks=array.shape, **filter_of)
        return data.id.read_direct_chunk((0, 0))[1]

def tagged(array, packing):
    if packing == "bslz4":
        data = chunk_of(array, hdf5plugin.Bitshuffle(cname="lz4"))
    elif packing == "lz4":
        data = chunk_of(array, hdf5plugin.LZ4())
    elif packing == "zstd":
        data = zstandard.ZstdCompressor().compress(array.tobytes())
    else:
        data = array.tobytes()
    value = cbor2.CBORTag(56500, [packing, array.itemsize, data]) if packing else data
    return cbor2.CBORTag(40, [list(array.shape), cbor2.CBORTag({"uint16": 69, "uint32": 70, "float32": 85}[array.dtype.name], value)])

def image_of(number, threshold):
    return np.random.default_rng(100 * threshold + number).poisson(3, (rows, columns)).astype(np.uint16)

mask = np.zeros((rows, columns), np.uint32)
mask[3, 5] = 1
flat = np.full((rows, columns), 1.5, np.float32)
names = ["threshold_1", "threshold_2"]
common = {"series_id": 7, "series_unique_id": "01ABC"}
socket.send(cbor2.dumps(cbor2.CBORTag(55799, {
    "type": "start", **common, "channels": names, "number_of_images": images, "image_dtype": "uint16",
    "image_size_x": columns, "image_size_y": rows, "incident_energy": 12000.0, "incident_wavelength": 1.0332,
    "detector_translation": [0.0, 0.0, 0.25], "detector_serial_number": "E-42",
    "threshold_energy": {"threshold_1": 6000.0, "threshold_2": 9000.0},
    "pixel_mask": {name: tagged(mask, "bslz4") for name in names},
    "flatfield": {name: tagged(flat, "lz4") for name in names}, "flatfield_enabled": True,
})))
order = [0, 1, 3, 2, 4, 5, 5, 7, 8, 9, 10, 11]
for place, number in enumerate(order):
    if number == 7:  # before the last image: the run may end with that one
        socket.send(b"\\x81" * 40)
    packing = ("bslz4", "lz4", "zstd", "")[place % 4]
    socket.send(cbor2.dumps({
        "type": "image", **common, "image_id": number, "real_time": [3, 1000], "series_date": "2025-03-01T12:00:00Z", "start_time": [number * 10**6, 10**9],
        "data": {name: tagged(image_of(number, t), packing) for t, name in enumerate(names)},
    }))
socket.send(cbor2.dumps({"type": "end", **common}))
'''


def run_text(words: list[str], port: int, frames: int = 12, module: list[dict[str, int]] | None = None) -> str:
    return run_file(
        run={"name": "eiger2", "frames": frames, "output": ".", "existing": "replace"},
        detector={
            "width": 96,
            "height": 64,
            "pixel": "uint16",
            "control": {"kind": "command", "start": words, "silence_s": 8.0},
            "module": module or [{"x": 0, "y": 0}, {"x": 0, "y": 64}],
        },
        link={"kind": "stream2", "stream2": {"address": f"tcp://127.0.0.1:{port}"}},
        buffer={
            "name": "both",
            "slots": 16,
            "stack": 2,
            "deadline_ms": 5000,
            "kernel": [{"name": "total_counts"}],
            "sink": [{"kind": "hdf5"}],
        },
        dataset=None,
        receiver=None,
    )


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, str, dict[str, Any]]:
    """Carry out a run of an independent sender; return folder, exit code, output and report."""
    for package in ("cbor2", "hdf5plugin", "zmq", "zstandard"):
        pytest.importorskip(package)
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "send.py").write_text(SENDER, encoding="utf-8")
    port = free_ports(1)
    words = [sys.executable, "send.py", str(port)]
    return folder, *typed_run(run_text(words=words, port=port), folder)


def test_images_of_a_foreign_sender_are_those_it_has_made(foreign: tuple[Path, int, str, dict[str, Any]]) -> None:
    folder, code, output, report = foreign
    assert code == 0, output
    books, counts = report["buffers"][0]["books"], report["link"]
    assert (books["complete"], books["missing"]) == (11, 1), output
    assert counts["duplicate_packets"] + counts["late_packets"] == 2, "image 5 came twice, for two modules"
    assert counts["malformed"] == 1
    series = rashpa.open(folder / "eiger2_both_master.h5")
    frames = [number for number in range(12) if number != 6]
    assert set(series.tables.counted("real_time")) == {3_000_000, -1}
    for place, number in enumerate(frames):
        image: NDArray[np.uint16] = np.asarray(series.image(place))
        for threshold in range(2):
            made = np.random.default_rng(100 * threshold + number).poisson(3, (64, 96)).astype(np.uint16)
            part = image[64 * threshold : 64 * threshold + 64]
            masked = np.ma.getmaskarray(part) if isinstance(part, np.ma.MaskedArray) else np.zeros(part.shape, bool)
            assert np.array_equal(np.asarray(part)[~masked], made[~masked]), (number, threshold)


def test_the_series_describes_itself_in_the_file(foreign: tuple[Path, int, str, dict[str, Any]]) -> None:
    folder, *_ = foreign
    with h5py.File(folder / "eiger2_both_master.h5", "r") as file:
        detector = file["entry/instrument/detector"]
        assert detector["serial_number"][()] == b"E-42"
        assert detector["threshold_energy"][()] == 6000.0
        assert detector["distance"][()] == pytest.approx(0.25)
        assert file["entry/instrument/beam/incident_wavelength"][()] == pytest.approx(1.0332)
        assert json.loads(file["entry/rashpa/stream_start"][()])["series_unique_id"] == "01ABC"


SENDER_OF_VERSION_1 = '''
"""An EIGER with Stream V1, all details of its start, and images in the encodings of that version."""
import json, sys
import h5py, hdf5plugin, numpy as np, zmq

rows, columns, images = 64, 96, 8
socket = zmq.Context().socket(zmq.PUSH)
socket.linger = 20000
socket.bind("tcp://127.0.0.1:" + sys.argv[1])

def chunk_of(array):
    with h5py.File("memory", "w", driver="core", backing_store=False) as file:
        data = file.create_dataset("data", data=array, chunks=array.shape, **hdf5plugin.Bitshuffle(cname="lz4"))
        return data.id.read_direct_chunk((0, 0))[1]

def said(**words):
    return json.dumps(words).encode()

def array(htype, values):
    return [said(htype=htype, shape=[columns, rows], type=values.dtype.name), values.tobytes()]

mask = np.zeros((rows, columns), np.uint32)
mask[3, 5] = 1
socket.send_multipart([
    said(htype="dheader-1.0", series=9, header_detail="all"),
    said(nimages=images, ntrigger=1, count_time=0.002, frame_time=0.0025, photon_energy=12000.0, wavelength=1.0332,
         detector_distance=0.25, detector_number="E-08", threshold_energy=6000.0, flatfield_correction_applied=True,
         data_collection_date="2023-11-14T22:13:20.000", **{f"word_{n}": n for n in range(80)}),
    *array("dflatfield-1.0", np.full((rows, columns), 1.5, np.float32)),
    *array("dpixelmask-1.0", mask),
    *array("dcountrate_table-1.0", np.zeros((2, 9), np.float32)),
    b"appendix of the user",
])
for number in range(images):
    image = np.random.default_rng(number).poisson(3, (rows, columns)).astype(np.uint16)
    data, encoding = (chunk_of(image), "bs16-lz4<") if number % 2 else (image.tobytes(), "<")
    socket.send_multipart([
        said(htype="dimage-1.0", series=9, frame=number, hash="none"),
        said(htype="dimage_d-1.0", shape=[columns, rows], type="uint16", encoding=encoding, size=len(data)),
        data,
        said(htype="dconfig-1.0", start_time=number * 2_500_000, stop_time=number * 2_500_000 + 2_000_000, real_time=2_000_000),
        b"appendix of an image",
    ])
socket.send_multipart([said(htype="dseries_end-1.0", series=9)])
'''


def test_a_series_of_version_1_has_pixels_times_mask_and_flat_field(tmp_path: Path) -> None:
    for package in ("cbor2", "hdf5plugin", "zmq"):
        pytest.importorskip(package)
    (tmp_path / "send.py").write_text(SENDER_OF_VERSION_1, encoding="utf-8")
    port = free_ports(1)
    text = run_text(words=[sys.executable, "send.py", str(port)], port=port, frames=8, module=[{"x": 0, "y": 0}])
    output, report = good_run(text, tmp_path)
    books = report["buffers"][0]["books"]
    assert (books["complete"], books["missing"]) == (8, 0), output
    series = rashpa.open(tmp_path / "eiger2_both_master.h5")
    flat = None
    with h5py.File(tmp_path / "eiger2_both_master.h5", "r") as file:
        detector = file["entry/instrument/detector"]
        assert detector["serial_number"][()] == b"E-08"
        assert detector["threshold_energy"][()] == 6000.0
        assert detector["distance"][()] == pytest.approx(0.25)
        assert detector["frame_time"][()] == pytest.approx(0.0025)
        assert detector["pixel_mask"][3, 5] & 1
        assert not detector["pixel_mask"][3, 6]
        assert file["entry/instrument/beam/incident_wavelength"][()] == pytest.approx(1.0332)
        said = json.loads(file["entry/rashpa/stream_start"][()])
        flat = detector["flatfield"][()]
    assert (said["description_v1"]["word_79"], said["appendix"]) == (79, "appendix of the user")
    assert flat.shape == (64, 96)
    assert (flat == 1.5).all()
    began = 1_700_000_037_000_000_000  # TAI
    np.testing.assert_array_equal(series.tables.counted("real_time"), [2_000_000] * 8)
    np.testing.assert_array_equal(series.tables.timestamp_ns, [began + number * 2_500_000 for number in range(8)])
    for number in range(8):
        made = np.random.default_rng(number).poisson(3, (64, 96)).astype(np.uint16)
        image = np.ma.filled(series.image(number), 0)
        made[3, 5] = image[3, 5]  # masked
        assert np.array_equal(image, made), number
