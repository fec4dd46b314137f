# SPDX-License-Identifier: Apache-2.0
"""Writes the peaks of a run for CrystFEL and other programs: a CXI file beside the master, and a geometry file that names both."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from rashpa.data.files.hdf5.tree import Group, Hdf5File
from rashpa.data.files.regular_file import real_path
from rashpa.data.geometry.laboratory import AS_SEEN_FROM_THE_SAMPLE, Plane, Vector
from rashpa.data.parts.made_hdf5 import made_hdf5
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored.joined_run import JoinedRun
from rashpa.data.stored.reader import Run

CXI_VERSION = 160
RESULT = "/entry_1/result_1"
DATA = "/entry_1/data_1"
_COLUMNS = {
    "peakXPosRaw": "x",
    "peakYPosRaw": "y",
    "peakTotalIntensity": "intensity",
    "peakSNR": "snr",
    "peakNPixels": "pixels",
    "peakMaximumValue": "largest",
    "peakBackground": "background",
}
"""Dataset of the file: column of the table. Those that a table lacks are left out; the first three are needed."""
_NEEDED = ("x", "y", "intensity")


@dataclass(frozen=True)
class CxiPeaks:
    """Describes the CXI file that was written."""

    file: Path
    table: str
    images: int
    peaks: int
    with_pixels: bool  # whether the file leads to images


def peak_table(run: Run | JoinedRun) -> str:
    """Return the name of the run's table of peaks. Raise StoredRunError when there is none."""
    for name, facts in run.table_facts.items():
        if set(_NEEDED) <= set(facts.columns):
            return name
    raise StoredRunError(f"{run.path}: no kernel of this run has made a table of peaks; peakfinder8 and peakfinder do")


def write_cxi(run: Run | JoinedRun, file: Path, named: Path | None = None) -> CxiPeaks:
    """Write the peaks of all stored images into `file`, beside links to the images. Raise StoredRunError or OSError.

    Positions are those of the kernel: the centre of the first pixel is (0, 0). `named`: the final path of `file`; the link to the master is relative
    to its folder.
    """
    name = peak_table(run)
    _check_leading(run)
    tables = [run.table(name, index) for index in range(len(run))]
    counts = np.array([len(table["x"]) for table in tables], np.int32)
    most = max(1, int(counts.max(initial=0)))
    master = os.path.relpath(real_path(run.path), real_path(named or file).parent)
    with made_hdf5(file) as out:
        out["cxi_version"] = np.int32(CXI_VERSION)
        entry = out.create_group("entry_1")
        entry.attrs["NX_class"] = "NXentry"
        result = entry.create_group("result_1")
        result.attrs["NX_class"] = "NXcollection"
        result.attrs["description"] = f"peaks of the kernel {name}; the middle of the first pixel is 0, 0"
        result["nPeaks"] = counts
        for dataset, column in _COLUMNS.items():
            if column not in run.table_facts[name].columns:
                continue
            values = np.zeros((len(tables), most), np.float32)
            for row, table in enumerate(tables):
                values[row, : counts[row]] = table[column]
            packed = {"chunks": (1, most), "compression": "gzip", "shuffle": True} if tables else {}
            result.create_dataset(dataset, data=values, **packed)
        data = entry.create_group("data_1")
        data.attrs["NX_class"] = "NXdata"
        data["frame_number"] = run.frame_numbers
        data["mask"] = h5py.ExternalLink(master, "/entry/instrument/detector/pixel_mask")
        if run.form == "dense":
            data.attrs["signal"] = "data"
            data["data"] = h5py.ExternalLink(master, "/entry/data/data")
    return CxiPeaks(file, name, len(tables), int(counts.sum()), run.form == "dense")


def _check_leading(run: Run | JoinedRun) -> None:
    """Raise StoredRunError when a file that links to several masters has the images in another order than the run."""
    if isinstance(run, Run):
        return
    with Hdf5File(run.path, kind=StoredRunError) as file:
        if file["/entry/data/frame_number"][()].tolist() != run.frame_numbers.tolist():
            raise StoredRunError(
                f"{run.path}: its images are others than those of its masters; make it again: rashpa combine"
            )


@dataclass(frozen=True)
class Places:
    """Names the paths in a file where CrystFEL finds images, mask and peaks."""

    data: str
    mask: str
    peaks: str


