# SPDX-License-Identifier: Apache-2.0
"""Serves runs of a run file as process variables of EPICS (PVAccess), with areaDetector's names: orders, counters, and previews as NTNDArray."""

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rashpa.beamline.images import images_of
from rashpa.control.handover.journal import JournalError
from rashpa.control.plan.model import Plan
from rashpa.control.run.run_session import Counts, RunSession, SessionError, plan_with
from rashpa.data.base.extras import missing
from rashpa.data.base.tai import utc_of_tai
from rashpa.data.figures.view_bytes import view_of_bytes

try:
    from p4p.nt import NTEnum, NTNDArray, NTScalar
    from p4p.server import Server, StaticProvider
    from p4p.server.asyncio import SharedPV
except ImportError as error:
    raise missing("epics", error) from error

CAMERA, FILES, ARRAYS = "cam1:", "HDF1:", "Pva1:"
ACQUIRE = ["Done", "Acquire"]
STATES = ["Idle", "Acquire", "Readout", "Error", "Initializing", "Aborted"]
IDLE, ACQUIRING, READOUT, ERROR, INITIALIZING, ABORTED = range(len(STATES))
_LOOK_S = 0.1
_NO_IMAGE_S = 0.2
_SETTINGS = ("AcquireTime", "AcquirePeriod", "NumImages", "FilePath", "FileName")


@dataclass(frozen=True)
class Previews:
    """Limits previews: at most `rate_hz` images a second, and one value (the largest) for each `step` × `step` pixels."""

    rate_hz: float = 10.0
    step: int = 1


class _Viewers:
    """Counts the clients that have the image's channel open. Without clients, nodes make no previews."""

    def __init__(self) -> None:
        self.some = asyncio.Event()

    def onFirstConnect(self, pv: Any) -> None:  # noqa: N802, ARG002  (p4p's name)
        self.some.set()

    def onLastDisconnect(self, pv: Any) -> None:  # noqa: N802, ARG002
        self.some.clear()


class _Order:
    """Handles writes to one variable. `obey` gets the value, and raises ValueError or SessionError to refuse it."""

    def __init__(self, obey: Callable[[Any], Awaitable[None]]) -> None:
        self._obey = obey

    async def put(self, pv: Any, op: Any) -> None:  # noqa: ARG002
        try:
            await self._obey(op.value())
        except (ValueError, SessionError, JournalError, OSError) as error:
            op.done(error=str(error))
        else:
            op.done()


