# SPDX-License-Identifier: Apache-2.0
"""Sends orders from a page to the manager of the run. They are requests beside its journal, like those of `rashpa stop` and `rashpa pause`. The page
asks for confirmation before an order that cannot be undone."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from bokeh.document import Document
from bokeh.models import Button, Div, Row

from rashpa.control.handover.journal import JournalError
from rashpa.control.handover.steering import SteerError, Way, steer
from rashpa.control.handover.stop_request import StopError, StopRequest
from rashpa.control.plan.model import Plan
from rashpa.control.runfile.token import VARIABLE
from rashpa.dashboard.markup import html_of
from rashpa.dashboard.scene import Scene
from rashpa.dashboard.style import BUTTONS, TABLES
from rashpa.data.base.plain_text import BIDIRECTIONAL

_PATIENCE_S = 30.0
_END_S = 600.0
_LAST_LINES = 12
_BY = "the dashboard"
_STARTING = "the run is being started; it may take a while until it plays"
_CONFIRM = {
    "stop": "End the run in order at the next frame? All images until then are stored.",
    "abort": "Abort the run at once? Its files are completed; what has not come is missing.",
}
_WHEN = {"start": ("no run", "ended"), "pause": ("running",), "resume": ("paused",)}


class Starter:
    """Starts runs of the plan, one at a time. They continue when the page's server ends. `token`: the token of its nodes."""

    def __init__(self, plan: Plan | None, reports: Path, token: str) -> None:
        self.plan = plan
        self.reports = reports
        self._token = token
        self._running: asyncio.subprocess.Process | None = None

    @property
    def busy(self) -> bool:
        """Return True while a run goes on that this page has started."""
        return self._running is not None and self._running.returncode is None

    async def run(self) -> str:
        """Carry out a run and return its last output. Raise OSError when it cannot be started."""
        if self.plan is None or self.busy:
            raise JournalError("a run that was started here has not ended; wait for its end, or stop it")
        name = f"{self.plan.file.run.name}_{datetime.now(UTC):%Y-%m-%d_%H-%M-%S}"
        report = self.reports / "reports" / name
        await asyncio.to_thread(report.mkdir, parents=True, exist_ok=True)
        log = report / "run.log"
        command = (sys.executable, "-m", "rashpa.cli.entry", "run", str(self.plan.source.path), "--quiet")
        environment = {**os.environ, **({VARIABLE: self._token} if self._token else {})}
        with log.open("xb") as out:  # of a new name: a foreign file there is neither followed nor waited for
            self._running = await asyncio.create_subprocess_exec(
                *command,
                "--output",
                str(report),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=environment,
                start_new_session=True,
            )
        code = await self._running.wait()
        lines = (await asyncio.to_thread(log.read_text, errors="replace")).splitlines()
        said = [line for line in lines if line.startswith(("rashpa run:", "caution:"))][-_LAST_LINES:]
        return "\n".join((f"the run has ended with code {code}", *said))


