# SPDX-License-Identifier: Apache-2.0
"""Implements a detector for Bluesky: an ophyd-async `StandardDetector` that counts frames when they are decided, whether a kernel vetoes them or not."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rashpa.beamline.images import Images, images_of
from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.model import Plan
from rashpa.control.run.run_session import RunSession, SessionError, plan_with
from rashpa.control.runfile.token import token_of_environment
from rashpa.data.base.extras import missing
from rashpa.data.making.frames_file import COLUMN_CHUNK, COLUMNS, IMAGES, frames_path, write_frames_file
from rashpa.data.parts.run_parts import StoredRunError

try:
    from ophyd_async.core import (
        DetectorAcquireLogic,
        DetectorDataLogic,
        DetectorTriggerLogic,
        Device,
        PathProvider,
        SignalR,
        StandardDetector,
        StreamResourceDataProvider,
        StreamResourceInfo,
        StrictEnum,
        WatcherUpdate,
        soft_command,
        soft_signal_r_and_setter,
        soft_signal_rw,
    )
except ImportError as error:
    raise missing("bluesky", error) from error

_LOOK_S = 0.05


class DetectorStatus(StrictEnum):
    """Names the detector's states, as JUNGFRAU's driver does."""

    IDLE = "Idle"
    WAITING = "Waiting"
    RUNNING = "Running"
    ERROR = "Error"


class TriggerMode(StrictEnum):
    """Names the only trigger mode of this detector."""

    INTERNAL = "Internal"


class RashpaDriver(Device):
    """Shows a run as the signals of a JUNGFRAU driver, as far as a run has them. Writing to them does not change a run that goes on."""

    def __init__(self, start: Any, stop: Any) -> None:
        self.exposure_time = soft_signal_rw(float, 0.0, units="s")
        self.period_between_frames = soft_signal_rw(float, 0.0, units="s")
        self.frames_per_acq = soft_signal_rw(int, 1)
        self.trigger_mode, _ = soft_signal_r_and_setter(TriggerMode, TriggerMode.INTERNAL)
        self.detector_status, self.set_status = soft_signal_r_and_setter(DetectorStatus, DetectorStatus.IDLE)
        self.acquisition_start = soft_command(start)
        self.acquisition_stop = soft_command(stop)
        super().__init__()


class RashpaWriter(Device):
    """Shows the progress of the files. `frames_written`: the number of decided frames, of which the accepted ones are stored."""

    def __init__(self) -> None:
        self.writing, self.set_writing = soft_signal_r_and_setter(bool, False)
        self.frames_written, self.set_frames_written = soft_signal_r_and_setter(int, 0)
        self.accepted, self.set_accepted = soft_signal_r_and_setter(int, 0)
        self.vetoed, self.set_vetoed = soft_signal_r_and_setter(int, 0)
        self.errored, self.set_errored = soft_signal_r_and_setter(int, 0)
        self.missing, self.set_missing = soft_signal_r_and_setter(int, 0)
        self.file_path, self.set_file_path = soft_signal_r_and_setter(str, "")
        super().__init__()


class _Acquisition:
    """Owns the run of a detector from `prepare` to `unstage`."""

    def __init__(
        self,
        config: Path | str | Mapping[str, Any],
        buffer: str,
        token: str,
        driver: RashpaDriver,
        writer: RashpaWriter,
        replace: bool,
    ) -> None:
        self.config, self.token, self.driver, self.writer = config, token, driver, writer
        self._existing = "replace" if replace else "refuse"
        self.plan = plan_with(config, {})
        self.images: Images = images_of(self.plan, buffer)
        self.session: RunSession | None = None
        self._watching: asyncio.Task[None] | None = None
        self._timing = (0.0, 0.0)

    async def timing(self, livetime: float, deadtime: float) -> None:
        """Set exposure and dead time, in s; 0 means the value of the run file. Raise ValueError when a run goes on with other values."""
        detector = self.plan.file.detector
        exposure = livetime or detector.count_time_s
        period = exposure + deadtime if deadtime else max(exposure, 1.0 / detector.rate_hz if detector.rate_hz else 0.0)
        if self.session is not None and (exposure, period) != self._timing:
            raise ValueError(
                f"a run goes on with an exposure of {self._timing[0]:g} s every {self._timing[1]:g} s, and {exposure:g} s every {period:g} s "
                "is asked for; unstage the detector first"
            )
        self._timing = exposure, period
        await asyncio.gather(self.driver.exposure_time.set(exposure), self.driver.period_between_frames.set(period))

    async def open(self, folder: Path, name: str) -> Path:
        """Begin a run whose frames wait for triggers, and return the path of its master. Raise RunFileError, JournalError or SessionError."""
        await self.close()
        exposure, period = self._timing
        rate_hz = 1.0 / period if period else 0.0
        changes: dict[str, dict[str, object]] = {
            "run": {"name": name, "output": str(folder), "frames": "until stopped", "existing": self._existing},
            "detector": {"trigger": "software", "count_time_s": exposure, "rate_hz": rate_hz},
        }
        self.plan = await asyncio.to_thread(plan_with, self.config, changes)
        self._count(RunSession(self.plan, self.token))
        session = self._session
        try:
            await asyncio.wrap_future(session.start())
        except BaseException:
            self.session = None
            self.driver.set_status(DetectorStatus.ERROR)
            session.abort()
            raise
        self.writer.set_writing(True)
        self.driver.set_status(DetectorStatus.WAITING)
        self._watching = asyncio.create_task(self._watch(session))
        master = folder / f"{name}_{self.images.buffer}_master.h5"
        self.writer.set_file_path(str(master))
        return master

    async def take(self, frames: int) -> None:
        """Release `frames` frames. Raise SessionError when the run refuses."""
        await asyncio.wrap_future(self._session.trigger(frames))
        self.driver.set_status(DetectorStatus.RUNNING)

    async def close(self) -> None:
        """End the run in order, and complete its files. Raise SessionError unless every image is stored or explained."""
        session, self.session = self.session, None
        if session is None:
            return
        outcome: Outcome = await asyncio.wrap_future(session.stop())
        if self._watching is not None:
            self._watching.cancel()
        self._tell(session)
        self.writer.set_writing(False)
        self.driver.set_status(DetectorStatus.IDLE if outcome.good else DetectorStatus.ERROR)
        problems = [] if outcome.good else [outcome.problem or "the run was interrupted", *outcome.reasons]
        for known in outcome.buffers:
            if known.name == self.images.buffer and known.file:
                try:
                    await asyncio.to_thread(write_frames_file, Path(known.file))
                except StoredRunError as error:
                    problems.append(str(error))
        if problems:
            raise SessionError("\n".join(problems))

    def failure(self) -> SessionError | None:
        """Return the error of a run that ended without a request, None while it goes on, or when a user ended it."""
        session = self.session
        if session is None or not session.ended.done():
            return None
        if (error := session.ended.exception()) is not None:
            return SessionError(str(error))
        return SessionError(session.ended.result().problem or "the run was ended by somebody else")

    @property
    def _session(self) -> RunSession:
        if self.session is None:
            raise SessionError("no run goes on; `prepare` the detector first")
        return self.session

    def _count(self, session: RunSession) -> None:
        """Count the frames of `session` from 0, before clients learn that frames are written."""
        self.session = session
        self._tell(session)

    def _tell(self, session: RunSession) -> None:
        counts, writer = session.counts(self.images.buffer), self.writer
        writer.set_accepted(counts.accepted)
        writer.set_vetoed(counts.vetoed)
        writer.set_errored(counts.errored)
        writer.set_missing(counts.missing)
        writer.set_frames_written(counts.decided)

    async def _watch(self, session: RunSession) -> None:
        while session.going:
            with contextlib.suppress(SessionError):  # why the run is over is said where it is waited for
                await asyncio.wrap_future(session.look())
            self._tell(session)
            await asyncio.sleep(_LOOK_S)


class _TriggerLogic(DetectorTriggerLogic):
    """Sets the number of frames, their exposure and their rate."""

    def __init__(self, acquisition: _Acquisition) -> None:
        self._acquisition = acquisition

    def config_sigs(self) -> set[SignalR[Any]]:
        driver = self._acquisition.driver
        return {driver.exposure_time, driver.period_between_frames, driver.trigger_mode}

    async def prepare_internal(self, num: int, livetime: float, deadtime: float) -> None:
        await self._acquisition.timing(livetime, deadtime)
        await self._acquisition.driver.frames_per_acq.set(num)


class _AcquireLogic(DetectorAcquireLogic):
    """Releases the frames of each `trigger` or `kickoff`; the run continues after them."""

    def __init__(self, acquisition: _Acquisition, detector: "RashpaDetector") -> None:
        self._acquisition, self._detector = acquisition, detector

    async def start_acquiring(self) -> None:
        await self._acquisition.take(await self._detector.frames_wanted())

    async def wait_for_idle(self) -> None:
        self._acquisition.driver.set_status(DetectorStatus.WAITING)

    async def ensure_stopped(self) -> None:
        """Do nothing: `_DataLogic.stop` ends the run and completes its files."""


class _DataLogic(DetectorDataLogic):
    """Makes a run for each staging, with the files that the path provider names."""

    def __init__(self, acquisition: _Acquisition, path_provider: PathProvider) -> None:
        self._acquisition, self._path_provider = acquisition, path_provider

    async def prepare_unbounded(self, datakey_name: str) -> StreamResourceDataProvider:
        where = self._path_provider(datakey_name)
        master = await self._acquisition.open(Path(where.directory_path), where.filename)
        images = self._acquisition.images
        shape = images.height, images.width
        resources = [
            StreamResourceInfo(
                data_key=datakey_name,
                shape=shape,
                chunk_shape=(1, *shape),
                dtype_numpy=np.dtype(images.pixel).str,
                parameters={"dataset": IMAGES},
            ),
            *(
                StreamResourceInfo(
                    data_key=f"{datakey_name}-{column}",
                    shape=(),
                    chunk_shape=(COLUMN_CHUNK,),
                    dtype_numpy=kind,
                    parameters={"dataset": f"/entry/data/{column}"},
                )
                for column, kind in COLUMNS.items()
            ),
        ]
        return StreamResourceDataProvider(
            uri=f"{where.directory_uri}{frames_path(master).name}",
            resources=resources,
            mimetype="application/x-hdf5",
            collections_written_signal=self._acquisition.writer.frames_written,
        )

    async def stop(self) -> None:
        await self._acquisition.close()

    def get_hinted_fields(self, datakey_name: str) -> Sequence[str]:
        return [datakey_name]


class RashpaDetector(StandardDetector):
    """Takes frames of a buffer of a run file, by default of the first buffer.

    A run lasts from `prepare`, or the first `trigger`, to `unstage`; its emulators take frames when they are triggered. The detector replaces these
    keys of the run file: `run.name`, `run.output`, `run.frames`, `run.existing` and `detector.trigger`. A plan of Bluesky can also replace exposure
    and rate. Index i of every data key is frame i of the run, whether the frame is stored or not.

    Raise RunFileError when the run file is wrong, or when a run of that name exists and `replace` is not set. `token`: for nodes that are already
    running, by default RASHPA_TOKEN.
    """

    def __init__(
        self,
        config: Path | str | Mapping[str, Any],
        path_provider: PathProvider,
        buffer: str = "",
        name: str = "",
        token: str | None = None,
        *,
        replace: bool = False,
    ) -> None:
        self.driver = RashpaDriver(self._start, self._stop)
        self.writer = RashpaWriter()
        self._acquisition = _Acquisition(
            config, buffer, token_of_environment() if token is None else token, self.driver, self.writer, replace
        )
        self.add_detector_logics(
            _TriggerLogic(self._acquisition),
            _AcquireLogic(self._acquisition, self),
            _DataLogic(self._acquisition, path_provider),
        )
        super().__init__(name=name)

    @property
    def plan(self) -> Plan:
        """Return the plan of the present run, or of the next one."""
        return self._acquisition.plan

    async def frames_wanted(self) -> int:
        """Return the number of frames of the next trigger or kickoff."""
        events = await self.events_to_kickoff.get_value()
        per_event = self._prepare_ctx.trigger_info.collections_per_event if self._prepare_ctx else 1
        return int(events * per_event)

    async def _wait_for_index(self, *args: Any, **kwargs: Any) -> AsyncIterator[WatcherUpdate[int]]:
        """Yield the updates of the base class. When the run has failed, raise its own error in place of a time-out."""
        try:
            async for update in super()._wait_for_index(*args, **kwargs):
                yield update
        except TimeoutError:
            if (failure := self._acquisition.failure()) is not None:
                raise failure from None
            raise

    async def _start(self) -> None:
        await self._acquisition.take(await self.driver.frames_per_acq.get_value())

    async def _stop(self) -> None:
        await self._acquisition.close()