class Variables:
    """Holds the variables of one detector and its runs, one after the other. Raise RunFileError when the run file is wrong."""

    def __init__(
        self,
        config: Path | str | Mapping[str, Any],
        prefix: str,
        buffer: str = "",
        previews: Previews | None = None,
        token: str = "",
    ) -> None:
        self._config, self._prefix, self._token = config, prefix, token
        self._previews = previews or Previews()
        self._plan = plan_with(config, {})
        self._images = images_of(self._plan, buffer)
        run, detector = self._plan.file.run, self._plan.file.detector
        self._settings: dict[str, Any] = {
            "AcquireTime": detector.count_time_s,
            "AcquirePeriod": 1.0 / detector.rate_hz if detector.rate_hz else detector.count_time_s,
            "NumImages": 0 if isinstance(run.frames, str) else run.frames,
            "FilePath": str(run.folder.absolute()),
            "FileName": run.name,
        }
        self._session: RunSession | None = None
        self._state, self._message = IDLE, ""
        self._viewers = _Viewers()
        self._shown = 0
        self._variables: dict[str, Any] = {}
        self._posted: dict[str, Any] = {}

    def provider(self) -> Any:
        """Return the provider of all variables, for a server on the running event loop."""
        made = StaticProvider("rashpa")
        self._add(f"{CAMERA}Acquire", NTEnum(), {"index": 0, "choices": ACQUIRE}, self._acquire)
        for name, value in self._settings.items():
            where = FILES if isinstance(value, str) else CAMERA
            kind = {str: "s", float: "d", int: "l"}[type(value)]
            self._add(f"{where}{name}", NTScalar(kind), value, self._setter(name))
            self._add(f"{where}{name}_RBV", NTScalar(kind), value)
        for name, value in self._readings().items():
            choices = {"Acquire_RBV": ACQUIRE, "DetectorState_RBV": STATES}.get(name.removeprefix(CAMERA))
            if choices:
                self._add(name, NTEnum(), {"index": value, "choices": choices})
            else:
                self._add(name, NTScalar("s" if isinstance(value, str) else "l"), value)
        # posted values are made whole here: p4p's own wrapping knows neither frame numbers nor binning
        nothing = NTNDArray().wrap(np.zeros((1, 1), self._images.pixel))
        self._variables[f"{ARRAYS}Image"] = SharedPV(handler=self._viewers, initial=nothing)
        for name, variable in self._variables.items():
            made.add(self._prefix + name, variable)
        return made

    async def follow(self) -> None:
        """Keep the variables equal to the state of the runs until cancelled; then end the present run."""
        showing = asyncio.create_task(self._show_images())
        try:
            while True:
                self._tell()
                await asyncio.sleep(_LOOK_S)
        finally:
            showing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await showing
            if self._session is not None and self._session.going:
                await asyncio.wrap_future(self._session.abort())

    # ---- orders -------------------------------------------------------------------------------------------------------------------

    async def _acquire(self, value: Any) -> None:
        """Begin a run for 1, and answer when its emulators play; end it in order for 0."""
        wanted = int(value)
        session = self._session
        going = session is not None and session.going
        if wanted == 0:
            if session is not None and going:
                await asyncio.wrap_future(session.stop())
            return
        if going:
            raise SessionError("an acquisition goes on; wait for its end, or write 0")
        plan = await asyncio.to_thread(self._planned, {})
        session = RunSession(plan, self._token)
        self._session, self._plan, self._state, self._message = session, plan, INITIALIZING, ""
        started = asyncio.wrap_future(session.start())
        self._tell()
        await started
        self._tell()

    def _setter(self, name: str) -> Callable[[Any], Awaitable[None]]:
        async def obey(value: Any) -> None:
            if self._session is not None and self._session.going:
                raise SessionError(f"{name}: an acquisition goes on; wait for its end, or write 0 to Acquire")
            wanted = type(self._settings[name])(value.raw.value)  # the value itself writes its time, too
            await asyncio.to_thread(self._planned, {name: wanted})
            self._settings[name] = wanted
            self._tell()

        return obey

    def _planned(self, changes: Mapping[str, Any]) -> Plan:
        """Return the plan of a run with the settings and `changes`. Raise ValueError when a setting is wrong."""
        wanted = {**self._settings, **changes}
        period = max(wanted["AcquireTime"], wanted["AcquirePeriod"])
        if not Path(wanted["FilePath"]).is_absolute():
            raise ValueError(
                f"FilePath = {wanted['FilePath']!r} is relative; give an absolute path on the receiver's machine"
            )
        if wanted["NumImages"] < 0:
            raise ValueError(f"NumImages = {wanted['NumImages']}: 0 (until stopped) or more")
        run = {
            "name": wanted["FileName"],
            "output": wanted["FilePath"],
            "frames": wanted["NumImages"] or "until stopped",
        }
        detector = {"count_time_s": wanted["AcquireTime"], "rate_hz": 1.0 / period if period > 0 else 0.0}
        return plan_with(self._config, {"run": run, "detector": detector})

    # ---- what is shown ------------------------------------------------------------------------------------------------------------

    def _add(self, name: str, kind: Any, value: Any, obey: Callable[[Any], Awaitable[None]] | None = None) -> None:
        self._variables[name] = SharedPV(handler=_Order(obey) if obey else None, nt=kind, initial=value)
        self._posted[name] = value["index"] if isinstance(value, dict) else value

    def _readings(self) -> dict[str, Any]:
        session = self._session
        going = session is not None and session.going
        counts = session.counts(self._images.buffer) if session is not None else Counts()
        run = self._plan.file.run
        master = f"{run.folder}/{run.name}_{self._images.buffer}_master.h5"
        return {
            f"{CAMERA}Acquire_RBV": int(going),
            f"{CAMERA}DetectorState_RBV": self._state,
            f"{CAMERA}StatusMessage_RBV": self._message,
            f"{CAMERA}Model_RBV": self._plan.file.detector.name,
            f"{CAMERA}ArraySizeX_RBV": self._images.width,
            f"{CAMERA}ArraySizeY_RBV": self._images.height,
            f"{CAMERA}ArrayCounter_RBV": counts.accepted + counts.vetoed + counts.errored + counts.missing,
            f"{CAMERA}NumAccepted_RBV": counts.accepted,
            f"{CAMERA}NumVetoed_RBV": counts.vetoed,
            f"{CAMERA}NumErrored_RBV": counts.errored,
            f"{CAMERA}NumMissing_RBV": counts.missing,
            f"{CAMERA}DroppedArrays_RBV": counts.errored + counts.missing,
            f"{FILES}NumCaptured_RBV": counts.written,
            f"{FILES}FullFileName_RBV": master if session is not None else "",
            f"{ARRAYS}ArrayCounter_RBV": self._shown,
        }

    def _tell(self) -> None:
        """Post the values that have changed to clients."""
        self._look_at_state()
        values = self._readings()
        for name in _SETTINGS:
            where = FILES if isinstance(self._settings[name], str) else CAMERA
            values[f"{where}{name}"] = values[f"{where}{name}_RBV"] = self._settings[name]
        values[f"{CAMERA}Acquire"] = values[f"{CAMERA}Acquire_RBV"]
        for name, value in values.items():
            if self._posted.get(name) != value:
                self._posted[name] = value
                self._variables[name].post(value, timestamp=time.time())

    def _look_at_state(self) -> None:
        session = self._session
        if session is None:
            return
        if session.going:
            started = session.started.done() and session.started.exception() is None
            playing = session.progress.phase == "running"
            self._state = INITIALIZING if not started else ACQUIRING if playing else READOUT
            self._message = session.progress.phase
        elif not session.ended.done():
            self._state = INITIALIZING
        elif (error := session.ended.exception()) is not None:
            self._state, self._message = ERROR, str(error)
        else:
            outcome = session.ended.result()
            self._state = IDLE if outcome.good else ABORTED if outcome.interrupted else ERROR
            self._message = "\n".join((outcome.problem, *outcome.reasons)).strip() or "done"

    async def _show_images(self) -> None:
        """Show the newest accepted image while a client has the channel open and a run goes on."""
        seen: tuple[RunSession, str] | None = None
        while True:
            await self._viewers.some.wait()
            session = self._session
            if session is None or not session.going or not session.started.done():
                await asyncio.sleep(_NO_IMAGE_S)
                continue
            query = {"step": str(self._previews.step)}
            if seen is not None and seen[0] is session:
                query["after"] = seen[1]
            began = time.monotonic()
            content = None
            with contextlib.suppress(SessionError):  # the run is over, or its receiver is busy
                content = await asyncio.wrap_future(session.view(self._images.buffer, query))
            if content is None:
                await asyncio.sleep(_NO_IMAGE_S)
                continue
            facts = self._post_image(content)
            seen = session, str(facts["index"])
            await asyncio.sleep(max(0.0, 1.0 / self._previews.rate_hz - (time.monotonic() - began)))

    def _post_image(self, content: bytes) -> dict[str, Any]:
        facts, arrays = view_of_bytes(content)
        image = arrays["image"]
        attributes = {
            "ColorMode": 0,
            "ImageIndex": facts["index"],
            "Partial": int(facts["partial"]),
            **{name: float(value) for name, value in facts["columns"].items() if value is not None},
        }
        made = NTNDArray().wrap(image, attrib=attributes, timestamp=time.time())
        made["uniqueId"] = facts["frame"] & 0x7FFFFFFF
        seconds, nanoseconds = divmod(utc_of_tai(facts["timestamp_ns"]), 10**9)
        made["dataTimeStamp"] = {"secondsPastEpoch": seconds, "nanoseconds": nanoseconds}
        step = self._previews.step
        for dimension, full in zip(made["dimension"], facts["size"], strict=True):
            dimension["fullSize"], dimension["binning"] = full, step
        self._shown += 1
        self._variables[f"{ARRAYS}Image"].post(made)
        return facts


@contextlib.asynccontextmanager
async def served(variables: Variables, host: str, *, isolated: bool = False) -> Any:
    """Serve the variables by PVAccess during the context, and yield the configuration for clients. Environment variables EPICS_PVAS_… override
    `host`. `isolated`: use separate ports."""
    provider = variables.provider()
    conf = {} if "EPICS_PVAS_INTF_ADDR_LIST" in os.environ else {"EPICS_PVAS_INTF_ADDR_LIST": host}
    server = Server([provider], isolate=True) if isolated else Server([provider], conf=conf)
    following = asyncio.create_task(variables.follow())
    try:
        yield server.conf()
    finally:
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following
        server.stop()
