# SPDX-License-Identifier: Apache-2.0
"""Tests whole acquisitions over `pcie` while a process of the same user writes into the shared memory: no wrong image may be marked as complete."""

import contextlib
import json
import mmap
import os
import random
import re
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.chain.test_nodes import COMMAND

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.data.stored.reader import open_run
from rashpa.testing.run_file import small_run
from rashpa.testing.waiting import eventually

SIZE, SLOTS, STACK, PATTERNS = 256, 40, 10, 7
IMAGE_BYTES = 2 * SIZE * SIZE
LOCK, GRANTED = 128, 192  # in the control block: of its first DTP
HDF5 = [{"kind": "hdf5"}]
BUFFERS: dict[str, dict[str, Any]] = {
    "hdf5": {"sink": HDF5},
    "hdf5 by threads": {"sink": [{"kind": "hdf5", "threads": 2}]},
    "hdf5 that may drop": {"sink": [{"kind": "hdf5", "on_full": "drop"}]},
    "raw": {"sink": [{"kind": "raw"}]},
    "kernel": {"kernel": [{"name": "total_counts"}], "sink": HDF5},
}

Shared = dict[str, mmap.mmap]


def write_run(folder: Path, frames: int, rate_hz: float, sink: str) -> list[str]:
    """Write the run file and return the command."""
    text = small_run(
        run={"name": "t", "frames": frames, "output": "out"},
        detector={"width": SIZE, "height": SIZE, "rate_hz": rate_hz},
        dataset={"width": SIZE, "height": SIZE, "frames": PATTERNS, "modules": 1},
        link={"kind": "pcie", "port": None, "verify": "all"},
        buffer={"slots": SLOTS, "stack": STACK, **BUFFERS[sink]},
    )
    folder.mkdir()
    (folder / "run.toml").write_text(text)
    return [*COMMAND, "run", "run.toml", "-q", "--no-page", "--output", "report"]


def shared_by(folder: Path) -> Shared:
    """Map the memory that processes working in the folder share by descriptors: the control block and the images."""
    found: Shared = {}
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            if link.readlink() != folder:
                continue
            for name in (link.parent / "fd").iterdir():
                if "memfd:rashpa" not in str(name.readlink()):
                    continue
                file = os.open(name, os.O_RDWR)
                size = os.fstat(file).st_size
                memory = mmap.mmap(file, size) if size else None  # created, and not yet as large as it will be
                os.close(file)
                if memory is None:
                    continue
                if memory[:8] == b"RSPCIE01":
                    found["control"] = memory
                elif len(memory) >= SLOTS * IMAGE_BYTES:
                    found["images"] = memory
    return found


