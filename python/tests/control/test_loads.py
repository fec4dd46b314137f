# SPDX-License-Identifier: Apache-2.0
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from rashpa.control.capacity.calibration_sets import sets_of
from rashpa.control.capacity.declared_memory import declared
from rashpa.control.capacity.device_memory import memory_on_device
from rashpa.control.capacity.loads import dtp_loads, file_bytes, memory_of
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.pipeline import plan_pipeline
from rashpa.control.telegrams.telegram import UnitDevice
from rashpa.data.datasets.calibration_file import ModuleMaps, write_calibration

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "06_two_receivers.toml"


def test_memory_is_that_of_slots_records_output_lists_and_tables() -> None:
    full, centre, raw = load_plan(EXAMPLE).buffers
    plan = load_plan(EXAMPLE)
    pixels = 1024 * 1060
    assert memory_of(plan, full) == {
        "images": 40 * pixels * 2,  # a whole number of pages
        "records": 2 * 8192,  # 40 of 128 bytes for each DTP
        "output": 40 * pixels * 2,
        "kernels": 24 * pixels,  # of jungfrau
        "calibration": 32 * pixels,  # pedestals and gains of three stages, mask, RMS
        "tables": 600 * 2,
    }
    few = 256 * 164
    assert memory_of(plan, centre)["lists"] == 20 * 0.9 * few * (4 + 2)
    assert memory_of(plan, centre)["marks"] == 5 * few // 8
    assert memory_of(plan, raw) == {"images": 20 * 86016, "records": 2 * 4096, "tables": 120}


def with_cells(tmp_path: Path, cells: int, kernel: str = "", unit: str = "cpu") -> Plan:
    """Return a plan of a calibration with these storage cells; 0: one set for all of them."""
    sets = (cells,) if cells else ()
    np.save(tmp_path / "pedestal.npy", np.zeros((*sets, 3, 8, 64), np.float32))
    np.save(tmp_path / "gain.npy", np.ones((3, 8, 64), np.float32))
    path = tmp_path / "cells.toml"
    path.write_text(
        "[run]\nname = 'cells'\nframes = 100\n[detector]\nwidth = 64\nheight = 8\nenergy_kev = 12.4\n"
        f"[detector.calibration]\npedestal = ['pedestal.npy']\ngain = ['gain.npy']\nstorage_cells = {list(range(cells))}\n"
        "[dataset]\nkind = 'pattern'\nwidth = 64\nheight = 8\n"
        f"[[buffer]]\nname = 'b'\nunit = '{unit}'\nslots = 16\nstack = 8\n[[buffer.kernel]]\nname = 'jungfrau'\n{kernel}\n"
        "[[buffer.sink]]\nkind = 'null'\n"
    )
    return load_plan(path)


@pytest.mark.parametrize("cells", [0, 1, 4, 16])
def test_each_storage_cell_has_a_set_of_pedestals(tmp_path: Path, cells: int) -> None:
    sets, pixels = max(cells, 1), 8 * 64
    plan = with_cells(tmp_path, cells)
    assert sets_of(plan) == sets
    memory = memory_of(plan, plan.buffers[0])
    assert memory["kernels"] == 24 * sets * pixels
    assert memory["calibration"] == (12 * sets + 12 + 4) * pixels
    plan = with_cells(tmp_path, cells, 'track = "darks"')
    assert memory_of(plan, plan.buffers[0])["kernels"] == (24 + 12) * sets * pixels
    for kernel, bytes_of_a_set in (("", 24), ('track = "darks"', 36)):
        plan = with_cells(tmp_path, cells, kernel, "opencl")
        device = UnitDevice(unit="opencl", number=0, name="a card", memory_bytes=8 << 30, free_bytes=0, unified=False)
        on_device = memory_on_device(plan, plan.buffers[0], device)
        assert on_device["calibration and tables"] == bytes_of_a_set * sets * pixels
        assert "kernels" not in memory_of(plan, plan.buffers[0])


