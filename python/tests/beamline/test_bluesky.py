# SPDX-License-Identifier: Apache-2.0
"""Scans with a real RunEngine: its documents agree with the files."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
pytest.importorskip("ophyd_async", reason="rashpa[bluesky] is not installed: make test-beamline")

import bluesky.plan_stubs as bps
import bluesky.plans as bp
import bluesky.preprocessors as bpp
import h5py
import hdf5plugin  # noqa: F401  (reads bitshuffle)
import numpy as np
from bluesky.run_engine import RunEngine
from bluesky.utils import FailedStatus
from ophyd_async.core import StaticFilenameProvider, StaticPathProvider, TriggerInfo, init_devices
from ophyd_async.sim import SimMotor
from python.tests.beamline.pattern_run import HEIGHT, WIDTH, frame, kept, tables

import rashpa
from rashpa.beamline.bluesky import RashpaDetector
from rashpa.control.runfile.run_file_reader import RunFileError

pytestmark = pytest.mark.whole

Make = Callable[..., RashpaDetector]
FILL = np.iinfo(np.uint16).max


@pytest.fixture
def engine() -> Iterator[RunEngine]:
    made = RunEngine()
    yield made
    made.loop.call_soon_threadsafe(made.loop.stop)
    made._th.join()
    made.loop.close()


@pytest.fixture
def make(engine: RunEngine, tmp_path: Path) -> Make:
    def detector(replace: bool = False, **parts: Any) -> RashpaDetector:
        paths = StaticPathProvider(StaticFilenameProvider("scan"), tmp_path)
        with init_devices():
            det = RashpaDetector(tables(tmp_path, **parts), paths, replace=replace)
        return det  # noqa: RET504 (init_devices names what stands in a variable)

    return detector


class Documents:
    """Writes documents as JSON lines, as a broker would, and reads them again."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __call__(self, name: str, document: dict[str, Any]) -> None:
        with self.file.open("a") as out:
            out.write(json.dumps([name, document], default=np.ndarray.tolist) + "\n")

    def named(self, name: str) -> list[dict[str, Any]]:
        lines = self.file.read_text().splitlines()
        return [document for kind, document in map(json.loads, lines) if kind == name]


def values_of(documents: Documents, key: str) -> dict[int, np.ndarray]:
    """Return values by the number of their event, as a reader does that only has the documents."""
    found = {}
    descriptors = {one["uid"]: one for one in documents.named("descriptor")}
    for resource in documents.named("stream_resource"):
        if resource["data_key"] != key:
            continue
        assert resource["mimetype"] == "application/x-hdf5"
        path = urllib.parse.unquote(urllib.parse.urlsplit(resource["uri"]).path)
        with h5py.File(path) as file:
            data = file[resource["parameters"]["dataset"]]
            for datum in documents.named("stream_datum"):
                if datum["stream_resource"] != resource["uid"]:
                    continue
                said = descriptors[datum["descriptor"]]["data_keys"][key]
                assert data.dtype.str == said["dtype_numpy"]
                assert [*data.shape[1:]] == said["shape"][1:]
                assert tuple(resource["parameters"]["chunk_shape"][1:]) == data.shape[1:]
                per_event = said["shape"][0]
                numbers, indices = (
                    range(*(datum[of][edge] for edge in ("start", "stop"))) for of in ("seq_nums", "indices")
                )
                for number, index in zip(numbers, indices, strict=True):
                    found[number] = data[index * per_event : (index + 1) * per_event]
                    assert len(found[number]) == per_event
    return found


