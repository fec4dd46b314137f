# SPDX-License-Identifier: Apache-2.0
"""Checks that the pixel_mask of a foreign file applies to every kernel: results are the same as when the detector itself has masked these pixels."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filter of images)
import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.control.runfile.kernels import declarations
from rashpa.data.kernels.pipeline import Pipeline, available_units
from rashpa.data.stored.stored_piece import no_value
from rashpa.node.offline.process import Job, Recording, process_recording

pytestmark = pytest.mark.whole

ROWS, COLUMNS, IMAGES = 40, 56, 4
VIRTUAL = 1 << 31  # of NXmx: its value is made of others, and is one
MASK = np.zeros((ROWS, COLUMNS), np.uint32)
MASK[3, 4], MASK[10, :], MASK[20:24, 30:36], MASK[30, 8] = 2, 1 << 8, 1, VIRTUAL
BAD = (MASK & 0xFFFF) != 0
PONI = """\
poni_version: 2.1
Detector: Detector
Detector_config: {"pixel1": 1e-4, "pixel2": 1e-4, "max_shape": [40, 56]}
Distance: 0.1
Poni1: 0.002
Poni2: 0.0028
Rot1: 0.0
Rot2: 0.0
Rot3: 0.0
Wavelength: 1e-10
"""
BEAM = "beam_x = 28.0\nbeam_y = 20.0\n"
KERNELS = {
    "bragg_count": "threshold = 5\nmin_pixels = 0\n",
    "csr": "threshold = 5\ncapacity = 1.0\n",
    "total_counts": "",
    "accumulate": "variance = true\n",
    "roi_stats": 'regions = "a=0,0,56,12; b=28,18,20,20"\n',
    "checksum": "",
    "peakfinder8": BEAM,
    "peakfinder": BEAM,
    "sparsify": BEAM,
    "azimuthal": 'poni = "p.poni"\nbins = 20\n',
}
OTHERS = {"jungfrau", "unpack", "veto"}  # masked by their calibration; packed bytes; no pixels
TYPES = ("uint16", "int32", "float32")


def images_of(pixel: str) -> NDArray[Any]:
    images = np.random.default_rng(5).poisson(3, (IMAGES, ROWS, COLUMNS)).astype(pixel)
    images[:, 25:27, 12:14] = 200
    images[:, BAD] = 3000  # bright, and no measurement
    images[:, 30, 8] = 150
    return images


def written(path: Path, images: NDArray[Any], mask: NDArray[np.uint32] | None) -> Path:
    with h5py.File(path, "w") as file:
        file["entry/data/data"] = images
        if mask is not None:
            file["entry/instrument/detector/pixel_mask"] = mask
    return path


def run_text(dataset: str, pixel: str, *kernels: str) -> str:
    tables = "".join(f'[[buffer.kernel]]\nname = "{name}"\n{KERNELS[name]}' for name in kernels)
    return (
        f'[run]\nname = "r"\nframes = {IMAGES}\noutput = "out"\nexisting = "replace"\n'
        f'[detector]\nwidth = {COLUMNS}\nheight = {ROWS}\npixel = "{pixel}"\n'
        f"[dataset]\n{dataset}[receiver]\nport = 0\n"
        f'[[buffer]]\nname = "b"\nslots = 8\nstack = 4\ndeadline_ms = 20000\nkeep_darks = true\n{tables}'
        '[[buffer.sink]]\nkind = "hdf5"\n'
    )


def found_in(master: Path) -> dict[str, NDArray[Any]]:
    """Return all numbers of the images."""
    found: dict[str, NDArray[Any]] = {}

    def take(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.dtype.kind in "uifV" and "time" not in name:
            found[name] = item[()]

    with h5py.File(master) as file:
        for group in "data", "rashpa":
            file[f"entry/{group}"].visititems(take)
        for name in "data", "index", "intensity":
            if name in file["entry/data"]:
                found["images" if name == "data" else name] = file[f"entry/data/{name}"][()]
    return found


def processed(
    folder: Path, source: Path, pixel: str, kernel: str, more: Sequence[tuple[str, str]] = ()
) -> dict[str, NDArray[Any]]:
    """Return the results of the kernel. `more`: pairs of a text in the run file and its replacement."""
    (folder / "p.poni").write_text(PONI)
    file = folder / "p.toml"
    placeholder = f'kind = "pattern"\nmodules = 1\nframes = 2\nwidth = {COLUMNS}\nheight = {ROWS}\npixel = "{pixel}"\n'
    text = run_text(placeholder, pixel, kernel)
    for old, new in more:
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)
    out = folder / source.stem
    out.mkdir()
    assert process_recording(Job(file, "", out, Recording("r", (source,)))).good
    return found_in(next(out.glob("*_master.h5")))


def alike(one: dict[str, NDArray[Any]], other: dict[str, NDArray[Any]]) -> bool:
    return (
        one.keys() == other.keys()
        and all(one[name].tobytes() == other[name].tobytes() for name in one if one[name].dtype.kind != "f")
        and all(np.array_equal(one[name], other[name], equal_nan=True) for name in one if one[name].dtype.kind == "f")
    )


def test_the_table_has_every_kernel() -> None:
    assert set(KERNELS) | OTHERS == set(declarations())


@pytest.mark.parametrize("pixel", TYPES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_finds_what_it_finds_in_images_that_are_masked(tmp_path: Path, kernel: str, pixel: str) -> None:
    if pixel not in declarations()[kernel].takes.pixels:
        pytest.skip(f"{kernel} takes no {pixel}")
    if (kernel, pixel) == ("sparsify", "float32"):
        pytest.skip("lists of pixels are of integers")
    images = images_of(pixel)
    by_file = processed(tmp_path, written(tmp_path / "by_file.h5", images, MASK), pixel, kernel)
    images[:, BAD] = no_value(images.dtype)
    by_value = processed(tmp_path, written(tmp_path / "by_value.h5", images, MASK), pixel, kernel)
    assert alike(by_file, by_value)
    if pixel != "uint16":
        return
    images[:, 30, 8] = 7
    other = processed(tmp_path, written(tmp_path / "other.h5", images, MASK), pixel, kernel)
    if kernel not in ("peakfinder8", "peakfinder"):  # of one pixel they make no peak
        assert not alike(by_file, other), "a virtual pixel counts"


GEOMETRY = f"""\
photon_energy = 9000
p/min_fs = 0
p/max_fs = {COLUMNS - 1}
p/min_ss = 0
p/max_ss = {ROWS - 1}
p/corner_x = 28
p/corner_y = 20
p/fs = -x
p/ss = -y
"""
GEOMETRY += "".join(
    f"bad{n}/min_fs = {left}\nbad{n}/max_fs = {right}\nbad{n}/min_ss = {top}\nbad{n}/max_ss = {bottom}\n"
    for n, (left, right, top, bottom) in enumerate([(4, 4, 3, 3), (0, COLUMNS - 1, 10, 10), (30, 35, 20, 23)])
)
BY_GEOMETRY = ("[detector]\n", '[detector]\ngeometry = "m.geom"\n')
MASKED = [name for name in KERNELS if not declarations()[name].delivered]


@pytest.mark.parametrize("pixel", TYPES)
@pytest.mark.parametrize("kernel", MASKED)
def test_bad_regions_of_a_geometry_count_for_every_kernel(tmp_path: Path, kernel: str, pixel: str) -> None:
    if pixel not in declarations()[kernel].takes.pixels or (kernel, pixel) == ("sparsify", "float32"):
        pytest.skip(f"{kernel} makes nothing of {pixel}")
    (tmp_path / "m.geom").write_text(GEOMETRY)
    images = images_of(pixel)
    source = written(tmp_path / "as_sent.h5", images, None)
    by_geometry = processed(tmp_path, source, pixel, kernel, [BY_GEOMETRY])
    images[:, BAD] = no_value(images.dtype)
    source = written(tmp_path / "by_value.h5", images, None)
    assert alike(by_geometry, processed(tmp_path, source, pixel, kernel, [BY_GEOMETRY]))


@pytest.mark.parametrize("unit", ["cpu", "opencl"])
def test_they_count_in_a_run_on_every_unit(tmp_path: Path, unit: str) -> None:
    usable, why = available_units()[unit]
    if not usable:
        pytest.skip(why)
    (tmp_path / "m.geom").write_text(GEOMETRY)
    images = images_of("uint16")
    written(tmp_path / "f.h5", images, None)
    text = run_text('kind = "stored"\npath = "f.h5"\n', "uint16", "checksum", "total_counts", "peakfinder8")
    text = text.replace(*BY_GEOMETRY).replace("keep_darks", f'unit = "{unit}"\nkeep_darks')
    text += '[[buffer]]\nname = "plain"\nslots = 8\nstack = 4\ndeadline_ms = 20000\nkeep_darks = true\n[[buffer.sink]]\nkind = "hdf5"\n'
    (tmp_path / "r.toml").write_text(text)
    command = [sys.executable, "-m", "rashpa.cli.entry", "run", "r.toml", "-q"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    found = found_in(tmp_path / "out/r_b_master.h5")
    masked = np.where(BAD, 65535, images)
    np.testing.assert_array_equal(found["images"], masked)
    alone = Pipeline([{"name": "peakfinder8", "beam_x": 28.0, "beam_y": 20.0}], (ROWS, COLUMNS), masked="delivered")
    peaks = alone(masked).columns

    def column(name: str) -> list[float]:
        return next(values.tolist() for path, values in found.items() if path.endswith(name))

    assert column("total_counts") == images.astype(np.int64)[:, ~BAD].sum(1).tolist()
    assert column("masked_in_total") == [int(BAD.sum())] * IMAGES
    for name in "n_peaks", "peak_intensity", "empty_rings":
        assert column(name) == peaks[name].tolist()
    crc = Pipeline([{"name": "checksum"}], (ROWS, COLUMNS))(images).columns["crc32c"]
    assert column("crc32c") == crc.tolist(), "the checksum is that of the pixels as they came"
    np.testing.assert_array_equal(found_in(tmp_path / "out/r_plain_master.h5")["images"], images)
    for name in "b", "plain":
        with h5py.File(tmp_path / f"out/r_{name}_master.h5") as file:
            mask = file["entry/instrument/detector/pixel_mask"][()]
            assert mask.tolist() == np.where(BAD, 256, 0).tolist()


@pytest.mark.parametrize(("key", "masked"), [("", True), ('bad_pixels = "as_stored"\n', False)])
def test_a_run_that_plays_the_file_finds_the_same(tmp_path: Path, key: str, masked: bool) -> None:
    images = images_of("uint16")
    written(tmp_path / "f.h5", images, MASK)
    (tmp_path / "r.toml").write_text(run_text(f'kind = "stored"\npath = "f.h5"\n{key}', "uint16", "total_counts"))
    command = [sys.executable, "-m", "rashpa.cli.entry", "run", "r.toml", "-q"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    found = found_in(tmp_path / "out/r_b_master.h5")
    counted = ~BAD if masked else np.ones_like(BAD)
    totals = next(values for name, values in found.items() if name.endswith("total_counts"))
    assert totals.tolist() == images.astype(np.int64)[:, counted].sum(1).tolist()
    np.testing.assert_array_equal(found["images"], np.where(counted, images, 65535))


def test_images_that_no_kernel_looks_at_stay_as_they_are(tmp_path: Path) -> None:
    images = images_of("uint16")
    written(tmp_path / "f.h5", images, MASK)
    (tmp_path / "r.toml").write_text(run_text('kind = "stored"\npath = "f.h5"\n', "uint16"))
    command = [sys.executable, "-m", "rashpa.cli.entry", "run", "r.toml", "-q"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    np.testing.assert_array_equal(found_in(tmp_path / "out/r_b_master.h5")["images"], images)
