# SPDX-License-Identifier: Apache-2.0
"""Controls a detector that sends by itself: it is started and stopped as [detector.control] says, and has ended when nothing more arrives."""

import asyncio
import contextlib
import importlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rashpa.control.nodes.node_client import NodeError
from rashpa.control.nodes.running_time import RunningClock
from rashpa.control.plan.model import Plan
from rashpa.control.runfile.control_section import Control
from rashpa.control.telegrams.telegram import Endpoint, Placement, Status

_LABEL = "detector.control"
_LONGEST_STEP_S = 2.0
_ROCE_PORT = 4791
_ENDPOINTS = "RASHPA_ENDPOINTS"


def end_of(control: Control | None, link: str) -> Endpoint:
    """Return the endpoint of a detector on this kind of link. At most its address is known. RoCEv2 fixes its port; for other links, port 0 means any."""
    address = control.address if control is not None else ""
    port = _ROCE_PORT if link == "roce" else 0
    return Endpoint(address=address or "0.0.0.0", port=port, qpn=0, rkey=0)  # noqa: S104 (where it sends from is not known)


class ForeignDetector:
    """Controls the detector of one run. `clock`: returns the seconds in which the manager has run."""

    def __init__(self, plan: Plan, control: Control, clock: Callable[[], float] | None = None) -> None:
        self._plan, self._control = plan, control
        self._clock = clock or RunningClock(_LONGEST_STEP_S).look
        self._started: asyncio.subprocess.Process | None = None
        self._detector: Any = None
        self._endpoints = ""
        self._arrived = 0
        self._since = 0.0
        self.cautions: tuple[str, ...] = ()

    async def prepare(self) -> None:
        """Prepare the detector. Raise NodeError when preparing fails."""
        if self._control.kind == "command" and self._control.prepare:
            await self._carry_out("prepare", self._control.prepare)
        elif self._control.kind == "slsdet":
            await asyncio.to_thread(self._load_slsdet)

    def know(self, ends: Mapping[int, tuple[Endpoint, Placement]]) -> None:
        """Store the memory to which each DTP of the detector writes, by the DTP's id."""
        told = ({"dtp": dtp, **asdict(end), **asdict(place)} for dtp, (end, place) in ends.items())
        self._endpoints = json.dumps(list(told))

    async def start(self) -> None:
        """Start the detector, and do not wait for its end. Raise NodeError when the start fails."""
        self._since = self._clock()
        if self._control.kind == "command" and self._control.start:
            self._started = await self._begin("start", self._control.start)
        elif self._control.kind == "slsdet":
            await asyncio.to_thread(self._ask, "startDetector")

    async def stop(self) -> None:
        """Stop the detector, also after a failure. Raise NodeError when stopping fails."""
        try:
            if self._control.kind == "command" and self._control.stop:
                await self._carry_out("stop", self._control.stop)
            elif self._detector is not None:
                await asyncio.to_thread(self._ask, "stopDetector")
        finally:
            await self._end_start()

    def ended(self, statuses: Mapping[str, Status]) -> bool:
        """Return True when all images have arrived, or when none has arrived for the time that the run file allows."""
        buffers = [one for status in statuses.values() if status.destination for one in status.destination.buffers]
        dtps = [dtp for buffer in buffers for dtp in buffer.dtps]
        arrived = sum(dtp.complete + dtp.partial for dtp in dtps)
        if not self._plan.end_told and buffers and all(one.books.decided == one.books.expected for one in buffers):
            return True
        now = self._clock()
        if arrived != self._arrived:
            self._arrived, self._since = arrived, now
        silence = self._control.silence_s if self._arrived else self._control.first_s
        if now - self._since <= silence:
            return False
        said = "no image came" if not self._arrived else "no further image came"
        self.cautions = (f"{_LABEL}: {said} for {silence:g} s, and the run ended",)
        return True

    async def _begin(self, key: str, words: Sequence[str]) -> asyncio.subprocess.Process:
        folder = self._plan.source.path.resolve().parent
        try:
            return await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                cwd=folder,
                env={**os.environ, **({_ENDPOINTS: self._endpoints} if self._endpoints else {})},
            )
        except OSError as error:
            where = self._plan.source.where(("detector", "control", key))
            raise NodeError(_LABEL, f"{where}: {words[0]} cannot be run: {error.strerror or error}", "config") from None

    async def _carry_out(self, key: str, words: Sequence[str]) -> None:
        process = await self._begin(key, words)
        where = self._plan.source.where(("detector", "control", key))
        try:
            async with asyncio.timeout(self._control.timeout_s):
                status = await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
            text = f"{where}: {words[0]} did not end within {self._control.timeout_s:g} s and was killed; raise timeout_s, or look at it"
            raise NodeError(_LABEL, text, "deadline") from None
        if status != 0:
            raise NodeError(_LABEL, f"{where}: {words[0]} ended with status {status}; run it by hand", "config")

    async def _end_start(self) -> None:
        """End the program of the key `start`, if it still runs."""
        process = self._started
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(self._control.timeout_s):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    def _load_slsdet(self) -> None:
        where = self._plan.source.where(("detector", "control", "kind"))
        try:
            package = importlib.import_module("slsdet")
        except ImportError as error:
            text = f'{where}: the Python package slsdet cannot be imported ({error}); install it, or use "command" or "none"'
            raise NodeError(_LABEL, text, "config") from None
        try:
            self._detector = package.Detector()
            if self._plan.control_config:
                self._detector.loadConfig(self._plan.control_config)
        except Exception as error:
            raise NodeError(_LABEL, f"{where}: slsdet: {error}", "config") from error

    def _ask(self, call: str) -> None:
        try:
            getattr(self._detector, call)()
        except Exception as error:  # of another package, whose exceptions nobody declares
            raise NodeError(_LABEL, f"{_LABEL}: slsdet {call}: {error}", "config") from error
