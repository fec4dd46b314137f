# SPDX-License-Identifier: Apache-2.0
"""The files of the native `hdf5` sink after a small run, read by the programs that users have: h5py with hdf5plugin, nxmx, dectris-compression."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import pytest
from numpy.typing import NDArray

from rashpa.data.stored.reader import open_run
from rashpa.testing.waiting import GUARD_S

native = pytest.importorskip("rashpa._native", reason="the native module is not built here; `make` builds it")

WIDTH, HEIGHT, GAP, FRAMES, PER_FILE = 64, 21, 5, 12, 5  # 21 rows: images are not a whole number of compression blocks
ROWS = 2 * HEIGHT + GAP
SINK = {"existing": "refuse", "images_per_file": PER_FILE, "threads": 2}


@dataclass(frozen=True)
class Output:
    """Holds a finished run and its input."""

    master: Path
    pixels: NDArray[np.uint16]  # [frame][module][row][column]
    mask: NDArray[np.uint32]
    balanced: bool


def metadata(mask: NDArray[np.uint32]) -> Any:
    values = native.NxmxMetadata(
        {
            "description": "two modules (emulated)",
            "detector_name": "JUNGFRAU",
            "instrument_name": "rashpa",
            "source_name": "none",
            "sample_name": "pattern",
            "energy_kev": 12.398419843320026,
            "distance_m": 0.1,
            "beam_center_x": 30.0,
            "beam_center_y": 20.0,
            "pixel_size_m": 75e-6,
            "sensor_material": "Si",
            "sensor_thickness_m": 320e-6,
            "count_time_s": 1e-5,
            "frame_time_s": 1e-3,
            "run_number": 3,
            "run_name": "nxmx",
            "run_file": "runs/nxmx.toml",
            "run_file_sha256": "ab" * 32,
            "pixel_units": "photons",
        }
    )
    values.labels = ["synthetic data"]
    values.pixel_mask = mask
    values.modules = [as_seen(placed(native.NxmxModule(), "name", f"module_{m}", m)) for m in range(2)]
    kernel = native.NxmxKernel()
    kernel.name, kernel.parameters = "bragg_count", [("threshold", "3"), ("min_pixels", "5")]
    kernel.veto_reasons = ["too_few", "too_many"]
    values.kernels = [kernel]
    pedestal = native.NxmxCalibration()
    pedestal.kind, pedestal.file, pedestal.sha256 = "pedestal_0", "pedestal.npy", "cd" * 32
    values.calibration = [pedestal]
    values.dtps = [placed(native.NxmxDtp(), "id", m, m) for m in range(2)]
    return values


def as_seen(module: Any) -> Any:
    """Return the module as seen from the sample, with the beam at (30, 20): columns run along −x, rows along −y."""
    pitch = 75e-6
    module.corner = [(30 - module.x) * pitch, (20 - module.y) * pitch, 0.0]
    module.fast, module.slow = [-pitch, 0.0, 0.0], [0.0, -pitch, 0.0]
    return module


def placed(part: Any, key: str, value: Any, module: int) -> Any:
    setattr(part, key, value)
    part.x, part.y, part.width, part.height = 0, module * (HEIGHT + GAP), WIDTH, HEIGHT
    return part


def receiver_for(prefix: Path, mask: NDArray[np.uint32]) -> Any:
    buffer = native.BufferConfig({"slots": 8, "stack": 4, "deadline_ms": 2000})
    buffer.name, buffer.width, buffer.height, buffer.pixel = "full", WIDTH, ROWS, "uint16"
    buffer.images = FRAMES
    buffer.dtps = [native.DestinationDtp(m, m, 0, m * (HEIGHT + GAP), WIDTH, HEIGHT) for m in range(2)]
    buffer.sinks = [native.SinkConfig("hdf5", {**SINK, "prefix": str(prefix)}, metadata(mask))]
    config = native.ReceiverConfig()
    config.buffers = [buffer]
    config.bind_address, config.port, config.run = "127.0.0.1", 0, 3
    return native.Receiver(config)


def emulator_for(receiver: Any, pixels: NDArray[np.uint16]) -> Any:
    config = native.EmulatorConfig()
    config.dataset = native.memory_dataset(pixels, np.zeros(FRAMES, np.uint32))
    config.bind_address, config.frames = "127.0.0.1", FRAMES
    dtps = []
    for module, (endpoint, placement) in enumerate(zip(receiver.endpoints(), receiver.placements(), strict=True)):
        dtp = native.SourceDtp()
        dtp.id = dtp.module = module
        dtp.region = native.Region(0, 0, WIDTH, HEIGHT)
        dtp.images, dtp.run, dtp.placement, dtp.destination = FRAMES, 3, placement, endpoint
        dtps.append(dtp)
    config.dtps = dtps
    return native.Emulator(config)


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Output:
    prefix = tmp_path_factory.mktemp("nxmx") / "run"
    pixels = np.random.default_rng(1).poisson(2, (FRAMES, 2, HEIGHT, WIDTH)).astype(np.uint16)
    mask = np.zeros((ROWS, WIDTH), np.uint32)
    mask[HEIGHT : HEIGHT + GAP] = 1
    receiver = receiver_for(prefix, mask)
    emulator = emulator_for(receiver, pixels)
    receiver.arm(emulator.endpoints())
    receiver.start()
    emulator.start()
    assert emulator.wait(GUARD_S)
    receiver.finish()
    assert receiver.wait(GUARD_S)
    books = receiver.status().buffers[0].books
    receiver.stop()
    emulator.stop()
    return Output(prefix.with_name("run_master.h5"), pixels, mask, books.balanced)


def check_pixels(image: NDArray[np.uint16], expected: NDArray[np.uint16]) -> None:
    for module in range(2):
        top = module * (HEIGHT + GAP)
        np.testing.assert_array_equal(image[top : top + HEIGHT], expected[module])


def test_the_books_of_the_run_balance_in_the_status_and_in_the_file(output: Output) -> None:
    assert output.balanced
    with open_run(output.master) as run:
        summary = run.summary()
    assert summary.balanced
    assert summary.books["written"] == summary.stored == FRAMES


def test_our_reader_gives_every_image_under_its_frame_number(output: Output) -> None:
    with open_run(output.master) as run:
        images = dict(run.images())
        np.testing.assert_array_equal(run.pixel_mask, output.mask)
    assert list(images) == list(range(FRAMES))
    for frame, image in images.items():
        check_pixels(image, output.pixels[frame])


def test_h5py_reads_the_virtual_dataset_over_all_data_files(output: Output) -> None:
    with h5py.File(output.master) as file:
        data = file["entry/data/data"]
        assert data.shape == (FRAMES, ROWS, WIDTH)
        for frame in range(FRAMES):
            check_pixels(data[frame], output.pixels[frame])


def test_data_files_have_the_layout_that_existing_readers_expect(output: Output) -> None:
    with h5py.File(output.master) as file:
        parts = [file[f"entry/rashpa/data_files/data_{n:06}"] for n in (1, 2, 3)]
        ranges = [(int(part.attrs["image_nr_low"]), int(part.attrs["image_nr_high"])) for part in parts]
        assert ranges == [(1, 5), (6, 10), (11, 12)]
        assert parts[0].chunks == (1, ROWS, WIDTH)
        assert parts[0].fillvalue == 0xFFFF
        number, _, values, _ = parts[0].id.get_create_plist().get_filter(0)
        assert number == 32008
        assert values[2:] == (2, 0, 2)  # element bytes, then the user values


def test_chunks_decode_equally_through_dectris_compression(output: Output) -> None:
    compression = pytest.importorskip("dectris.compression")
    with h5py.File(output.master) as file:
        for frame in range(FRAMES):
            part = file[f"entry/rashpa/data_files/data_{frame // PER_FILE + 1:06}"]
            _, chunk = part.id.read_direct_chunk((frame % PER_FILE, 0, 0))
            image = np.frombuffer(compression.decompress(chunk, "bslz4", elem_size=2), np.uint16)
            check_pixels(image.reshape(ROWS, WIDTH), output.pixels[frame])


@pytest.mark.filterwarnings("default")  # of nxmx's own dependencies
def test_nxmx_finds_every_required_field(output: Output) -> None:
    nxmx = pytest.importorskip("nxmx")
    with h5py.File(output.master) as file:
        entry = nxmx.NXmx(file).entries[0]
        assert entry.definition == "NXmx"
        assert entry.start_time is not None
        assert entry.start_time <= entry.end_time
        assert entry.end_time_estimated is not None
        assert entry.source.name == "none"
        assert entry.samples[0].name == "pattern"
        assert entry.samples[0].depends_on is None
        instrument = entry.instruments[0]
        assert instrument.name == "rashpa"
        assert instrument.beams[0].incident_wavelength.to("angstrom").magnitude == pytest.approx(1)
        detector = instrument.detectors[0]
        assert detector.sensor_material == "Si"
        assert detector.sensor_thickness.to("um").magnitude == pytest.approx(320)
        assert detector.distance.to("mm").magnitude == pytest.approx(100)
        assert detector.frame_time.to("ms").magnitude == pytest.approx(1)
        assert (detector.underload_value, detector.saturation_value) == (0, 0xFFFE)
        assert detector.depends_on.path.endswith("transformations/translation")
        np.testing.assert_array_equal(detector.pixel_mask, output.mask)
        for number, module in enumerate(detector.modules):
            top = number * (HEIGHT + GAP)
            assert module.data_origin.tolist() == [top, 0]
            assert module.data_size.tolist() == [HEIGHT, WIDTH]
            chain = nxmx.get_dependency_chain(module.fast_pixel_direction)
            corner = nxmx.get_cumulative_transformation(chain)[0][:3, 3]
            # In mm: the fast axis's own value moves one pixel along −x; the corner lies at the beam centre's distance.
            np.testing.assert_allclose(corner, [(30 - 1) * 0.075, (20 - top) * 0.075, 100])


VALIDATOR = Path(__file__).resolve().parents[3] / "build/peers/pynxtools/bin/pynx"


@pytest.mark.skipif(not VALIDATOR.exists(), reason="not installed; tools/peer_environment.sh pynxtools does it")
def test_pynxtools_calls_the_file_valid(output: Output) -> None:
    done = subprocess.run(
        [VALIDATOR, "validate", output.master.name], cwd=output.master.parent, capture_output=True, text=True
    )
    said = done.stdout + done.stderr
    assert "is valid according to the `NXmx` application definition" in said
    assert "WARNING" not in said


def test_what_nxmx_does_not_define_lies_in_a_collection(output: Output) -> None:
    """Check for common complaints of validators without one: links without a target attribute, and fields of other programs in NXdetector."""
    with h5py.File(output.master) as file:
        detector = file["entry/instrument/detector"]
        for name in ("shape", "max_shape", "pixel_size", "mask", "dummy", "delta_dummy", "bit_depth_image", "pixel"):
            link = detector.get(name, getlink=True)
            assert isinstance(link, h5py.SoftLink), name
            assert detector[name].attrs["target"] == link.path
        assert detector["pixel"] == file["entry/data/data"]
        for module in ("module_0", "module_1"):
            assert detector[module]["module"] == detector[module]["data_origin"]
            assert detector[module]["data_origin"].attrs["target"] == f"/entry/instrument/detector/{module}/data_origin"
        assert "interpretation" not in file["entry/data/data"].attrs


def test_definition_has_its_version_and_times_end_with_z(output: Output) -> None:
    with h5py.File(output.master) as file:
        entry = file["entry"]
        assert entry["definition"].attrs["version"] == "1.0"
        for name in ("start_time", "end_time", "end_time_estimated"):
            assert entry[name][()].endswith(b"Z")
        specific = entry["instrument/detector/detectorSpecific"]
        assert specific["nimages"][()] == specific["nimages_collected"][()] == specific["nimages_written"][()] == FRAMES
        assert (specific["x_pixels_in_detector"][()], specific["y_pixels_in_detector"][()]) == (WIDTH, ROWS)


def test_strings_are_utf8_of_variable_length(output: Output) -> None:
    """Check the string type that NeXus requires; validators stop at others."""
    fixed: list[str] = []

    def look(name: str, item: h5py.HLObject) -> None:
        types = {f"{name}@{key}": item.attrs.get_id(key).dtype for key in item.attrs}
        if isinstance(item, h5py.Dataset):
            types[name] = item.dtype
        for where, kind in types.items():
            if kind.kind == "S":
                fixed.append(where)
            text = h5py.check_string_dtype(kind)
            assert text is None or (text.encoding, text.length) == ("utf-8", None), where

    for path in sorted(output.master.parent.glob("run_*.h5")):
        with h5py.File(path) as file:
            look("/", file)
            file.visititems(look)
    assert not fixed


def test_only_one_dataset_is_named_data(output: Output) -> None:
    """Check names, because readers that take every name beginning with "data" in /entry/data would count each image twice."""
    with h5py.File(output.master) as file:
        data = file["entry/data"]
        assert [name for name in data if name.startswith("data")] == ["data"]
        assert data.attrs["signal"] == "data"
        assert sorted(file["entry/rashpa/data_files"]) == [f"data_{n:06}" for n in (1, 2, 3)]


def test_fabio_finds_every_image_once(output: Output) -> None:
    fabio = pytest.importorskip("fabio")
    with fabio.open(str(output.master)) as image:
        assert image.nframes == FRAMES
        for frame in range(FRAMES):
            check_pixels(image.getframe(frame).data, output.pixels[frame])


def test_pyfai_finds_shape_pixels_and_mask(output: Output) -> None:
    with h5py.File(output.master) as file:  # the fields that NexusDetector.load() reads
        detector = file["entry/instrument/detector"]
        assert detector["shape"][()].tolist() == detector["max_shape"][()].tolist() == [ROWS, WIDTH]
        assert detector["pixel_size"][()].tolist() == [75e-6, 75e-6]
        np.testing.assert_array_equal(detector["mask"][()], output.mask)
        assert (detector["dummy"][()], detector["delta_dummy"][()]) == (0xFFFF, 0.5)
    detectors = pytest.importorskip("pyFAI.detectors")
    found = detectors.NexusDetector(str(output.master))
    assert found.shape == (ROWS, WIDTH)
    assert found.pixel1 == found.pixel2 == 75e-6
    assert (found.mask != 0).sum() == GAP * WIDTH


def test_silx_is_asked_for_a_scale_that_masked_pixels_do_not_flatten(output: Output) -> None:
    with h5py.File(output.master) as file:
        assert file.attrs["default"] == "view"
        assert json.loads(file["view/data"].attrs["SILX_style"]) == {"signal_scale_type": "log"}
        np.testing.assert_array_equal(file["view/data/data"][0], file["entry/data/data"][0])
        assert file["view/data/data"].attrs["interpretation"] == "image"
        nxdata = pytest.importorskip("silx.io.nxdata")
        default = nxdata.get_default(file)
        assert default.signal.shape == (FRAMES, ROWS, WIDTH)
        assert default.plot_style.signal_scale_type == "log"


def test_silx_opens_the_view_and_reads_its_pixels(output: Output) -> None:
    silx_io = pytest.importorskip("silx.io")
    with silx_io.open(str(output.master)) as file:
        for frame in (0, PER_FILE, FRAMES - 1):  # of all data files
            check_pixels(file["/view/data/data"][frame], output.pixels[frame])


def test_pyfai_integrates_an_image_of_the_file(output: Output) -> None:
    azimuthal = pytest.importorskip("pyFAI.integrator.azimuthal")
    detectors = pytest.importorskip("pyFAI.detectors")
    detector = detectors.NexusDetector(str(output.master))
    integrator = azimuthal.AzimuthalIntegrator(0.1, 20 * 75e-6, 30 * 75e-6, detector=detector, wavelength=1e-10)
    with h5py.File(output.master) as file:
        image = file["entry/data/data"][0]
    curve = integrator.integrate1d(image, 10, method=("no", "histogram", "cython"), correctSolidAngle=False)
    assert curve.sum_signal.sum() == pytest.approx(output.pixels[0].sum(), rel=1e-6), "all pixels but the masked ones"


def test_h5dump_prints_the_pixels_of_every_data_file(output: Output) -> None:
    h5dump = shutil.which("h5dump")
    if h5dump is None:
        pytest.skip("h5dump is not installed (package hdf5-tools)")
    command = [h5dump, "-y", "-w", "0", "-d", "/entry/data/data", output.master.name]
    plugins = {"HDF5_PLUGIN_PATH": hdf5plugin.PLUGIN_PATH}
    done = subprocess.run(
        command, cwd=output.master.parent, env={**os.environ, **plugins}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    numbers = re.search(r"DATA \{(.*?)\}", done.stdout, re.DOTALL)
    assert numbers, done.stdout[:500]
    printed = np.array(numbers[1].replace(",", " ").split(), np.uint16).reshape(FRAMES, ROWS, WIDTH)
    for frame in range(FRAMES):
        check_pixels(printed[frame], output.pixels[frame])


def test_where_the_run_came_from_is_in_the_file(output: Output) -> None:
    with open_run(output.master) as run:
        facts = run.facts
    assert (facts.run_number, facts.run_name, facts.run_file) == (3, "nxmx", "runs/nxmx.toml")
    assert facts.run_file_sha256 == "ab" * 32
    assert facts.pixel_units == "photons"
    assert facts.kernels == (("bragg_count", {"threshold": 3, "min_pixels": 5}),)
    assert facts.calibration == {"pedestal_0": ("pedestal.npy", "cd" * 32)}
    with h5py.File(output.master) as file:
        assert file["entry/data/data"].attrs["units"] == "photons"
        assert file["entry/rashpa/timestamp_ns"].attrs["units"] == "ns"


def test_what_was_not_counted_is_not_0(output: Output) -> None:
    with open_run(output.master) as run:
        assert run.tables.scalars == {}, "the pipeline has no kernels"
        assert (run.tables.counted("bright_pixels") == -1).all()
