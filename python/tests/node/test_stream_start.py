# SPDX-License-Identifier: Apache-2.0
"""Every field of a Stream V2 start message is in the files unchanged, or is reported as missing; nothing is invented."""

import json
import math
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
cbor2 = pytest.importorskip("cbor2")

from rashpa.cli.main import app  # noqa: E402
from rashpa.data.making.nxmx_check import check_file  # noqa: E402
from rashpa.node.offline.receive_stream import StreamFiles  # noqa: E402
from rashpa.node.offline.received import Received  # noqa: E402

HEIGHT, WIDTH = 24, 40
SERIES = {"series_id": 5, "series_unique_id": "U"}
TAGS = {"uint8": 64, "uint16": 69, "uint32": 70, "uint64": 71, "float32": 85}


def array(values: NDArray[Any]) -> Any:
    return cbor2.CBORTag(40, [list(values.shape), cbor2.CBORTag(TAGS[values.dtype.name], values.tobytes())])


def per_channel(values: NDArray[Any], *names: str) -> dict[str, Any]:
    return {name: array(values) for name in names or ("t",)}


MASK = np.eye(HEIGHT, WIDTH, dtype=np.uint32)
FLAT = np.linspace(0.9, 1.1, HEIGHT * WIDTH, dtype=np.float32).reshape(HEIGHT, WIDTH)
FULL: dict[str, Any] = {
    "arm_date": cbor2.CBORTag(0, "2026-01-31T12:00:00Z"), "beam_center_x": 20.5, "beam_center_y": 11.5, "channels": ["t"], "count_time": 0.01,
    "countrate_correction_enabled": True, "countrate_correction_lookup_table": cbor2.CBORTag(70, np.arange(9, dtype=np.uint32).tobytes()),
    "detector_description": "A Detector", "detector_serial_number": "E-32-0119", "detector_translation": [0.03, 0.0, 0.04], "flatfield": per_channel(FLAT),
    "flatfield_enabled": False, "frame_time": 0.02, "goniometer": {"omega": {"increment": 0.1, "start": 90.0}}, "image_dtype": "uint16",
    "image_size_x": WIDTH, "image_size_y": HEIGHT, "incident_energy": 12398.42, "incident_wavelength": 1.0, "number_of_images": 2, "pixel_mask": per_channel(MASK),
    "pixel_mask_enabled": True, "pixel_size_x": 7.5e-5, "pixel_size_y": 8e-5, "saturation_value": 200, "sensor_material": "Si", "sensor_thickness": 4.5e-4,
    "threshold_energy": {"t": 6199.2}, "user_data": {"bit_depth_readout": 12}, "virtual_pixel_interpolation_enabled": False,
}  # fmt: skip


def messages(*channels: str, **start: Any) -> list[bytes]:
    said = {key: value for key, value in (FULL | start).items() if value is not None}
    pixels = np.ones((HEIGHT, WIDTH), np.uint16)
    made = [{"type": "start", **SERIES, **said}]
    made += [{"type": "image", **SERIES, "image_id": n, "data": per_channel(pixels, *channels)} for n in range(2)]
    return [cbor2.dumps(one) for one in (*made, {"type": "end", **SERIES})]


def received(tmp_path: Path, said: list[bytes]) -> Received:
    files = StreamFiles(tmp_path / "got")
    for message in said:
        files.take(message)
    files.close()
    (one,) = files.done
    return one


