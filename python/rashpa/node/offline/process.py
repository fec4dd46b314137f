# SPDX-License-Identifier: Apache-2.0
"""Processes stored images with a buffer of a run file, without link and nodes: the same pipeline, sinks, files and books as in a run."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.control.orders.plan_telegrams import destination_telegram
from rashpa.control.plan.model import Plan
from rashpa.control.plan.pixel_words import arriving_units, words_problems
from rashpa.control.plan.run_plan import plan_run
from rashpa.control.plan.source_plan import ordered, with_facts
from rashpa.control.runfile.kernels import declaration_of
from rashpa.control.runfile.run_file import Buffer, RunFile
from rashpa.control.runfile.run_file_reader import RunFileError, RunFileSource, read_run_file
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.part_orders import Hdf5Order
from rashpa.data.base.books import DataBooks
from rashpa.data.base.rashpa_error import RashpaError
from rashpa.data.files.file_names import NumberingError, encoding_trouble, in_order, without_packing
from rashpa.data.files.images import is_image
from rashpa.data.files.new_folders import remove_empty
from rashpa.data.stored.masked_stored import MaskedStored
from rashpa.data.stored.run_facts import COMPLETENESS
from rashpa.data.stored.source_facts import read_source_facts
from rashpa.data.stored.stored_images import Description, RawShape, describe, open_stored
from rashpa.data.stored.stored_piece import Piece, Reading, Stated, Stored, StoredError
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.folders import Folders
from rashpa.node.engine.native_errors import native_errors
from rashpa.node.engine.native_receiver import buffer_configs, missing_folders_of, prefixes_of
from rashpa.node.engine.native_status import buffer_status
from rashpa.node.engine.output_files import OlderFiles, release_output
from rashpa.node.host.here import rooted, staying_here
from rashpa.node.offline.process_facts import write_origins

PROOF = "read from stored files"
_MOST_BYTES = 256 << 20
"""The most bytes of images that are read at a time."""


class ProcessError(RashpaError, ValueError):
    """Refuses an impossible request; the text names file and key, and says what to try."""


class NotBegunError(ProcessError):
    """Refuses a recording like ProcessError, before anything of it was written."""


@dataclass(frozen=True)
class Recording:
    """Names the files that belong to one run, and its output."""

    name: str
    files: tuple[Path, ...]


@dataclass(frozen=True)
class Job:
    """Describes the processing of one recording. It can be sent to another process."""

    pipeline: Path  # run file
    buffer: str
    output: Path
    recording: Recording
    replace: bool = False
    header_bytes: int = 0
    threads: int = 0  # of unit cpu; 0: as the run file says
    unit: str = ""  # empty: as the run file says
    follow: tuple[Path, ...] = ()  # folders to which files of HDF5 may lead, besides their own
    allow_missing: bool = False

    @property
    def reading(self) -> Reading:
        """Return how the job's files are to be read."""
        return Reading(follow=self.follow, allow_missing=self.allow_missing)


@dataclass(frozen=True)
class Processed:
    """Holds the result of a recording. `prefix`: the prefix of its output files."""

    recording: str
    prefix: str
    status: telegram.BufferStatus
    seconds: float
    cautions: tuple[str, ...] = ()

    @property
    def books(self) -> DataBooks:
        """Return the books of all images of the recording: an image that should have been stored and was not is errored; an image that never came is
        missing."""
        books, first = self.status.books, self.status.first_errored
        troubles = [f"{self.recording}: {self.status.sink_error}"] if self.status.sink_error else []
        if first:
            troubles.insert(0, f"{self.recording}: image {first.index} is errored ({first.reason}): {first.text}")
        return DataBooks(
            books.expected,
            books.written + books.vetoed,
            books.expected - books.arrived,
            books.errored + books.accepted - books.written,
            tuple(troubles),
        )

    @property
    def good(self) -> bool:
        return self.books.whole and not self.status.sink_error


def recordings_of(files: Sequence[Path], *, join: bool = False) -> list[Recording]:
    """Group files into recordings. Image files of one frame each form one recording, in the order of their numbers; every other file is a recording.
    With `join`, all files form one recording in the given order. Each recording has a unique name. Raise ProcessError when a number is missing."""
    if join:
        return [Recording(_name_of(files[0]), tuple(files))]
    try:
        images = tuple(map(Path, in_order(str(file) for file in files if is_image(file))))
    except NumberingError as error:
        raise ProcessError(f"{error}; put it there, or give --join for just these files, in the order given") from None
    groups = [(file,) for file in files if not is_image(file)] + ([images] if images else [])
    names: dict[str, int] = {}
    recordings = []
    for group in groups:
        name = _name_of(group[0])
        names[name] = names.get(name, 0) + 1
        recordings.append(Recording(name if names[name] == 1 else f"{name}_{names[name]}", group))
    return recordings


