# SPDX-License-Identifier: Apache-2.0
"""Measures how fast this machine processes the pipelines of a run file, with its dataset and calibration but without a link: its units alone, and
with files on its disks."""

import itertools
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.control.capacity.throughput import file_fingerprint_of, fingerprint_of, words_of, writes_files
from rashpa.control.orders.plan_telegrams import destination_telegram
from rashpa.control.plan.checks.dataset_check import resolved_dataset
from rashpa.control.plan.model import Plan, PlannedBuffer
from rashpa.control.plan.run_plan import plan_run
from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile.pipeline import usable_units
from rashpa.control.runfile.run_file_reader import RunFileError, read_run_file
from rashpa.control.runfile.sink_sections import Hdf5Sink, NullSink
from rashpa.control.telegrams import telegram
from rashpa.data.datasets.datasets import dataset_from_spec
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.folders import Folders
from rashpa.node.engine.native_errors import native_errors
from rashpa.node.engine.native_receiver import buffer_configs
from rashpa.node.engine.native_status import buffer_status

_ROUNDS = 5  # the slowest counts
_MOST_BYTES = 256 << 20  # of images in memory; more than any cache, where there are enough of them
_MOST_STACKS = 8
_ANNOUNCED = 1 << 36  # images, more than there is time for
_MOST_FILED = 1 << 18  # images in files: each has a row, and room for it is taken at once
_OF_FREE = 4  # files that are written to measure take a quarter of the free space, at most


@dataclass(frozen=True)
class Measured:
    """Holds the result of one pipeline on one unit. `trouble`: the reason why there is no figure."""

    buffer: str
    what: str
    throughput: telegram.Throughput | None
    trouble: str = ""


def measure(path: Path, seconds: float, progress: Callable[[str], None] = lambda _: None) -> Iterator[Measured]:
    """Measure each buffer with kernels on every unit of this machine that has these kernels. Each measurement takes `seconds` besides its start.
    Raise RunFileError when the file cannot be run."""
    file, source = read_run_file(path)
    done: set[tuple[str, int, int]] = set()
    for section in file.buffer:
        # only the run file names the card, and the time of a simulated one says nothing
        usable = [name for name, works, _ in _native.available_units() if works and name != "fpga"]
        for unit in [name for name in usable_units(section.kernel) if name in usable] if section.kernel else ():
            chosen: dict[str, object] = {"sink": [NullSink(kind="null")], "receiver": None}
            if unit != section.unit:
                chosen |= {"unit": unit, "trigger": "auto", "device": 0, "devices": [], "share": "stacks"}
            alone = section.model_copy(update=chosen)
            try:
                plan = plan_run(_only(file, alone), source)
            except RunFileError as error:
                if unit == section.unit:
                    raise
                yield Measured(section.name, words_of(alone), None, str(error))
                continue
            (buffer,) = plan.buffers
            key = (fingerprint_of(alone, file.detector.pixel), buffer.width, buffer.height)
            if key in done:
                continue
            done.add(key)
            progress(f"{section.name}: {words_of(alone)}")
            yield _measured(plan, buffer, key[0], seconds)


def measure_files(path: Path, seconds: float, progress: Callable[[str], None] = lambda _: None) -> Iterator[Measured]:
    """Measure each buffer that writes files: its pipeline and its files, in a temporary folder beside the run's output. The time counts until all
    data are on the disk; each measurement takes `seconds` and the time to complete the files. Raise RunFileError when the file cannot be run."""
    file, source = read_run_file(path)
    for section in filter(writes_files, file.buffer):
        sinks = [sink for sink in section.sink if isinstance(sink, Hdf5Sink)]
        alone = section.model_copy(update={"sink": sinks, "receiver": None})
        fingerprint = file_fingerprint_of(alone, file.detector.pixel, file.run.output)
        beside = file.run.folder.absolute().parent
        what = f"{words_of(alone)}, in files in {beside}"
        progress(f"{section.name}: {what}")
        try:
            with tempfile.TemporaryDirectory(prefix=".rashpa_measures_", dir=beside) as folder:
                run = file.run.model_copy(update={"output": folder, "series_frames": None})
                filed = _only(file.model_copy(update={"run": run}), alone, _MOST_FILED * section.every)
                plan = plan_run(filed, source)
                (buffer,) = plan.buffers
                rate = _written_per_s(plan, buffer, seconds, Path(folder))
        except (EngineError, OSError) as error:
            yield Measured(section.name, what, None, str(error))
            continue
        found = telegram.Throughput(
            pipeline=fingerprint,
            what=what[:1000],
            width=buffer.width,
            height=buffer.height,
            images_per_s=rate,
            date=_today(),
        )
        yield Measured(section.name, what, found)