def check_images(documents: Documents, folder: Path, frames: int, per_event: int) -> None:
    """Check that every frame is at its place: its pixels when accepted, no value when vetoed; and that no document is repeated."""
    images = values_of(documents, "det")
    assert sorted(images) == list(range(1, frames // per_event + 1))
    stored = np.concatenate([values_of(documents, "det-stored_index")[number] for number in sorted(images)])
    numbers = np.concatenate([values_of(documents, "det-frame_number")[number] for number in sorted(images)])
    assert numbers.tolist() == list(range(frames))
    with rashpa.open(folder / "scan_b_master.h5") as run:
        assert run.books["vetoed"] == sum(not kept(number) for number in range(frames))
        assert len(run) == int((stored >= 0).sum()) == sum(map(kept, range(frames)))
        for number, image in enumerate(np.concatenate([images[event] for event in sorted(images)])):
            if kept(number):
                np.testing.assert_array_equal(image, frame(number))
                np.testing.assert_array_equal(run.image(int(stored[number])), image)
            else:
                assert stored[number] == -1
                assert (image == FILL).all()


def test_a_count_has_an_event_for_every_frame_also_the_vetoed_ones(
    engine: RunEngine, make: Make, tmp_path: Path
) -> None:
    det, documents = make(), Documents(tmp_path / "documents.jsonl")
    engine(bp.count([det], num=6), documents)
    assert len(documents.named("event")) == 6
    assert documents.named("stop")[0]["exit_status"] == "success"
    (descriptor,) = documents.named("descriptor")
    assert descriptor["data_keys"]["det"]["shape"] == [1, HEIGHT, WIDTH]
    assert descriptor["configuration"]["det"]["data"]["det-driver-exposure_time"] == 0.001
    check_images(documents, tmp_path, 6, 1)


def test_a_scan_takes_several_frames_at_each_point(engine: RunEngine, make: Make, tmp_path: Path) -> None:
    det, documents = make(stack=2), Documents(tmp_path / "documents.jsonl")
    with init_devices():
        motor = SimMotor()

    def scan() -> Any:
        yield from bps.abs_set(motor.velocity, 100.0, wait=True)
        yield from bps.stage(det, wait=True)
        yield from bps.prepare(det, TriggerInfo(livetime=0.002, deadtime=0.001, collections_per_event=4), wait=True)
        yield from inner()
        yield from bps.unstage(det, wait=True)

    @bpp.run_decorator()  # type: ignore[untyped-decorator]
    def inner() -> Any:
        for position in (0.0, 0.5, 1.0):
            yield from bps.mv(motor, position)
            yield from bps.trigger_and_read([det, motor])

    engine(scan(), documents)
    assert [event["data"]["motor"] for event in documents.named("event")] == [0.0, 0.5, 1.0]
    (descriptor,) = documents.named("descriptor")
    assert descriptor["configuration"]["det"]["data"]["det-driver-period_between_frames"] == pytest.approx(0.003)
    check_images(documents, tmp_path, 12, 4)


def test_a_fly_scan_announces_frames_as_they_are_decided(engine: RunEngine, make: Make, tmp_path: Path) -> None:
    det, documents = make(stack=4), Documents(tmp_path / "documents.jsonl")
    seen: list[tuple[bool, int]] = []

    @bpp.stage_decorator([det])  # type: ignore[untyped-decorator]
    @bpp.run_decorator()  # type: ignore[untyped-decorator]
    def fly() -> Any:
        yield from bps.prepare(det, TriggerInfo(number_of_events=40), wait=True)
        yield from bps.declare_stream(det, name="frames", collect=True)
        seen.append(((yield from bps.rd(det.writer.writing)), (yield from bps.rd(det.writer.frames_written))))
        yield from bps.kickoff(det, wait=True)
        yield from bps.collect_while_completing([det], [det], flush_period=0.1, stream_name="frames")
        seen.append(((yield from bps.rd(det.writer.writing)), (yield from bps.rd(det.writer.frames_written))))

    engine(fly(), documents)
    assert seen == [(True, 0), (True, 40)]
    check_images(documents, tmp_path, 40, 1)


def test_frames_written_begins_at_zero_with_each_staging(engine: RunEngine, make: Make, tmp_path: Path) -> None:
    det = make(replace=True)
    told: list[tuple[bool, int]] = []
    now = {"writing": False, "frames": 0}

    def heard(name: str) -> Callable[[dict[str, Any]], None]:
        def take(reading: dict[str, Any]) -> None:
            now[name] = next(iter(reading.values()))["value"]
            told.append((bool(now["writing"]), int(now["frames"])))

        return take

    def plan() -> Any:
        yield from bp.count([det], num=2)
        yield from bps.wait_for([watch])
        yield from bp.count([det], num=3)

    async def watch() -> None:
        det.writer.writing.subscribe_reading(heard("writing"))
        det.writer.frames_written.subscribe_reading(heard("frames"))

    engine(plan())
    first = next(number for number, (writing, _) in enumerate(told) if writing)
    assert told[first] == (True, 0)
    assert told[-1] == (False, 3)
    counts = [frames for writing, frames in told[first:] if writing]
    assert counts == sorted(counts)


def test_a_scan_that_is_repeated_leaves_the_files_of_the_first(engine: RunEngine, make: Make, tmp_path: Path) -> None:
    det = make(existing="replace")  # of the run file: that is of its own runs
    engine(bp.count([det], num=2))
    first = {path.name: path.read_bytes() for path in tmp_path.glob("scan_*")}
    assert first
    with pytest.raises(FailedStatus) as failed:
        engine(bp.count([det], num=3))
    assert "exists" in str(failed.value.__cause__ or failed.value)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("scan_*")} == first


def test_what_the_detector_cannot_do_is_said(engine: RunEngine, make: Make, tmp_path: Path) -> None:
    det = make(stack=4)
    with pytest.raises(FailedStatus) as raised:
        engine(bp.count([det], num=1))
    assert "multiple of 4" in str(raised.value.__cause__)
    with pytest.raises(RunFileError, match="there is no buffer other; one of b"):
        RashpaDetector(tables(tmp_path), StaticPathProvider(StaticFilenameProvider("x"), tmp_path), buffer="other")
    lists = tables(tmp_path)
    lists["buffer"][0]["kernel"].append({"name": "csr", "capacity": 1.0})
    with pytest.raises(RunFileError, match="lists of pixels"):
        RashpaDetector(lists, StaticPathProvider(StaticFilenameProvider("x"), tmp_path))


# A question to the node that is cancelled as it dies may leave its connection open until it is collected: httpcore issue 1093.
@pytest.mark.filterwarnings("ignore:.*(_SelectorTransport|socket.socket).*:pytest.PytestUnraisableExceptionWarning")
def test_a_node_that_dies_is_named_at_the_next_point_and_at_the_end(engine: RunEngine, make: Make) -> None:
    det = make()

    def plan() -> Any:
        yield from bps.stage(det, wait=True)
        yield from bps.prepare(det, TriggerInfo(exposure_timeout=5.0), wait=True)
        yield from bps.open_run()
        yield from bps.trigger_and_read([det])
        session = det._acquisition.session
        assert session is not None
        os.kill(session._manager.local_nodes["emulator"].pid, signal.SIGKILL)
        yield from bps.wait_for([lambda: asyncio.wait_for(asyncio.wrap_future(session.ended), 60.0)])
        with pytest.raises(FailedStatus) as raised:
            yield from bps.trigger(det, wait=True)
        assert "emulator" in str(raised.value.__cause__)
        with pytest.raises(FailedStatus) as raised:
            yield from bps.unstage(det, wait=True)
        assert "killed by SIGKILL" in str(raised.value.__cause__)
        yield from bps.close_run()
        assert (yield from bps.rd(det.driver.detector_status)) == "Error"

    engine(plan())


def test_the_example_runs_as_it_stands(tmp_path: Path) -> None:
    script = Path("examples/11_control_systems/scan_from_bluesky.py")
    done = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"motor at 0\.\d: \d of 8 images stored, [1-9]\d* photons", done.stdout)) == 5
    assert (tmp_path / "documents.jsonl").read_text().count("\n") > 10