def test_all_that_a_start_says_is_in_the_files(tmp_path: Path) -> None:
    one = received(tmp_path, messages())
    assert one.whole, one
    assert one.notes == []
    with h5py.File(one.files[0]) as file:
        detector = file["entry/instrument/detector"]
        plain = {name: detector[name][()] for name in detector if isinstance(detector[name], h5py.Dataset)}
        assert plain["serial_number"] == b"E-32-0119"
        assert plain["description"] == b"A Detector"
        assert plain["threshold_energy"] == 6199.2
        assert detector["threshold_energy"].attrs["units"] == "eV"
        assert plain["bit_depth_readout"] == 12
        assert (plain["countrate_correction_applied"], plain["flatfield_applied"]) == (1, 0)
        assert (plain["pixel_mask_applied"], plain["virtual_pixel_interpolation_applied"]) == (1, 0)
        assert (plain["x_pixel_size"], plain["y_pixel_size"]) == (7.5e-5, 8e-5)
        assert plain["distance"] == 0.04
        np.testing.assert_array_equal(plain["flatfield"], FLAT)
        np.testing.assert_array_equal(plain["pixel_mask"], MASK)
        np.testing.assert_array_equal(plain["countrate_correction_lookup_table"], np.arange(9))
        axis = detector["transformations/translation"]
        assert axis[()] == pytest.approx(0.05)
        np.testing.assert_allclose(axis.attrs["vector"], [0.6, 0.0, 0.8])
        steps = [detector[f"module_0/{name}_pixel_direction"][()] for name in ("fast", "slow")]
        assert steps == pytest.approx([7.5e-5, 8e-5])
        said = json.loads(file["entry/rashpa/stream_start"][()])
        assert check_file(Path(one.files[0])).good, "pixels lie where the beam centre says, translated or not"
        assert said["goniometer"] == {"omega": {"increment": 0.1, "start": 90.0}}
        assert said.keys() >= FULL.keys()


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ("beam_center_x", "beam_center_x"),
        ("beam_center_y", "beam_center_y"),
        ("count_time", "count_time"),
        ("frame_time", "frame_time"),
        ("pixel_size_x", "x_pixel_size"),
        ("pixel_size_y", "y_pixel_size"),
        ("sensor_thickness", "sensor_thickness"),
        ("detector_translation", "distance"),
    ],
)
@pytest.mark.parametrize("value", [None, "far", math.nan])
def test_a_number_that_is_not_said_is_none_in_the_files(tmp_path: Path, field: str, path: str, value: Any) -> None:
    one = received(tmp_path, messages(**{field: value}))
    assert one.whole
    assert any(field in note for note in one.notes), one.notes
    with h5py.File(one.files[0]) as file:
        assert math.isnan(file["entry/instrument/detector"][path][()])


@pytest.mark.parametrize(
    "field", ["detector_serial_number", "threshold_energy", "flatfield", "flatfield_enabled", "user_data"]
)
def test_what_is_not_said_is_not_in_the_files(tmp_path: Path, field: str) -> None:
    names = {
        "detector_serial_number": "serial_number",
        "flatfield_enabled": "flatfield_applied",
        "user_data": "bit_depth_readout",
    }
    one = received(tmp_path, messages(**{field: None}))
    assert one.whole
    with h5py.File(one.files[0]) as file:
        assert names.get(field, field) not in file["entry/instrument/detector"]


def test_without_a_wavelength_there_is_none(tmp_path: Path) -> None:
    one = received(tmp_path, messages(incident_energy=None, incident_wavelength=None))
    with h5py.File(one.files[0]) as file:
        assert math.isnan(file["entry/instrument/beam/incident_wavelength"][()])
    assert any("incident_wavelength" in note for note in one.notes)


SMALL = np.zeros((4, 4), np.uint32)
TROUBLES = [
    ({"pixel_mask": per_channel(SMALL)}, "its pixel_mask has 4 × 4 pixels, its images 40 × 24"),
    ({"pixel_mask": {"t": 3}}, "pixel_mask: no array of two dimensions"),
    ({"pixel_mask": [1]}, "pixel_mask: no map of channels"),
    ({"pixel_mask": per_channel(np.full((HEIGHT, WIDTH), 1 << 40, np.uint64))}, "32 bits do not hold"),
    ({"pixel_mask": per_channel(FLAT)}, "pixel_mask: float32"),
    ({"flatfield": per_channel(SMALL)}, "its flatfield has 4 × 4 pixels"),
    ({"flatfield": {"t": "flat"}}, "flatfield: no array of two dimensions"),
    ({"channels": ["t", "u"]}, "images lack u"),
]


