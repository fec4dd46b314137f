# SPDX-License-Identifier: Apache-2.0
"""The plan's memory of pipelines on a device, compared with the memory that units allocate there."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import numpy as np
import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa import _native
from rashpa.control.capacity.device_memory import memory_on_device
from rashpa.control.capacity.loads import memory_of
from rashpa.control.orders.plan_telegrams import destination_telegram
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.telegrams import telegram
from rashpa.data.datasets.calibration_file import ModuleMaps, write_calibration
from rashpa.node.engine.folders import Folders
from rashpa.node.engine.native_engine import NativeFactory
from rashpa.node.engine.native_receiver import buffer_configs

pytestmark = pytest.mark.whole

SMALL = 1 << 20  # bytes: what does not grow with images: counts of tiles, books of images, bins, rings
RUN = """\
[run]
name = "device"
frames = 100
[detector]
width = 1024
height = 512
beam_center_x = 500.0
beam_center_y = 250.0
energy_kev = 12.4
[dataset]
{dataset}
[receiver]
port = 0
[[buffer]]
name = "b"
stack = 8
slots = {slots}
unit = "{unit}"
{kernels}
[[buffer.sink]]
kind = "{sink}"
"""
PONI = """\
Detector: Detector
Detector_config: {"pixel1": 7.5e-05, "pixel2": 7.5e-05, "max_shape": [512, 1024]}
Distance: 0.1
Poni1: 0.01875
Poni2: 0.0375
Rot1: 0
Rot2: 0
Rot3: 0
Wavelength: 1e-10
"""
PATTERN = 'kind = "pattern"\nwidth = 1024\nheight = 512'
JUNGFRAU = 'kind = "jungfrau"\nmodules = 1\nframes = 4'
CELLS = f'{PATTERN}\n[detector.calibration]\npedestal = ["cells.h5"]'


def write_cells(path: Path, cells: int) -> None:
    """Write a calibration file of this number of storage cells."""
    pedestal = np.full((cells, 3, 512, 1024), 2000, np.float32)
    gain = np.tile(np.array([40, -1.5, -0.1], np.float32)[:, None, None], (1, 512, 1024))
    mask = np.zeros((512, 1024), np.uint32)
    maps = ModuleMaps(pedestal, np.ones_like(pedestal), mask, gain, frames=[[1, 1, 1]] * cells, cells=range(cells))
    write_calibration(path, {0: maps}, "Detector", datetime.now(UTC))


def kernel(name: str, **values: object) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    return "\n".join(["[[buffer.kernel]]", f'name = "{name}"', *lines])


CONVERTED = kernel("jungfrau")
PIPELINES = {
    "counts": (PATTERN, kernel("total_counts")),
    "lists": (PATTERN, kernel("csr", threshold=3, capacity=0.5)),
    "photons": (JUNGFRAU, CONVERTED),
    "energies": (JUNGFRAU, kernel("jungfrau", output="kev")),
    "followed": (JUNGFRAU, kernel("jungfrau", track="darks")),
    "cells": (CELLS, CONVERTED),
    "followed cells": (CELLS, kernel("jungfrau", track="darks")),
    "assembled": (JUNGFRAU, kernel("jungfrau", output="kev", borders="shared")),
    "marked": (
        JUNGFRAU,
        f"{CONVERTED}\n{kernel('bragg_count', threshold=2, min_pixels=3)}\n{kernel('csr', threshold=2, capacity=0.1)}",
    ),
    "added": (JUNGFRAU, f"{CONVERTED}\n{kernel('accumulate')}"),
    "variance": (JUNGFRAU, f"{CONVERTED}\n{kernel('accumulate', variance=True)}"),
    "peaks": (PATTERN, kernel("peakfinder8", threshold=10.0, min_snr=5.0)),
    "peaks of few": (PATTERN, kernel("peakfinder8", threshold=10.0, min_snr=5.0, max_radius=300.0, max_peaks=16384)),
    "maxima": (PATTERN, kernel("peakfinder", bins=2000)),
    "sparse": (PATTERN, kernel("sparsify", capacity=0.2)),
    "profile": (PATTERN, kernel("azimuthal", poni="flat.poni", bins=500, min_intensity=0.0)),
    "regions": (PATTERN, kernel("roi_stats", regions="a=1,2,30,40")),
    "sums": (PATTERN, kernel("checksum")),
}
UNITS = [name for name, usable, _ in _native.available_units() if usable and name not in ("cpu", "fpga")]


STORED = [(name, "hdf5", 40) for name in ("counts", "photons", "energies")]  # chunks, which unit cuda makes
CASES = [(name, "null", slots) for name in PIPELINES for slots in (16, 40)] + STORED


@pytest.mark.parametrize(("name", "sink", "slots"), CASES)
@pytest.mark.parametrize("unit", UNITS or [pytest.param("", marks=pytest.mark.skip(reason="no accelerator here"))])
def test_the_plan_knows_what_a_unit_takes_of_its_device(
    tmp_path: Path, unit: str, name: str, sink: str, slots: int
) -> None:
    dataset, kernels = PIPELINES[name]
    (tmp_path / "flat.poni").write_text(PONI)
    write_cells(tmp_path / "cells.h5", 6)
    path = tmp_path / "run.toml"
    path.write_text(RUN.format(dataset=dataset, kernels=kernels, unit=unit, slots=slots, sink=sink))
    try:
        plan = load_plan(path)
    except ValueError as error:
        if "has no version" not in str(error):
            raise
        pytest.skip(f"unit {unit} has no version of a kernel")
    (buffer,) = plan.buffers
    order = cast("telegram.Destination", destination_telegram(plan, plan.receivers[0]).destination)
    (config,) = buffer_configs(order, Folders((Path("/"),), (Path("/"),), tmp_path), "measured")
    config.images_copied = True  # also by PoCL, which could do without
    taken = _native.Recorder(config, plan.file.run.number).device_bytes
    device = telegram.UnitDevice(unit=unit, number=0, name="", memory_bytes=0, free_bytes=0, unified=False)
    planned = memory_on_device(plan, buffer, device)
    assert abs(sum(planned.values()) - taken) < SMALL, (planned, taken)
    assert taken > 8 * SMALL, "so that what is left out cannot hide what is not"


@pytest.mark.parametrize("track", ["off", "darks"])
def test_the_plan_knows_what_a_receiver_takes_for_storage_cells_on_processors(tmp_path: Path, track: str) -> None:
    """Measured in processes of their own: one with a calibration of two cells, one with ten."""
    taken, planned = zip(*(_of_cells(tmp_path, cells, track) for cells in (2, 10)), strict=True)
    assert abs((taken[1] - taken[0]) - (planned[1] - planned[0])) < 2 * SMALL, (taken, planned)
    assert planned[1] - planned[0] > 100 * SMALL


def _of_cells(folder: Path, cells: int, track: str) -> tuple[int, int]:
    """Return the resident bytes that a buffer's configuration and pipeline take, and the bytes of the plan."""
    write_cells(folder / f"cells{cells}.h5", cells)
    path = folder / f"run{cells}.toml"
    dataset = CELLS.replace("cells.h5", f"cells{cells}.h5")
    kernels = kernel("jungfrau", track=track)
    path.write_text(RUN.format(dataset=dataset, kernels=kernels, unit="cpu", slots=16, sink="null"))
    code = (
        "import ctypes, gc, sys; from pathlib import Path; from rashpa import _native\n"
        "from rashpa.control.orders.plan_telegrams import destination_telegram\n"
        "from rashpa.control.plan.run_plan import load_plan\n"
        "from rashpa.node.engine.folders import Folders\n"
        "from rashpa.node.engine.native_receiver import buffer_configs\n"
        "def resident():\n"
        "    gc.collect(); ctypes.CDLL('libc.so.6').malloc_trim(0)\n"
        "    return int(Path('/proc/self/statm').read_text().split()[1]) * 4096\n"
        "path = Path(sys.argv[1]); plan = load_plan(path)\n"
        "order = destination_telegram(plan, plan.receivers[0]).destination; before = resident()\n"
        "(config,) = buffer_configs(order, Folders((Path('/'),), (Path('/'),), path.parent), 'measured')\n"
        "recorder = _native.Recorder(config, 1); print(resident() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    plan = load_plan(path)
    memory = memory_of(plan, plan.buffers[0])
    return int(done.stdout), memory["kernels"] + memory["calibration"]


def test_a_receiver_says_which_devices_it_has_and_how_much_memory() -> None:
    can = NativeFactory("receiver").capabilities("r")
    for device in can.devices:
        assert device.unit in UNITS
        assert device.memory_bytes > 0
        assert device.free_bytes <= device.memory_bytes
    numbers = [(device.unit, device.number) for device in can.devices]
    assert len(set(numbers)) == len(numbers)
    assert {unit for unit, _ in numbers} == set(UNITS)
    assert not NativeFactory("emulator").capabilities("e").devices


def test_a_receiver_loads_no_driver_of_a_unit_that_it_is_not_asked_for() -> None:
    """Run in a separate process, because loaded libraries stay. A request for all units shows that there is a driver to load."""
    code = (
        "import pathlib, sys; from rashpa.node.engine.native_engine import NativeFactory\n"
        "can = NativeFactory('receiver').capabilities('r', tuple(sys.argv[1:]))\n"
        "maps = pathlib.Path('/proc/self/maps').read_text()\n"
        "print([unit.name for unit in can.units], [device.unit for device in can.devices], 'libOpenCL' in maps, 'libcuda.' in maps)"
    )

    def said(*units: str) -> str:
        return subprocess.run([sys.executable, "-c", code, *units], capture_output=True, text=True, check=True).stdout

    assert said("cpu") == "['cpu'] [] False False\n"
    if "opencl" in UNITS:
        assert said("opencl").startswith("['opencl'] ['opencl'")
        assert " True " in said("opencl")
    assert said().startswith("['cpu', 'cuda', 'opencl', 'fpga']")