CXI = Places(f"{DATA}/data", f"{DATA}/mask", RESULT)
MASTER = Places("/entry/data/data", "/entry/instrument/detector/pixel_mask", "/entry/result_1")


def has_peak_lists(run: Run | JoinedRun) -> bool:
    """Return True when the master has peak lists that CrystFEL can read; older masters have peaks only in tables."""
    with Hdf5File(run.path, kind=StoredRunError) as file:
        return f"{MASTER.peaks}/nPeaks" in file


def geometry_of(run: Run | JoinedRun, places: Places = CXI) -> str:
    """Return the run's CrystFEL geometry, as a start for refinement: one panel for each module at its place in the master."""
    with Hdf5File(run.path, kind=StoredRunError) as file:
        detector = file["/entry/instrument/detector"]
        size = float(detector["x_pixel_size"][()])
        distance = float(detector["distance"][()])
        beam = float(detector["beam_center_x"][()]), float(detector["beam_center_y"][()])
        wavelength = float(file["/entry/instrument/beam/incident_wavelength"][()])
        least, most = (
            int(detector[name][()]) if name in detector else 0 for name in ("underload_value", "saturation_value")
        )
        modules = [
            (_numbers(part, "data_origin"), _numbers(part, "data_size"), _lies(part))
            for part in detector.values()
            if isinstance(part, Group) and part.attrs.get("NX_class") == "NXdetector_module"
        ] or [((0, 0), run.shape, AS_SEEN_FROM_THE_SAMPLE.plane(beam, size))]
    dtype = run.dtype
    if dtype.kind == "f":
        bad: list[str] = []  # CrystFEL knows NaN
    elif dtype.kind == "i":
        bad = [f"flag_lessthan = {least}"]
    else:
        bad = [f"flag_morethan = {most}"]
    lines = [
        f"; of {run.path.name}",
        f"wavelength = {wavelength:.6f} A",
        f"clen = {distance:.6f} m",
        f"res = {1 / size:.4f}",
        "adu_per_photon = 1",
        *bad,
        f"data = {places.data}",
        "dim0 = %",
        "dim1 = ss",
        "dim2 = fs",
        f"mask = {places.mask}",
        "mask_good = 0x0000",
        "mask_bad = 0xffff",
        f"peak_list = {places.peaks}",
        "peak_list_type = cxi",
    ]
    for number, (first, sides, plane) in enumerate(modules):
        lines += ["", *_panel(f"p{number}", (*first, *sides), plane.scaled(1 / size), size)]
    if len(modules) > 1:
        lines += ["", "group_all = " + ",".join(f"p{number}" for number in range(len(modules)))]
    return "\n".join(lines) + "\n"


def _numbers(module: Group, name: str) -> tuple[int, int]:
    rows, columns = (int(one) for one in module[name][()])
    return rows, columns


def _lies(module: Group) -> Plane:
    """Return the place of an NXdetector_module, in m; along the beam it is relative to the detector's distance."""

    def step(name: str) -> Vector:
        x, y, z = (float(module[name][()]) * float(along) for along in module[name].attrs["vector"])
        return x, y, z

    x, y, z = (float(one) for one in module["module_offset"].attrs["offset"])
    return Plane((x, y, z), step("fast_pixel_direction"), step("slow_pixel_direction"))


def _direction(step: Vector) -> str:
    """Format a step as CrystFEL does: pixels along x, y and z."""
    terms = [f"{along:+.9f}{axis}" for along, axis in zip(step, "xyz", strict=True) if abs(along) > 5e-10]
    return " ".join(terms)


def _panel(name: str, part: tuple[int, int, int, int], plane: Plane, pitch: float) -> list[str]:
    """Return the lines of a panel. `part`: top, left, height and width in the image; `plane`: its place in the laboratory, in pixels of `pitch` m.
    CrystFEL has the same axes as NXmx."""
    top, left, height, width = part
    offset = [f"{name}/coffset = {plane.corner[2] * pitch:.9f}"] if plane.corner[2] else []
    return [
        f"{name}/min_fs = {left}",
        f"{name}/max_fs = {left + width - 1}",
        f"{name}/min_ss = {top}",
        f"{name}/max_ss = {top + height - 1}",
        f"{name}/corner_x = {plane.corner[0]:.6f}",
        f"{name}/corner_y = {plane.corner[1]:.6f}",
        f"{name}/fs = {_direction(plane.fast)}",
        f"{name}/ss = {_direction(plane.slow)}",
        *offset,
    ]