class OrdersPanel:
    """Holds the buttons of one page. `journal`: returns the path of the run's journal; `allowed`: returns True while the browser may give orders;
    `record`: called with each order before it is carried out."""

    def __init__(
        self,
        doc: Document,
        starter: Starter,
        journal: Callable[[], Path | None],
        allowed: Callable[[], bool],
        record: Callable[[str], None],
    ) -> None:
        self._doc, self._starter, self._journal, self._allowed = doc, starter, journal, allowed
        self._record = record
        self._buttons = {
            name: Button(label=label, name=name, disabled=True, stylesheets=[BUTTONS])
            for name, label in (
                ("start", "Start"),
                ("pause", "Pause"),
                ("resume", "Resume"),
                ("stop", "Stop…"),
                ("abort", "Abort…"),
            )
        }
        for name, button in self._buttons.items():
            button.on_click(lambda name=name: self._clicked(name))
        self._question = Div(text="", stylesheets=[TABLES], name="question")
        self._yes = Button(label="Yes", name="yes", button_type="danger", stylesheets=[BUTTONS])
        self._no = Button(label="No, let it go on", name="no", stylesheets=[BUTTONS])
        self._yes.on_click(self._confirmed)
        self._no.on_click(lambda: self._ask(""))
        self._confirm = Row(self._question, self._yes, self._no, visible=False)
        self._said = Div(text="", stylesheets=[TABLES], name="said")
        self._asked = ""
        self._tasks: set[asyncio.Task[None]] = set()
        wrapped = {"flex-wrap": "wrap", "gap": "4px", "align-items": "center"}
        self.root = Row(
            *self._buttons.values(),
            self._confirm,
            self._said,
            styles=wrapped,
            name="orders",
            sizing_mode="stretch_width",
        )

    def update(self, scene: Scene) -> None:
        """Enable the orders that are possible now. Call it with the document's lock."""
        allowed, state = self._allowed(), scene.state
        self.root.visible = allowed
        for name, button in self._buttons.items():
            fits = state in _WHEN[name] if name in _WHEN else scene.going and scene.managed
            if name == "start":
                fits = fits and self._starter.plan is not None and not self._starter.busy
            button.disabled = not (allowed and fits)
        if state == "running" and _STARTING in self._said.text:
            self._say("the run has begun")
        if self._asked and not (scene.going and scene.managed):
            self._ask("")

    def _clicked(self, name: str) -> None:
        if not self._allowed():
            return
        if name in _CONFIRM:
            self._ask(name)
        elif name == "start":
            self._record(name)
            self._do(_STARTING, self._starter.run)
        else:
            self._record(name)
            self._do(f"{name}: asked", lambda: self._steer("pause" if name == "pause" else "resume"))

    def _ask(self, name: str) -> None:
        """Ask for confirmation of the order `name`; an empty name removes the question."""
        self._asked = name
        self._confirm.visible = bool(name)
        self._question.text = html_of("warning", _CONFIRM.get(name, ""))
        self._yes.label = f"Yes, {name}"

    def _confirmed(self) -> None:
        name = self._asked
        self._ask("")
        if not self._allowed() or not name:
            return
        self._record(name)
        work = self._stop if name == "stop" else lambda: self._steer("abort")
        self._do(f"{name}: asked", work)

    async def _steer(self, way: Way) -> str:
        journal = self._journal()
        if journal is None:
            raise SteerError("no run file was given; start the dashboard with one")
        return await asyncio.to_thread(steer, journal, way, _BY, _PATIENCE_S)

    async def _stop(self) -> str:
        journal = self._journal()
        if journal is None:
            raise StopError("no run file was given; start the dashboard with one")
        return await asyncio.to_thread(_stopped, journal)

    def _do(self, said: str, work: Callable[[], Awaitable[str]]) -> None:
        """Carry out `work` in the background, and show its result on the page."""
        self._say(said)

        async def done() -> None:
            try:
                text, bad = await work(), False
            except (SteerError, StopError, JournalError, OSError) as error:
                text, bad = str(error), True
            # the user may have closed the page by then: its document has no session any more
            if self._doc.session_context is not None and not self._doc.session_context.destroyed:
                self._doc.add_next_tick_callback(lambda: self._say(text, bad=bad))

        task = asyncio.get_running_loop().create_task(done())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _say(self, text: str, *, bad: bool = False) -> None:
        self._said.text = html_of("said", text.translate(BIDIRECTIONAL).splitlines(), bad)


def _stopped(journal: Path) -> str:
    """Stop the run in order and return a text on its result. Raise StopError when it cannot be stopped."""
    request = StopRequest(journal, _BY)
    try:
        answer = request.wait(_END_S)
    finally:
        request.close()
    if answer.refused:
        raise StopError(answer.refused)
    return f"ended after {answer.frames} frames; {answer.expected} images expected, {answer.complete} complete, {answer.written} written"