def _only(file: toml.RunFile, section: toml.Buffer, frames: int = _ANNOUNCED) -> toml.RunFile:
    """Return the run file with one buffer, at a receiver of this machine, and with its images in host memory."""
    run = file.run.model_copy(update={"frames": frames})
    return file.model_copy(
        update={"run": run, "buffer": [section], "emulator": [], "receiver": [], "nodes": toml.Nodes()}
    )


def _measured(plan: Plan, buffer: PlannedBuffer, fingerprint: str, seconds: float) -> Measured:
    what = words_of(buffer.section)
    try:
        rate = _images_per_s(plan, buffer, seconds)
    except EngineError as error:
        return Measured(buffer.section.name, what, None, str(error))
    found = telegram.Throughput(
        pipeline=fingerprint, what=what, width=buffer.width, height=buffer.height, images_per_s=rate, date=_today()
    )
    return Measured(buffer.section.name, what, found)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _images_per_s(plan: Plan, buffer: PlannedBuffer, seconds: float) -> float:
    """Return the slowest rate, images/s, of several rounds; a first round is not counted."""
    with native_errors():
        recorder = _recorder(plan, buffer)
        images, flags = _images(plan, buffer)
        recorder.begin()
        try:
            recorder.process(images, flags=flags)
            rates = [_round(recorder, images, flags, seconds / _ROUNDS) for _ in range(_ROUNDS)]
        finally:
            recorder.finish()
    _check(recorder)
    return min(rates)


def _written_per_s(plan: Plan, buffer: PlannedBuffer, seconds: float, folder: Path) -> float:
    """Return the rate, images/s, until the files are complete and on the disk. Write no more than the free space allows."""
    with native_errors():
        recorder = _recorder(plan, buffer)
        images, flags = _images(plan, buffer)
        most = min(_MOST_FILED, shutil.disk_usage(folder).free // _OF_FREE // images[0].nbytes) - len(images)
        recorder.begin()
        began = time.perf_counter()
        count = 0
        try:
            while time.perf_counter() - began < seconds and count <= most:
                recorder.process(images, flags=flags)
                count += len(images)
        finally:
            recorder.finish()
    took = time.perf_counter() - began
    _check(recorder)
    if count == 0:
        raise EngineError("resource", f"{folder.parent}: not enough room for {len(images)} images; free some space")
    return count / took


def _recorder(plan: Plan, buffer: PlannedBuffer) -> _native.Recorder:
    receiver = next(one for one in plan.receivers if one.name == buffer.receiver)
    order = cast("telegram.Destination", destination_telegram(plan, receiver).destination)
    folder = plan.source.path.resolve().parent
    (config,) = buffer_configs(order, Folders((Path("/"),), (Path("/"),), folder), "measured")
    return _native.Recorder(config, plan.file.run.number)


def _check(recorder: _native.Recorder) -> None:
    status = buffer_status(recorder.status())
    if trouble := status.unit_error or status.sink_error:
        raise EngineError("internal", trouble)
    if status.books.errored:
        raise EngineError("internal", f"{status.books.errored} images errored")


def _round(recorder: _native.Recorder, images: NDArray[Any], flags: NDArray[np.uint32], seconds: float) -> float:
    began = time.perf_counter()
    for passes in itertools.count(1):
        recorder.process(images, flags=flags)
        elapsed = time.perf_counter() - began
        if elapsed >= seconds:
            return passes * len(images) / elapsed
    raise AssertionError("count() does not end")


def _images(plan: Plan, buffer: PlannedBuffer) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """Return the first images of the buffer, in whole stacks, and their flags."""
    file = plan.file
    frames = dataset_from_spec(resolved_dataset(file, plan.source, "local"), Path.cwd()).dataset
    stack = buffer.section.stack
    stack_bytes = stack * buffer.width * buffer.height * plan.frame_pixel_bytes
    count = stack * max(1, min(_MOST_STACKS, _MOST_BYTES // stack_bytes))
    images = np.zeros((count, buffer.height, buffer.width), np.dtype(file.detector.pixel))
    flags = np.zeros(count, np.uint32)
    for index in range(count):
        number = buffer.frame_of(index) % frames.frames
        flags[index] = frames.flags(number)
        for dtp in buffer.dtps:
            one, at = dtp.region, dtp.target
            pixels = dtp.orientation.turned(frames.frame(dtp.module % frames.modules, number))
            images[index, at.y : at.bottom, at.x : at.right] = pixels[
                one.y : one.bottom : dtp.bins[1], one.x : one.right : dtp.bins[0]
            ]
    return images, flags