def _name_of(file: Path) -> str:
    """Return the name of the first file, reduced to the characters that names of runs may have."""
    name = file.name[: len(without_packing(file.name))]
    name = Path(name).stem.removesuffix("_master")
    return "".join(one if one.isascii() and (one.isalnum() or one in "_.-") else "_" for one in name)[:48] or "images"


def load_pipeline(path: Path, buffer: str) -> tuple[RunFile, RunFileSource]:
    """Return a run file with only the buffer to process, and its source. Raise ProcessError that names the fault."""
    try:
        file, source = read_run_file(path, _of_stored_images)
    except RunFileError as error:
        raise ProcessError(str(error)) from None
    names = [section.name for section in file.buffer]
    if not buffer and len(names) > 1:
        raise ProcessError(f"{path}: it has the buffers {', '.join(names)}; choose one with --buffer")
    if buffer and buffer not in names:
        raise ProcessError(f"{path}: there is no buffer {buffer}; it has {', '.join(names)}")
    chosen = next(section for section in file.buffer if section.name == buffer or not buffer)
    return file.model_copy(update={"buffer": [chosen.model_copy(update={"every": 1, "phase": 0})]}), source


def _of_stored_images(tables: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the keys of a run that stored images determine: the number of frames, and a source of frames that nothing plays."""
    detector = tables.get("detector")
    known = detector if isinstance(detector, dict) else {}
    modules = known.get("module", ())
    count = max(1, len(modules) if isinstance(modules, list) else 1)
    source = {"kind": "files", "files": [["stored images"]] * count}
    return {"run": {"frames": 1}} | ({} if "dataset" in tables else {"dataset": source})


def check(job: Job) -> Description:
    """Check a recording and return its description. Raise ProcessError when it does not fit the pipeline, or when the output cannot be written."""
    file, source = load_pipeline(job.pipeline, job.buffer)
    description = _describe(job, file, source)
    _order(_plan(job, file, source, description.frames))
    return description


def _describe(job: Job, file: RunFile, source: RunFileSource) -> Description:
    (planned,) = _plan(job, file, source, 1).buffers
    raw = RawShape(planned.height, planned.width, file.detector.pixel, job.header_bytes)
    names = job.recording.files
    try:
        found = describe(names, raw, job.reading)
    except (StoredError, MemoryError) as error:
        raise ProcessError(str(error)) from None
    if found.frames == len(found.absent.images):
        raise ProcessError(f"{names[0]}: it holds no image{f': {found.absent.said}' if found.absent.said else ''}")
    if found.shape != (planned.height, planned.width):
        raise ProcessError(
            f"{names[0]}: images of {found.shape[1]} × {found.shape[0]} pixels; buffer {planned.section.name} of {job.pipeline} is "
            f"{planned.width} × {planned.height}: change [detector], or choose another buffer"
        )
    if found.pixel != file.detector.pixel:
        raise ProcessError(
            f"{names[0]}: pixels of {found.pixel}; {source.where(('detector', 'pixel'))} says {file.detector.pixel}: change it there"
        )
    units = found.stated.run.units if found.stated.run else ""
    if problems := list(words_problems(file, source, arriving_units(file, units))):
        raise ProcessError(f"{names[0]}: {problems[0]}")
    return found


def _plan(job: Job, file: RunFile, source: RunFileSource, frames: int) -> Plan:
    if trouble := encoding_trouble(job.output):
        raise ProcessError(trouble)
    run = file.run.model_copy(
        update={
            "frames": frames,
            "name": job.recording.name,
            "output": str(job.output),
            "existing": "replace" if job.replace else "refuse",
        }
    )
    # stored images come into memory of the host
    receivers = [section.model_copy(update={"memory": "huge"}) for section in file.receivers]
    buffers = [_with_choices(job, section) for section in file.buffer]
    try:
        return plan_run(
            file.model_copy(update={"run": run, "receiver": receivers, "buffer": buffers}), source, plays=False
        )
    except RunFileError as error:
        raise ProcessError(str(error)) from None


def _with_choices(job: Job, section: Buffer) -> Buffer:
    chosen: dict[str, object] = {"threads": job.threads} if job.threads else {}
    chosen |= {"unit": job.unit, "trigger": "auto"} if job.unit else {}
    return section.model_copy(update=chosen)


def _order(plan: Plan, run_id: str = "") -> telegram.Destination:
    (planned,) = plan.buffers
    receiver = next(one for one in plan.receivers if one.name == planned.receiver)
    return cast("telegram.Destination", destination_telegram(plan, receiver, run_id).destination)


def _as_stated(order: telegram.Destination, stated: Stated) -> telegram.Destination:
    """Return the order with the files' statement on pixels without a count, unless the run file makes one."""
    (buffer,) = order.buffers
    raw = bool(buffer.kernels) and declaration_of(buffer.kernels[0]).calibration
    if buffer.masked == "delivered" and not buffer.special and not raw:
        special = tuple(telegram.SpecialValue(value=value, meaning=meaning) for value, meaning in stated.special)
        buffer = replace(buffer, masked=stated.masked, special=special if stated.masked == "delivered" else ())
    return replace(order, buffers=(buffer,))


def process_recording(job: Job, progress: Callable[[int], None] | None = None) -> Processed:
    """Process one recording and complete its output. `progress` gets the number of finished images. Raise ProcessError, before anything is written,
    when the recording does not fit; the books count later failures."""
    with staying_here() as here:
        return _processed(job, here, progress)


def _processed(job: Job, here: Path, progress: Callable[[int], None] | None) -> Processed:
    began = time.monotonic()
    file, source = load_pipeline(job.pipeline, job.buffer)
    found = _describe(job, file, source)
    (first, *_) = job.recording.files
    facts = read_source_facts(first, found.shape, job.reading)
    merged = with_facts(_plan(job, file, source, found.frames), facts, first)
    order = _as_stated(ordered(_order(merged.plan, secrets.token_hex(16)), facts), found.stated)
    (buffer,) = order.buffers
    order = rooted(order, here)
    prefix = next((sink.prefix for sink in buffer.sinks if isinstance(sink, Hdf5Order)), "")
    folders = Folders((Path("/"),), (Path("/"),), job.pipeline.resolve().parent)
    begun = False
    made_folders = missing_folders_of(order)
    try:
        with native_errors(), contextlib.ExitStack() as at_end:
            raw = RawShape(buffer.height, buffer.width, buffer.pixel, job.header_bytes)
            stored: Stored = open_stored(job.recording.files, raw, job.reading)
            at_end.callback(stored.close)
            if buffer.kernels and facts.mask is not None:
                stored = MaskedStored(stored, facts.mask)
            for output in prefixes_of(order):
                at_end.callback(release_output, output)
            older = [OlderFiles(output) for output in prefixes_of(order) if output.parent.is_dir()]
            (config,) = buffer_configs(order, folders, PROOF, {} if facts.mask is None else {buffer.name: facts.mask})
            recorder = _native.Recorder(config, file.run.number)
            at_end.callback(recorder.finish)
            recorder.begin()
            begun = True
            for one in older:
                one.remove()
            _feed(recorder, stored, buffer.keys.stack, progress)
            recorder.finish()
            status = buffer_status(recorder.status())
            if prefix:
                write_origins(Path(f"{prefix}_master.h5"), facts, merged, first)
    except (EngineError, StoredError, MemoryError, OSError) as error:
        if begun:
            raise ProcessError(str(error)) from None
        remove_empty(made_folders)
        raise NotBegunError(str(error)) from None
    return Processed(job.recording.name, prefix, status, time.monotonic() - began, merged.cautions)


def _feed(recorder: _native.Recorder, stored: Stored, stack: int, progress: Callable[[int], None] | None) -> None:
    height, width = stored.shape
    image_bytes = height * width * 4
    at_once = max(1, _MOST_BYTES // (image_bytes * stack)) * stack
    for first in range(0, stored.frames, at_once):
        count = min(at_once, stored.frames - first)
        piece = stored.read(first, count)
        completeness = _with_absent(piece, stored.absent.images, first)
        recorder.process(piece.images, piece.frame_number, piece.timestamp_ns, piece.flags, completeness)
        if progress is not None:
            progress(count)


def _with_absent(piece: Piece, absent: NDArray[np.int64], first: int) -> NDArray[np.uint8] | None:
    """Return the completeness of images from `first` on, with absent images as missing; None when none is absent."""
    here = absent[(absent >= first) & (absent < first + len(piece.images))] - first
    if not here.size:
        return piece.completeness
    complete = np.full(len(piece.images), COMPLETENESS.index("complete"), np.uint8)
    found = complete if piece.completeness is None else piece.completeness.copy()
    found[here] = COMPLETENESS.index("missing")
    return found
