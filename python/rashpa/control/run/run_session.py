# SPDX-License-Identifier: Apache-2.0
"""Runs a plan for a program that watches, controls and ends the run. Its manager has a separate thread and event loop, so that nothing blocks the
caller's loop."""

import asyncio
import json
import logging
import threading
import time
import tomllib
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from rashpa.control.books.outcome import Outcome, Progress
from rashpa.control.handover.journal import journal_of
from rashpa.control.handover.limits_request import Limits, set_limits
from rashpa.control.handover.steering import Way, stacks_end_every, steer
from rashpa.control.nodes.gather_limited import gather_limited
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import plan_run
from rashpa.control.run.end import never_early
from rashpa.control.run.manager import Manager
from rashpa.control.run.run_notes import Observer, unobserved
from rashpa.control.runfile.run_file_reader import RunFileSource, read_run_file, run_file_of
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Books, Status
from rashpa.data.base.rashpa_error import RashpaError
from rashpa.data.base.telling import Apart, OnlyTells
from rashpa.data.files.file_names import expanded

_STEER_S = 30.0
_LOOK_S = 0.02
_BY = "a program"
_log = logging.getLogger(__name__)
_T = TypeVar("_T")


def _future() -> "Future[Any]":
    """Return a future that a waiter cannot cancel, because the run continues when a waiter gives up."""
    made: Future[Any] = Future()
    made.set_running_or_notify_cancel()
    return made


class SessionError(RashpaError, RuntimeError):
    """Reports that the run refuses a request, or has failed; the text gives reason and remedy."""


@dataclass(frozen=True)
class Counts:
    """Counts images of a buffer. `decided`: images that are accepted and stored, vetoed, errored or missing."""

    decided: int = 0
    accepted: int = 0
    vetoed: int = 0
    errored: int = 0
    missing: int = 0
    written: int = 0


def counts_of(books: Books) -> Counts:
    """Return the counts. An accepted image counts as decided only when it is written, so that an announced image can be read."""
    settled = books.vetoed + books.errored + books.missing + min(books.accepted, books.written)
    return Counts(settled, books.accepted, books.vetoed, books.errored, books.missing, books.written)


def plan_with(
    config: Path | str | Mapping[str, Any],
    changes: Mapping[str, Mapping[str, Any]],
    buffers: Mapping[str, Mapping[str, Any]] | None = None,
) -> Plan:
    """Return the plan of a run file, or of its tables as a dict, with changed values of some keys: {"run": {"frames": 100}}. `buffers`: changed
    values of buffers, by name. Raise RunFileError that names the faults."""
    if isinstance(config, Mapping):
        path, tables = Path("run"), dict(config)
    else:
        path = Path(expanded(str(config)))
        tables = tomllib.loads(read_run_file(path)[1].text)
    for table, values in changes.items():
        tables[table] = {**tables.get(table, {}), **values}
    if buffers:
        tables["buffer"] = [{**one, **buffers.get(one.get("name", ""), {})} for one in tables.get("buffer", ())]
    file, source = run_file_of(tables)
    return plan_run(file, RunFileSource(path, json.dumps(tables, default=str), source.sha256, is_toml=False))