@pytest.mark.parametrize(("start", "says"), TROUBLES)
def test_an_array_that_cannot_be_stored_is_a_loss_that_is_said_and_images_are_kept(
    tmp_path: Path, start: dict[str, Any], says: str
) -> None:
    for number, message in enumerate(messages(**start)):
        (tmp_path / f"{number}.cbor").write_bytes(message)
    done = CliRunner().invoke(app, ["receive-stream", str(tmp_path), str(tmp_path / "got"), "--json"])
    assert done.exit_code == 3, done.output
    assert says in done.stderr
    said = json.loads(done.stdout)
    assert said["books"]["made"] == 2
    assert any(says in text for text in said["books"]["troubles"])


@pytest.mark.parametrize(
    ("start", "says"),
    [
        ({"image_dtype": "uint32"}, "image_dtype says uint32"),
        ({"incident_energy": 9000.0}, "is not that of incident_wavelength"),
        ({"saturation_value": "all"}, "saturation_value of the start is no number"),
        ({"channels": ["s"], "pixel_mask": None, "flatfield": None}, "which the start does not name"),
    ],
)
def test_contradictions_are_said(tmp_path: Path, start: dict[str, Any], says: str) -> None:
    one = received(tmp_path, messages(**start))
    assert any(says in note for note in one.notes), one.notes


def test_images_of_another_size_than_the_start_says_are_refused(tmp_path: Path) -> None:
    one = received(tmp_path, messages(image_size_x=WIDTH + 1))
    assert (one.images, one.errored) == (0, 2)
    assert "the start message says image_size_x = 41" in one.troubles[0]


def test_the_mask_of_one_channel_is_not_that_of_another(tmp_path: Path) -> None:
    one = received(tmp_path, messages("t", "u", channels=["t", "u"], threshold_energy={"t": 5000.0, "u": 9000.0}))
    assert one.whole, one
    for file, masked, threshold in zip(one.files, (HEIGHT, 0), (5000.0, 9000.0), strict=True):
        with h5py.File(file) as got:
            detector = got["entry/instrument/detector"]
            assert int((detector["pixel_mask"][()] != 0).sum()) == masked
            assert detector["threshold_energy"][()] == threshold
            assert ("flatfield" in detector) == bool(masked)


def _module(**changes: Any) -> dict[str, Any]:
    place = {"name": "m0", "x": 4, "y": 2, "width": 30, "height": 20}
    return place | {"corner": [0.001, -0.002, 0.0], "fast": [0.0, 7.5e-5, 0.0], "slow": [7.5e-5, 0.0, 0.0]} | changes


def test_modules_lie_where_our_senders_say(tmp_path: Path) -> None:
    one = received(tmp_path, messages(user_data={"modules": [_module(), _module(name="m1", x=0, width=4)]}))
    with h5py.File(one.files[0]) as file:
        detector = file["entry/instrument/detector"]
        assert sorted(name for name in detector if name.startswith("m")) == ["m0", "m1", "mask", "max_shape"]
        assert detector["m0/data_origin"][()].tolist() == [2, 4]
        assert detector["m0/data_size"][()].tolist() == [20, 30]
        assert detector["m0/module_offset"].attrs["offset"].tolist() == [0.001, -0.002, 0.0]
        assert detector["m0/fast_pixel_direction"].attrs["vector"] == pytest.approx([0, 1, 0])
        assert detector["m0/fast_pixel_direction"][()] == pytest.approx(7.5e-5)
        assert detector["m0/slow_pixel_direction"].attrs["vector"] == pytest.approx([1, 0, 0])


@pytest.mark.parametrize(
    "modules",
    [
        [_module(), _module()],
        [_module(x=20)],
        [_module(name="../m")],
        [_module(fast=[0.0, math.nan, 0.0])],
        [_module(slow=[0.0, 0.0, 0.0])],
        [_module(corner=[1.0])],
        [7],
        "m0",
    ],
)
def test_modules_that_lie_nowhere_are_the_whole_image(tmp_path: Path, modules: Any) -> None:
    one = received(tmp_path, messages(user_data={"modules": modules}))
    with h5py.File(one.files[0]) as file:
        assert file["entry/instrument/detector/module_0/data_size"][()].tolist() == [HEIGHT, WIDTH]