def change(shared: Shared, dice: random.Random) -> None:
    """Write pixels of an image that was sent some images ago."""
    sent = struct.unpack_from("<I", shared["control"], LOCK)[0] & 0xFFFFFF
    at = (sent - dice.randrange(SLOTS // 2)) % SLOTS * IMAGE_BYTES + 8 * dice.randrange(IMAGE_BYTES // 8)
    shared["images"][at : at + 8] = b"\x01\x00" * 4
    time.sleep(0.0005)  # wait: between two attacks


def change_and_back(shared: Shared, dice: random.Random) -> None:
    """Write pixels, and restore them soon after."""
    sent = struct.unpack_from("<I", shared["control"], LOCK)[0] & 0xFFFFFF
    places = [((sent - n) % SLOTS) * IMAGE_BYTES + 8 * dice.randrange(IMAGE_BYTES // 8) for n in range(1, SLOTS // 2)]
    before = [shared["images"][at : at + 8] for at in places]
    for at in places:
        shared["images"][at : at + 8] = b"\x01\x00" * 4
    time.sleep(dice.random() * 0.0003)  # wait: as long as they stay changed
    for at, pixels in zip(places, before, strict=True):
        shared["images"][at : at + 8] = pixels


def grant_all(shared: Shared, _dice: random.Random) -> None:
    """Grant the source more images than there are."""
    struct.pack_into("<Q", shared["control"], GRANTED, 1 << 40)
    time.sleep(0.0002)  # wait: between two attacks


@contextlib.contextmanager
def attacked(shared: Shared, attack: Callable[[Shared, random.Random], None]) -> Iterator[None]:
    until, dice = threading.Event(), random.Random(32)

    def go_on() -> None:
        while not until.is_set():
            attack(shared, dice)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        until.set()
        thread.join()


def play(folder: Path, command: list[str], attack: Callable[[Shared, random.Random], None] | None) -> tuple[int, Any]:
    """Carry out a run that is attacked once its first file exists; return exit code and report."""
    with contextlib.ExitStack() as stack:
        run = stack.enter_context(subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True))
        if attack is not None:
            eventually(lambda: {"control", "images"} <= shared_by(folder).keys(), what="the shared memory", process=run)
            stack.enter_context(attacked(shared_by(folder), attack))
        _, said = run.communicate(timeout=120)
    report = folder / "report" / "report.json"
    assert report.exists(), said
    return run.returncode, json.loads(report.read_text())


@pytest.fixture(scope="module")
def patterns(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    folder = tmp_path_factory.mktemp("clean") / "w"
    code, _ = play(folder, write_run(folder, PATTERNS, 200, "hdf5"), None)
    assert code == 0
    with open_run(folder / "out" / "t_full_master.h5") as run:
        return [np.array(run.image(index)) for index in range(PATTERNS)]


def wrong_ones(folder: Path, patterns: list[Any]) -> tuple[int, int]:
    """Return the number of complete stored images that differ from the sent ones, and the number of stored images."""
    (master,) = (folder / "out").glob("t_full*_master.h5")
    with open_run(master) as run:
        wrong = 0
        for index in range(len(run)):
            row = run.row_of(index)
            if not run.lost_mask(row).any():
                wrong += not np.array_equal(np.array(run.image(index)), patterns[row % PATTERNS])
        return wrong, len(run)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sink", "attack"), [("hdf5", change), *((sink, change_and_back) for sink in BUFFERS if sink != "kernel")]
)
def test_no_image_is_complete_whose_pixels_were_changed(
    tmp_path: Path, patterns: list[Any], sink: str, attack: Callable[[Shared, random.Random], None]
) -> None:
    folder = tmp_path / "w"
    code, report = play(folder, write_run(folder, 300, 300, sink), attack)
    wrong, stored = wrong_ones(folder, patterns)
    assert wrong == 0, f"{wrong} of {stored} images"
    assert code == 3, "images that were changed are missing somewhere"
    books = report["books"]
    assert books["written"] == stored
    assert books["errored"] + books["partial"] > 0


# What a kernel reads is compared when the unit is through, in the slot: who changes it back in between is not found.
@pytest.mark.slow
def test_no_image_is_complete_whose_pixels_were_changed_before_a_kernel_has_read_them(
    tmp_path: Path, patterns: list[Any]
) -> None:
    folder = tmp_path / "w"
    _, report = play(folder, write_run(folder, 300, 300, "kernel"), change)
    wrong, stored = wrong_ones(folder, patterns)
    assert wrong == 0, f"{wrong} of {stored} images"
    assert report["books"]["errored"] > 0


@pytest.mark.slow
def test_an_event_beyond_the_grant_makes_no_wrong_image(tmp_path: Path, patterns: list[Any]) -> None:
    folder = tmp_path / "w"
    code, report = play(folder, write_run(folder, 8000, 0, "hdf5"), grant_all)
    wrong, stored = wrong_ones(folder, patterns)
    assert wrong == 0, f"{wrong} of {stored} images"
    assert code == 3
    assert report["books"]["written"] == stored
    counted = {
        name: sum(map(int, re.findall(rf'"{name}": (\d+)', json.dumps(report))))
        for name in ("overwritten_images", "credits_refused")
    }
    # a receiver that the machine does not run meanwhile finds the last images of each slot alone: the others are missing
    lost = counted["overwritten_images"] + report["books"]["missing"]
    assert lost > 0, "images whose slots were written by later ones"
    assert counted["credits_refused"] > 0, "words that cannot be"
