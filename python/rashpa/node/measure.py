# SPDX-License-Identifier: Apache-2.0
"""How fast this machine's units carry out the pipelines of a run file: with its dataset and calibration, without link and sinks."""

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.control import run_file as toml
from rashpa.control import telegram
from rashpa.control.dataset_check import resolved_dataset
from rashpa.control.pipeline import usable_units
from rashpa.control.plan_telegrams import destination_telegram
from rashpa.control.run_file_reader import RunFileError, read_run_file
from rashpa.control.run_plan import Plan, PlannedBuffer, plan_run
from rashpa.control.throughput import fingerprint_of, words_of
from rashpa.data.datasets import dataset_from_spec
from rashpa.node.engine import EngineError
from rashpa.node.folders import Folders
from rashpa.node.native_engine import native_errors
from rashpa.node.native_receiver import buffer_configs
from rashpa.node.native_status import buffer_status

_ROUNDS = 5  # the slowest counts
_MOST_BYTES = 256 << 20  # of images in memory; more than any cache, where there are enough of them
_MOST_STACKS = 8
_ANNOUNCED = 1 << 36  # images, more than there is time for


@dataclass(frozen=True)
class Measured:
    """What came of one pipeline on one unit; `trouble`: why there is no figure."""

    buffer: str
    what: str
    throughput: telegram.Throughput | None
    trouble: str = ""


def measure(path: Path, seconds: float, progress: Callable[[str], None] = lambda _: None) -> Iterator[Measured]:
    """Of each buffer of the run file that has kernels, on every unit of this machine that has versions of them; each takes `seconds`, and its start.
    RunFileError when the file cannot be run."""
    file, source = read_run_file(path)
    done: set[tuple[str, int, int]] = set()
    for section in file.buffer:
        usable = [name for name, works, _ in _native.available_units() if works]
        for unit in [name for name in usable_units(section.kernel) if name in usable] if section.kernel else ():
            chosen: dict[str, object] = {"sink": [toml.NullSink(kind="null")], "receiver": None}
            if unit != section.unit:
                chosen |= {"unit": unit, "trigger": "auto", "device": 0}
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


def _only(file: toml.RunFile, section: toml.Buffer) -> toml.RunFile:
    """The run file with one buffer, at a receiver of this machine."""
    run = file.run.model_copy(update={"frames": _ANNOUNCED})
    return file.model_copy(
        update={"run": run, "buffer": [section], "emulator": [], "receiver": [], "nodes": toml.Nodes()}
    )


def _measured(plan: Plan, buffer: PlannedBuffer, fingerprint: str, seconds: float) -> Measured:
    what = words_of(buffer.section)
    try:
        rate = _images_per_s(plan, buffer, seconds)
    except EngineError as error:
        return Measured(buffer.section.name, what, None, str(error))
    date = datetime.now(UTC).date().isoformat()
    found = telegram.Throughput(fingerprint, what, buffer.width, buffer.height, rate, date)
    return Measured(buffer.section.name, what, found)


def _images_per_s(plan: Plan, buffer: PlannedBuffer, seconds: float) -> float:
    """The slowest of several rounds, when everything has been done once."""
    receiver = next(one for one in plan.receivers if one.name == buffer.receiver)
    order = cast("telegram.Destination", destination_telegram(plan, receiver).destination)
    folder = plan.source.path.resolve().parent
    with native_errors():
        (config,) = buffer_configs(order, Folders((Path("/"),), (Path("/"),), folder), "measured")
        images, flags = _images(plan, buffer)
        recorder = _native.Recorder(config, plan.file.run.number)
        recorder.begin()
        try:
            recorder.process(images, flags=flags)
            rates = [_round(recorder, images, flags, seconds / _ROUNDS) for _ in range(_ROUNDS)]
        finally:
            recorder.finish()
    status = buffer_status(recorder.status())
    if status.unit_error or status.books.errored:
        raise EngineError("internal", status.unit_error or f"{status.books.errored} images errored")
    return min(rates)


def _round(recorder: _native.Recorder, images: NDArray[Any], flags: NDArray[np.uint32], seconds: float) -> float:
    began = time.perf_counter()
    for passes in itertools.count(1):
        recorder.process(images, flags=flags)
        elapsed = time.perf_counter() - began
        if elapsed >= seconds:
            return passes * len(images) / elapsed
    raise AssertionError("count() does not end")


def _images(plan: Plan, buffer: PlannedBuffer) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """The first images that the buffer would get, in whole stacks, and their flags."""
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
            images[index, at.y : at.bottom, at.x : at.right] = pixels[one.y : one.bottom, one.x : one.right]
    return images, flags
