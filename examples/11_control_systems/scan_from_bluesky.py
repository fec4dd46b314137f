#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scans a simulated motor with a RunEngine: eight frames at each of five points; images without spots are vetoed.

Usage: scan_from_bluesky.py [FOLDER]. The scan's documents are written to documents.jsonl there; the program finds the images with them.
"""

import json
import sys
import uuid
from pathlib import Path
from typing import Any

import bluesky.plan_stubs as bps
import bluesky.preprocessors as bpp
import h5py
import hdf5plugin  # noqa: F401  (reads the images)
import numpy as np
from bluesky.run_engine import RunEngine
from ophyd_async.core import StaticFilenameProvider, StaticPathProvider, TriggerInfo, init_devices
from ophyd_async.sim import SimMotor

from rashpa.beamline.bluesky import RashpaDetector

RUN_FILE = Path(__file__).with_name("step_scan.toml")
POINTS, FRAMES = 5, 8


def main() -> None:
    """Scan, and print the stored images of each point."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/from_bluesky").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    engine = RunEngine()
    paths = StaticPathProvider(StaticFilenameProvider(f"scan_{uuid.uuid4().hex[:8]}"), folder)
    with init_devices():
        det = RashpaDetector(RUN_FILE, paths)
        motor = SimMotor()

    @bpp.stage_decorator([det])
    @bpp.run_decorator()
    def scan() -> Any:
        yield from bps.prepare(det, TriggerInfo(collections_per_event=FRAMES), wait=True)
        for position in np.linspace(0.0, 0.4, POINTS):
            yield from bps.mv(motor, float(position))
            yield from bps.trigger_and_read([det, motor])

    documents: list[tuple[str, dict[str, Any]]] = []
    engine(scan(), lambda name, document: documents.append((name, document)))
    with (folder / "documents.jsonl").open("w") as out:
        out.writelines(json.dumps(document, default=np.ndarray.tolist) + "\n" for document in documents)
    tell(documents)


def tell(documents: list[tuple[str, dict[str, Any]]]) -> None:
    """Print a line for each point of the scan."""
    resources = {one["data_key"]: one for name, one in documents if name == "stream_resource"}
    positions = [one["data"]["motor"] for name, one in documents if name == "event"]
    with h5py.File(resources["det"]["uri"].partition("localhost")[2]) as file:
        images, stored = (
            file[resources[key]["parameters"]["dataset"]][()].reshape(POINTS, FRAMES, -1)
            for key in ("det", "det-stored_index")
        )
    for position, seen, places in zip(positions, images, stored[..., 0], strict=True):
        kept = seen[places >= 0]
        photons = int(kept[kept > 0].sum())
        print(f"motor at {position:.1f}: {len(kept)} of {FRAMES} images stored, {photons} photons in them")


if __name__ == "__main__":
    main()