class RunSession:
    """Runs a plan once. Any thread may call every method; each returns at once. A separate thread calls `observer`, which may be slow."""

    def __init__(self, plan: Plan, token: str = "", observer: Observer = unobserved) -> None:
        self.plan = plan
        self.progress = Progress("not started", plan.file.run.most_frames, 0.0)
        self.started: Future[None] = _future()
        """Done when the emulators play; SessionError when the run ends before."""
        self.ended: Future[Outcome] = _future()
        """The outcome of the run, good or not."""
        self._observer = Apart(OnlyTells("the observer of the run", observer, _log.warning))
        self._is_observed = observer is not unobserved
        self._loop = asyncio.new_event_loop()
        self._journal = journal_of(plan)
        self._manager = Manager(plan, self._heard, token, journal=self._journal)
        self._thread = threading.Thread(target=self._work, name="run", daemon=True)
        self._lock = threading.Lock()
        self._triggered = 0

    def start(self) -> "Future[None]":
        """Start the run, once, and return the future `started`."""
        self._thread.start()
        return self.started

    @property
    def going(self) -> bool:
        """Return True from the start of the run to its end."""
        return self._thread.ident is not None and not self.ended.done()

    @property
    def paused(self) -> bool:
        """Return True while emulators are paused."""
        return any(status.state == "paused" for status in self.progress.emulators.values())

    def books(self, buffer: str) -> Books:
        """Return the last books of a buffer; after the run, those of its outcome."""
        if self.ended.done() and self.ended.exception() is None:
            buffers = self.ended.result().buffers
        else:
            destinations = [status.destination for status in self.progress.receivers.values() if status.destination]
            buffers = tuple(known for destination in destinations for known in destination.buffers)
        return next((known.books for known in buffers if known.name == buffer), Books())

    def counts(self, buffer: str) -> Counts:
        """Return the last counts of a buffer."""
        return counts_of(self.books(buffer))

    def look(self) -> "Future[None]":
        """Ask the receivers for their status now, before the manager's next regular request."""
        return self._do(self._look())

    def settled(self, buffer: str, images: int, patience_s: float) -> "Future[Counts]":
        """Wait until this number of images of a buffer is decided, and the accepted ones stored. The result is the counts. Raise SessionError when
        the run ends before, or after `patience_s` seconds."""
        return self._do(self._settled(buffer, images, patience_s))

    def view(self, buffer: str, query: Mapping[str, str]) -> Future[bytes | None]:
        """Return a part of a recent image of a buffer as numbers, as its node answers `/view`; None when there is no image besides the known one.
        Raise SessionError."""
        return self._do(self._view(buffer, query))

    def trigger(self, frames: int) -> "Future[None]":
        """Make all emulators of a run with detector.trigger = "software" take `frames` frames. Raise SessionError when one refuses."""
        return self._do(self._trigger(frames))

    def steer(self, way: Way) -> "Future[str]":
        """Pause the run, resume it, or end it at once; return a description of the action. Raise SteerError when the run refuses."""
        return self._do(asyncio.to_thread(steer, self._journal.path, way, _BY, _STEER_S))

    def set_limits(self, step: str, values: Mapping[str, Any], buffer: str = "") -> "Future[str]":
        """Change limits of a veto from the next stack on. `step`: the veto's reason, its kernel's name or number; `values`: new values by key. Return
        the changes, one line for each, with the first image that has them. Raise LimitsError when the run refuses."""
        wanted = Limits(step, {key: str(value) for key, value in values.items()}, buffer, _BY)
        return self._do(asyncio.to_thread(set_limits, self._journal.path, wanted, _STEER_S))

    def stop(self) -> "Future[Outcome]":
        """End the run in order before its last frame, and return the future `ended`. Raise SessionError when its engines do not support that."""
        if self.going and (why := never_early(self.plan)):
            raise SessionError(why)
        self._tell(self._end)
        return self.ended

    def abort(self) -> "Future[Outcome]":
        """End the run at once and return the future `ended`. Files are completed; images that have not arrived are missing."""
        self._tell(self._manager.interrupt)
        return self.ended

    def interrupt(self) -> None:
        """Interrupt the run as Ctrl-C interrupts `rashpa run`."""
        self._tell(self._manager.stop)

    # ---- in the manager's thread --------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            try:
                outcome = runner.run(self._manager.run())
                self._observer.drain()
            except BaseException as error:  # noqa: BLE001  (it is raised where the run is waited for)
                with self._lock:
                    self._fail_start(str(error))
                    self.ended.set_exception(error)
            else:
                with self._lock:
                    self._fail_start(outcome.problem or "the run was over before it began")
                    self.ended.set_result(outcome)
            runner.run(asyncio.sleep(0))  # open requests are tasks now, and end with the loop

    def _fail_start(self, text: str) -> None:
        if not self.started.done():
            self.started.set_exception(SessionError(text))

    def _heard(self, progress: Progress) -> None:
        self.progress = progress
        states = [status.state for status in progress.emulators.values()]
        if (
            not self.started.done()
            and progress.phase == "running"
            and len(states) == len(self.plan.emulators)
            and all(state in ("running", "finished", "paused") for state in states)
        ):
            self.started.set_result(None)
        if self._is_observed:
            self._observer(progress)

    def _end(self) -> None:
        if self.started.done():
            self._manager.end(_BY)
        else:
            self._manager.interrupt()

    async def _look(self) -> None:
        clients = self._manager.clients
        names = [receiver.name for receiver in self.plan.receivers]

        async def one(name: str) -> tuple[str, Status]:
            return name, await clients[name].status()

        said = await gather_limited(one, names)
        known = self.progress
        heard = {
            name: status for name, status in said if status.destination
        }  # not of one whose books are taken: it was reset
        self.progress = replace(known, receivers={**known.receivers, **heard})

    async def _view(self, buffer: str, query: Mapping[str, str]) -> bytes | None:
        receiver = next(known.receiver for known in self.plan.buffers if known.section.name == buffer)
        return await self._manager.clients[receiver].view({**query, "buffer": buffer})

    async def _settled(self, buffer: str, images: int, patience_s: float) -> Counts:
        ends = time.monotonic() + patience_s
        while True:
            await self._look()
            counts = self.counts(buffer)
            if counts.decided >= images:
                return counts
            if time.monotonic() > ends:
                raise SessionError(
                    f"buffer {buffer}: {counts.decided} of {images} images are decided and stored after {patience_s:g} s "
                    f"({counts.accepted} accepted, {counts.written} written); see the run with `rashpa status`"
                )
            await asyncio.sleep(_LOOK_S)

    async def _trigger(self, frames: int) -> None:
        every = stacks_end_every(self.plan)
        end = self._triggered + frames
        if end % every and end != self.plan.file.run.most_frames:
            raise SessionError(
                f"{frames} frames leave a part of a stack, which would wait for its deadline; take a multiple of {every}, or "
                "set `stack` of the buffers so that whole stacks come (stack = 1 takes any number)"
            )
        clients = self._manager.clients
        await gather_limited(
            lambda name: clients[name].order(telegram.Trigger(frames=frames)), [one.name for one in self.plan.emulators]
        )
        self._triggered = end

    # ---- from any thread ----------------------------------------------------------------------------------------------------------

    def _tell(self, what: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(what)
        except RuntimeError:  # closed: the run is over
            if not self.ended.done():
                raise SessionError("the run was not started; `start` it first") from None

    def _do(self, work: Coroutine[Any, Any, _T]) -> "Future[_T]":
        """Return the result of `work`. Raise SessionError when the run ends before, or when a node refuses."""
        done: Future[_T] = _future()

        def finish(task: "asyncio.Task[_T]") -> None:
            if task.cancelled():
                done.set_exception(self._over())
            elif isinstance(error := task.exception(), RuntimeError) and not isinstance(error, SessionError):
                done.set_exception(SessionError(str(error)))  # of a node, or of a way to it that is closed already
            elif error is not None:
                done.set_exception(error)
            else:
                done.set_result(task.result())

        def begin() -> None:
            task = self._loop.create_task(work)
            task.add_done_callback(finish)

        with self._lock:
            if self.going:
                self._loop.call_soon_threadsafe(begin)
                return done
        work.close()
        done.set_exception(self._over())
        return done

    def _over(self) -> SessionError:
        if self._thread.ident is None:
            return SessionError("the run was not started; `start` it first")
        problem = ""
        if self.ended.done() and self.ended.exception() is None:
            problem = self.ended.result().problem
        return SessionError(f"the run is over{': ' if problem else ''}{problem}")
