# SPDX-License-Identifier: Apache-2.0
"""Implements a Tango device that carries out runs, with the names of LimaCCDs."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from rashpa.beamline.images import Images, images_of
from rashpa.control.handover.journal import JournalError
from rashpa.control.handover.steering import SteerError, stacks_end_every
from rashpa.control.plan.model import Plan
from rashpa.control.run.run_session import Counts, RunSession, SessionError, plan_with
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.runfile.token import TokenError, token_of_environment
from rashpa.data.base.extras import missing

try:
    from tango import AttrWriteType, DevState, Except, GreenMode
    from tango.server import Device, attribute, command, device_property, run
except ImportError as error:
    raise missing("tango", error) from error

READY, CONFIGURATION, RUNNING, FAULT = "Ready", "Configuration", "Running", "Fault"
INTERNAL, MULTI = "INTERNAL_TRIGGER", "INTERNAL_TRIGGER_MULTI"
_FORMAT, _SUFFIX = "HDF5BS", "_master.h5"
_POLICIES = {"ABORT": "refuse", "OVERWRITE": "replace"}
_BPP = {
    "uint8": "Bpp8",
    "uint16": "Bpp16",
    "uint32": "Bpp32",
    "int16": "Bpp16S",
    "int32": "Bpp32S",
    "float32": "Bpp32F",
}
_ENDLESS = 2**31
_REFUSED = "RASHPA_Refused"
_LOOK_S = 0.1
_ASCII = str.maketrans({"…": "...", "–": "-", "−": "-", "×": "x", "→": "->", "µ": "u", "≥": ">=", "≤": "<="})
_T = TypeVar("_T")


def _plain(text: str) -> str:
    """Return `text` in ASCII, because Tango sends strings as Latin-1, and some clients decode them differently."""
    return text.translate(_ASCII).encode("ascii", "replace").decode()


def _in_words(method: Callable[..., Awaitable[_T]]) -> Callable[..., Awaitable[_T]]:
    """Wrap a command so that a client gets the text of a refusal without a traceback."""

    @functools.wraps(method)
    async def said(self: Any, *args: Any) -> _T:
        try:
            return await method(self, *args)
        except (ValueError, SessionError, JournalError, TokenError, OSError) as error:
            Except.throw_exception(_REFUSED, _plain(str(error)), f"{type(self).__name__}.{method.__name__}")
            raise

    return said


def _absolute(path: str) -> Path:
    return Path(path).absolute()


class Rashpa(Device):
    """Carries out the runs of a run file, one after the other. Counters count frames, including vetoed ones."""

    green_mode = GreenMode.Asyncio
    standalone_file: ClassVar[str] = ""
    """Run file of a device that has no database."""

    run_file = device_property(dtype=str, default_value="", doc="Run file (TOML) on the machine of the device server")
    buffer = device_property(
        dtype=str, default_value="", doc="Name of the buffer whose images count; the first one when not given"
    )

    async def init_device(self) -> None:
        await super().init_device()
        self._session: RunSession | None = None
        self._fault = ""
        self._looking: asyncio.Task[None] | None = None
        try:
            file = self.run_file or self.standalone_file
            if not file:
                raise ValueError("no run file; set the device's property run_file")
            self._file = _absolute(file)
            self._plan = await asyncio.to_thread(plan_with, self._file, {})
            self._images: Images = images_of(self._plan, self.buffer)
            self._token = token_of_environment()
        except (ValueError, OSError) as error:
            self.set_state(DevState.FAULT)
            self.set_status(_plain(str(error)))
            raise
        of_run, detector = self._plan.file.run, self._plan.file.detector
        self._frames = 0 if isinstance(of_run.frames, str) else of_run.frames
        self._expo_time = detector.count_time_s
        period = 1.0 / detector.rate_hz if detector.rate_hz else 0.0
        self._latency_time = max(0.0, period - detector.count_time_s)
        self._trigger_mode = INTERNAL
        self._directory = str(_absolute(str(of_run.folder)))
        self._prefix, self._number = f"{of_run.name}_", 0
        self._policy = next(policy for policy, existing in _POLICIES.items() if existing == of_run.existing)
        self._roi: tuple[int, int, int, int] | None = None
        self._show()

    async def delete_device(self) -> None:
        """End the present run."""
        session, self._session = self._session, None
        if session is not None and session.going:
            await asyncio.wrap_future(session.abort())

    # ---- commands -----------------------------------------------------------------------------------------------------------------

    @command
    @_in_words
    async def prepareAcq(self) -> None:  # noqa: N802  (LimaCCDs' name)
        """Begin a run whose emulators wait: start nodes, make datasets and memory. This may take longer than Tango's usual time-out of 3 s."""
        self._refuse_while_running("prepareAcq")
        plan = await asyncio.to_thread(self._planned)
        self._check_whole_stacks(plan)
        session = RunSession(plan, self._token)
        self._session, self._plan, self._images, self._fault = session, plan, images_of(plan, self.buffer), ""
        self._started = 0
        self._number += 1
        self._looking = asyncio.create_task(self._look(session))
        self._show()
        try:
            await asyncio.wrap_future(session.start())
        except SessionError:
            await asyncio.wrap_future(session.ended)
            raise
        finally:
            self._show()

    @command
    @_in_words
    async def startAcq(self) -> None:  # noqa: N802
        """Release frames: all of them, or with INTERNAL_TRIGGER_MULTI the next one."""
        session = self._session
        if session is None or not session.going:
            raise SessionError("nothing is prepared; call prepareAcq first")
        if self._trigger_mode == INTERNAL and self._started:
            raise SessionError("the frames of this acquisition are being taken already; wait for its end, or stopAcq")
        every = stacks_end_every(session.plan)
        frames = 1 if self._trigger_mode == MULTI else self._frames or _ENDLESS // every * every
        await asyncio.wrap_future(session.trigger(frames))
        self._started += frames
        self._show()

    @command
    @_in_words
    async def stopAcq(self) -> None:  # noqa: N802
        """End the run in order at the next frame; return when its files are complete."""
        if (session := self._session) is not None and session.going:
            await asyncio.wrap_future(session.stop())
        self._show()

    @command
    @_in_words
    async def abortAcq(self) -> None:  # noqa: N802
        """End the run at once; its files are completed."""
        if (session := self._session) is not None and session.going:
            await asyncio.wrap_future(session.abort())
        self._show()

    @command
    @_in_words
    async def pauseAcq(self) -> None:  # noqa: N802
        """Stop all emulators before the same frame."""
        await self._steer("pause")

    @command
    @_in_words
    async def resumeAcq(self) -> None:  # noqa: N802
        """Resume paused emulators."""
        await self._steer("resume")

    # ---- the acquisition ------------------------------------------------------------------------------------------------------------

    @attribute(dtype=str, doc="Ready, Configuration, Running or Fault")
    async def acq_status(self) -> str:
        return self._acq_status()

    @attribute(dtype=str, doc="Why the acquisition has failed")
    async def acq_status_fault_error(self) -> str:
        self._show()
        return _plain(self._fault)

    @attribute(dtype=int, access=AttrWriteType.READ_WRITE, doc="Frames of an acquisition; 0: until stopAcq")
    async def acq_nb_frames(self) -> int:
        return self._frames

    @acq_nb_frames.write
    @_in_words
    async def set_acq_nb_frames(self, value: int) -> None:
        self._set("acq_nb_frames", 0 <= value <= 2**40, "0 … 1099511627776", value)
        self._frames = value

    @attribute(dtype=float, unit="s", access=AttrWriteType.READ_WRITE, doc="Exposure of a frame")
    async def acq_expo_time(self) -> float:
        return self._expo_time

    @acq_expo_time.write
    @_in_words
    async def set_acq_expo_time(self, value: float) -> None:
        self._set("acq_expo_time", 0.0 <= value <= 1e6, "seconds, 0 … 1000000", value)
        self._expo_time = value

    @attribute(
        dtype=float, unit="s", access=AttrWriteType.READ_WRITE, doc="Time from the end of an exposure to the next"
    )
    async def latency_time(self) -> float:
        return self._latency_time

    @latency_time.write
    @_in_words
    async def set_latency_time(self, value: float) -> None:
        self._set("latency_time", 0.0 <= value <= 1e6, "seconds, 0 … 1000000", value)
        self._latency_time = value

    @attribute(
        dtype=str,
        access=AttrWriteType.READ_WRITE,
        doc="INTERNAL_TRIGGER, or INTERNAL_TRIGGER_MULTI: a frame for each startAcq",
    )
    async def acq_trigger_mode(self) -> str:
        return self._trigger_mode

    @acq_trigger_mode.write
    @_in_words
    async def set_acq_trigger_mode(self, value: str) -> None:
        self._set("acq_trigger_mode", value in (INTERNAL, MULTI), f"{INTERNAL} or {MULTI}", value)
        self._trigger_mode = value

    @attribute(dtype=int, doc="Number of the last frame of which it is decided what becomes of it; -1: none yet")
    async def last_image_ready(self) -> int:
        counts = self._counts
        return counts.accepted + counts.vetoed + counts.errored + counts.missing - 1

    @attribute(dtype=int, doc="Number of the last image up to which all accepted ones are in the file")
    async def last_image_saved(self) -> int:
        return self._counts.decided - 1

    @attribute(dtype=bool, doc="Whether startAcq would take the next frame now")
    async def ready_for_next_image(self) -> bool:
        session = self._session
        going = session is not None and session.going and session.started.done()
        return going and (self._trigger_mode == MULTI or not self._started) and self._counts.decided >= self._started

    @attribute(dtype=bool, doc="Whether prepareAcq would begin another acquisition now")
    async def ready_for_next_acq(self) -> bool:
        return self._session is None or not self._session.going

    @attribute(dtype=int, doc="Images that are kept")
    async def images_accepted(self) -> int:
        return self._counts.accepted

    @attribute(dtype=int, doc="Images that a kernel has refused")
    async def images_vetoed(self) -> int:
        return self._counts.vetoed

    @attribute(dtype=int, doc="Images that came and could not be kept")
    async def images_errored(self) -> int:
        return self._counts.errored

    @attribute(dtype=int, doc="Images of which nothing came")
    async def images_missing(self) -> int:
        return self._counts.missing

    @attribute(dtype=int, doc="Images in the file")
    async def images_written(self) -> int:
        return self._counts.written

    # ---- the images, and their file -------------------------------------------------------------------------------------------------

    @attribute(dtype=str)
    async def camera_type(self) -> str:
        return self._plan.file.detector.name

    @attribute(dtype=int)
    async def image_width(self) -> int:
        return self._images.width

    @attribute(dtype=int)
    async def image_height(self) -> int:
        return self._images.height

    @attribute(dtype=str, doc="Type of the pixels as the pipeline leaves them")
    async def image_type(self) -> str:
        return _BPP[self._images.pixel]

    @attribute(
        dtype=(int,),
        max_dim_x=4,
        access=AttrWriteType.READ_WRITE,
        doc="x, y, width, height of the assembled image; all 0: the run file's",
    )
    async def image_roi(self) -> list[int]:
        return list(self._roi or (0, 0, self._images.width, self._images.height))

    @image_roi.write
    @_in_words
    async def set_image_roi(self, value: Any) -> None:
        values = [int(number) for number in value]
        self._set("image_roi", len(values) == 4 and min(values) >= 0, "x, y, width, height, none negative", values)
        before, self._roi = self._roi, tuple(values) if any(values) else None  # type: ignore[assignment]
        try:
            self._images = images_of(await asyncio.to_thread(self._planned), self.buffer)
        except RunFileError:
            self._roi = before
            raise

    @attribute(dtype=str, access=AttrWriteType.READ_WRITE, doc="Folder on the receiver's machine")
    async def saving_directory(self) -> str:
        return self._directory

    @saving_directory.write
    @_in_words
    async def set_saving_directory(self, value: str) -> None:
        self._set("saving_directory", Path(value).is_absolute(), "an absolute path", value)
        self._directory = value

    @attribute(dtype=str, access=AttrWriteType.READ_WRITE, doc="Files are PREFIX NUMBER _BUFFER_master.h5, and so on")
    async def saving_prefix(self) -> str:
        return self._prefix

    @saving_prefix.write
    @_in_words
    async def set_saving_prefix(self, value: str) -> None:
        self._refuse_while_running("saving_prefix")
        before, self._prefix = self._prefix, value
        try:
            await asyncio.to_thread(self._planned)
        except RunFileError:
            self._prefix = before
            raise

    @attribute(dtype=int, access=AttrWriteType.READ_WRITE, doc="Number of the next acquisition")
    async def saving_next_number(self) -> int:
        return self._number

    @saving_next_number.write
    @_in_words
    async def set_saving_next_number(self, value: int) -> None:
        self._set("saving_next_number", 0 <= value < 10**9, "0 … 999999999", value)
        self._number = value

    @attribute(dtype=str, doc="Behind prefix and number")
    async def saving_suffix(self) -> str:
        return f"_{self._images.buffer}{_SUFFIX}"

    @attribute(dtype=str, doc="HDF5 with bitshuffle and LZ4")
    async def saving_format(self) -> str:
        return _FORMAT

    @attribute(
        dtype=str,
        access=AttrWriteType.READ_WRITE,
        doc="ABORT: files of the name are an error; OVERWRITE: they are replaced",
    )
    async def saving_overwrite_policy(self) -> str:
        return self._policy

    @saving_overwrite_policy.write
    @_in_words
    async def set_saving_overwrite_policy(self, value: str) -> None:
        self._set("saving_overwrite_policy", value in _POLICIES, " or ".join(_POLICIES), value)
        self._policy = value

    # ---- inside -----------------------------------------------------------------------------------------------------------------------

    @property
    def _counts(self) -> Counts:
        return self._session.counts(self._images.buffer) if self._session is not None else Counts()

    def _planned(self) -> Plan:
        """Return the plan of the next run. Raise RunFileError when its run file is wrong."""
        period = self._expo_time + self._latency_time
        run = {
            "name": f"{self._prefix}{self._number:04d}",
            "output": self._directory,
            "frames": self._frames or "until stopped",
            "existing": _POLICIES[self._policy],
        }
        detector = {
            "trigger": "software",
            "count_time_s": self._expo_time,
            "rate_hz": 1.0 / period if period > 0 else 0.0,
        }
        roi = {self._images.buffer: {"region": list(self._roi)}} if self._roi else {}
        return plan_with(self._file, {"run": run, "detector": detector}, roi)

    def _check_whole_stacks(self, plan: Plan) -> None:
        every = stacks_end_every(plan)
        if self._trigger_mode == MULTI and every != 1:
            raise ValueError(
                f"{MULTI} takes one frame at a time, and stacks end every {every}; set stack = 1 in the run file's buffers"
            )

    async def _steer(self, way: Any) -> None:
        if (session := self._session) is None or not session.going:
            raise SessionError(f"no acquisition goes on; there is nothing to {way}")
        try:
            await asyncio.wrap_future(session.steer(way))
        except SteerError as error:
            raise SessionError(str(error)) from None

    async def _look(self, session: RunSession) -> None:
        """Keep the state of the device equal to the state of the run, until the run ends."""
        while session.going:
            self._show()
            await asyncio.sleep(_LOOK_S)
        self._show()

    def _acq_status(self) -> str:
        self._show()
        session = self._session
        if session is not None and session.going:
            return RUNNING if session.started.done() and session.started.exception() is None else CONFIGURATION
        return FAULT if self._fault else READY

    def _show(self) -> None:
        session = self._session
        if session is not None and session.ended.done() and not self._fault:
            if (error := session.ended.exception()) is not None:
                self._fault = str(error)
            elif not (outcome := session.ended.result()).good and not outcome.interrupted:
                self._fault = "\n".join((outcome.problem, *outcome.reasons)).strip()
        going = session is not None and session.going
        self.set_state(DevState.RUNNING if going else DevState.FAULT if self._fault else DevState.ON)
        self.set_status(
            _plain(self._fault)
            or (f"run {session.plan.file.run.name}: {session.progress.phase}" if session else "ready")
        )

    def _refuse_while_running(self, what: str) -> None:
        if self._session is not None and self._session.going:
            raise ValueError(f"{what}: an acquisition goes on; wait for its end, or stopAcq")

    def _set(self, what: str, good: bool, allowed: str, value: object) -> None:
        self._refuse_while_running(what)
        if not good:
            raise ValueError(f"{what} = {value!r}: {allowed}")


def serve_alone(file: Path, device: str, host: str, port: int, ready: Callable[[], None]) -> None:
    """Serve a device of that name without a database, until a signal ends it. `ready`: called when clients can reach the device."""
    Rashpa.standalone_file = str(file)
    words = ["Rashpa", "alone", "-nodb", "-dlist", device, "-ORBendPoint", f"giop:tcp:{host}:{port}"]
    run((Rashpa,), args=words, raises=True, post_init_callback=ready)


def serve_instance(instance: str) -> None:
    """Serve the devices that the Tango database lists for the instance."""
    run((Rashpa,), args=["Rashpa", instance], raises=True)