def test_costs_without_a_unit_are_those_of_accelerators(tmp_path: Path) -> None:
    for unit, bytes_of_a_pixel in (("cpu", [3 * 24, 3 * 12]), ("opencl", [3 * 24, 3 * 12, 8])):
        borders = "" if unit == "cpu" else '\nborders = "shared"'
        (buffer,) = with_cells(tmp_path, 3, f'track = "darks"{borders}', unit).buffers
        steps = plan_pipeline(buffer.section.kernel, "uint16")
        assert list(declared(buffer.section, steps, "run", 3)) == bytes_of_a_pixel


def test_cells_of_a_calibration_file_are_counted(tmp_path: Path) -> None:
    shape = (3, 3, 8, 64)
    module = ModuleMaps(
        pedestal=np.zeros(shape, np.float32),
        rms=np.ones(shape, np.float32),
        mask=np.zeros((8, 64), np.uint32),
        gain=np.ones((3, 8, 64), np.float32),
        frames=[[1, 1, 1]] * 3,
        cells=(0, 1, 15),
    )
    write_calibration(tmp_path / "calibration.h5", {0: module}, "Detector", datetime.now(UTC))
    path = with_cells(tmp_path, 0).source.path
    text = path.read_text().replace("pedestal.npy", "calibration.h5").replace("gain = ['gain.npy']\n", "")
    path.write_text(text.replace("storage_cells = []\n", ""))
    plan = load_plan(path)
    memory = memory_of(plan, plan.buffers[0])
    assert memory["kernels"] == 24 * 3 * 8 * 64
    assert memory["calibration"] == (12 * 3 + 12 + 4 + 4 * 3) * 8 * 64
    (tmp_path / "calibration.h5").write_bytes(b"no file of ours")
    assert memory_of(plan, plan.buffers[0])["kernels"] == 24 * 8 * 64, "the receiver tells what is wrong with it"


def test_sinks_that_may_drop_have_memory_of_their_own(tmp_path: Path) -> None:
    text = EXAMPLE.read_text().replace('kind = "memory"', 'kind = "memory"\non_full = "drop"\nqueue = 3')
    path = tmp_path / "drop.toml"
    path.write_text(text)
    plan = load_plan(path)
    assert memory_of(plan, plan.buffers[2])["copies for sinks"] == 3 * 5 * 256 * 164 * 2


def test_images_that_kernels_learn_from_lie_twice_where_sources_write_over_them(tmp_path: Path) -> None:
    text = EXAMPLE.read_text().replace('name = "jungfrau"\n', 'name = "jungfrau"\ntrack = "darks"\n')
    path = tmp_path / "learn.toml"
    for link, copies in {'kind = "roce"': 0, 'kind = "pcie"': 40 * 1024 * 1060 * 2}.items():
        path.write_text(f"{text}\n[link]\n{link}\n")
        plan = load_plan(path)
        assert memory_of(plan, plan.buffers[0]).get("copies for kernels", 0) == copies
        assert "copies for kernels" not in memory_of(plan, plan.buffers[2]), "no kernel, nothing is learned"


def test_queues_of_consumers_are_counted_as_if_nothing_were_compressed(tmp_path: Path) -> None:
    sink = 'kind = "stream2"\nconsumers = 3\nwaiting = 20'
    path = tmp_path / "stream.toml"
    path.write_text(EXAMPLE.read_text().replace('kind = "memory"', sink))
    plan = load_plan(path)
    assert memory_of(plan, plan.buffers[2])["queues of consumers"] == 3 * 20 * 256 * 164 * 2
    path.write_text(EXAMPLE.read_text().replace('kind = "memory"', sink.replace("20", "1000")))
    plan = load_plan(path)
    assert memory_of(plan, plan.buffers[2])["queues of consumers"] == 3 * 60 * 256 * 164 * 2, "the run has no more"


def test_files_hold_every_image_at_most_and_lists_in_place_of_pixels() -> None:
    plan = load_plan(EXAMPLE)
    full, centre, raw = plan.buffers
    assert file_bytes(plan, full) == 600 * 1024 * 1060 * 2
    assert file_bytes(plan, centre) == int(60 * 256 * 164 * 0.9 * 6)
    assert file_bytes(plan, raw) == 0


def test_rates_are_those_of_the_slice() -> None:
    loads = dtp_loads(load_plan(EXAMPLE))
    assert [load.images_per_s for load in loads] == [100, 100, 10, 10, 10, 10]
    assert loads[2].bytes_per_s == 10 * 256 * 64 * 2
