# SPDX-License-Identifier: Apache-2.0
"""Serves the page with Bokeh's server. All of its parts come from this machine."""

import asyncio
import logging
import signal
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.document import Document
from bokeh.resources import Resources
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from bokeh.server.util import bind_sockets
from tornado.httputil import HTTPServerRequest
from tornado.ioloop import IOLoop
from tornado.web import RequestHandler

from rashpa.control.plan.model import Plan
from rashpa.dashboard.acknowledging import Acknowledging
from rashpa.dashboard.alarms import AlarmBoard
from rashpa.dashboard.audit import Audit
from rashpa.dashboard.calibration.handler import CalibrationMaps
from rashpa.dashboard.door import Door
from rashpa.dashboard.files import BROWSER, patterns
from rashpa.dashboard.gate import SESSION, Answer, Gate, Public, token_address
from rashpa.dashboard.image_plot import MAPS
from rashpa.dashboard.keys import Keys, Session
from rashpa.dashboard.nodes import Nodes
from rashpa.dashboard.orders import Starter
from rashpa.dashboard.page import Page
from rashpa.dashboard.past.past_runs import PastRuns
from rashpa.dashboard.settings.handler import Settings
from rashpa.dashboard.settings.limits import LimitsForm
from rashpa.dashboard.settings.next_run import NextRun
from rashpa.dashboard.style import ABSENT_COLOURS
from rashpa.dashboard.views import Views
from rashpa.dashboard.watch import Watch
from rashpa.data.base.plain_text import ONE_LINE
from rashpa.node.door.access import names_of
from rashpa.node.door.request_limits import Rate, RequestLimits
from rashpa.node.logs.serve_error import ServeError

_log = logging.getLogger("tornado.access")
_PAGE = "page.html"
_TABS = (
    ("tools", "Image tools"),
    ("books", "Books"),
    ("curves", "Curves"),
    ("maps", "Maps"),
    ("nodes", "Nodes"),
    ("latencies", "Latencies"),
    ("next", "Next run"),
    ("runs", "Past runs"),
)
_REFUSED = 400  # and above: status of an answer
_TOLD = Rate(1.0, 20.0)  # lines about refused requests
_LONGEST = 200  # characters of such a line
_MOST_PAGES = 32
_MOST_BYTES = 1 << 20  # of a browser's request
_TIMES = {
    "keep_alive_milliseconds": 10_000,
    "check_unused_sessions_milliseconds": 1_000,
    "unused_session_lifetime_milliseconds": 15_000,
    "stats_log_frequency_milliseconds": 3_600_000,
}


@dataclass(frozen=True)
class Place:
    """Holds the address of the page. `aliases`: other names that browsers may use for it; `public`: its address at a proxy."""

    host: str
    port: int
    secure: ssl.SSLContext | None
    aliases: tuple[str, ...] = ()
    public: Public | None = None


class _Site(BokehTornado):  # type: ignore[misc]  # Bokeh is Any to mypy
    """Serves Bokeh without the parts that the page does not use, which are most of its download. `gate`: checks the requests of all handlers."""

    def __init__(self, gate: Gate, *args: Any, **options: Any) -> None:
        self._gate = gate
        self._told = RequestLimits(_TOLD)
        self._untold = 0
        self.door: Door | None = None
        super().__init__(*args, **options)

    def find_handler(self, request: HTTPServerRequest, **options: Any) -> Any:
        instead = self._gate.answer_to(request)
        if self.door is not None:
            self.door.heard(request, may_look=instead is None)
        if instead is not None:
            return self.get_handler_delegate(request, Answer, instead)
        setattr(request, SESSION, self._gate.session_of(request))  # Bokeh hands the request on, less its cookies
        return super().find_handler(request, **options)

    def log_request(self, handler: RequestHandler) -> None:
        """Log refused requests at a limited rate, so that they cannot fill the disk."""
        if handler.get_status() < _REFUSED:
            return
        if self._told.wait_s("", trusted=False):
            self._untold += 1
            return
        if self._untold:
            _log.warning("%d requests more were refused", self._untold)
            self._untold = 0
        asked = f"{handler.request.method} {handler.request.uri} ({handler.request.remote_ip})"
        _log.warning("%d %s", handler.get_status(), asked.translate(ONE_LINE)[:_LONGEST])

    def resources(self, absolute_url: str | bool | None = None) -> Resources:
        found = super().resources(absolute_url)
        found.components = ["bokeh", "bokeh-widgets"]
        return found


def _use_of(nodes: Nodes, starter: Starter) -> Callable[[Plan], str]:
    """Return a function that sets the plan of the next run."""

    def use(plan: Plan) -> str:
        if nodes.going() is not None or starter.busy:
            return "a run goes on; its end is waited for before the next one is set"
        starter.plan = nodes.plan = plan
        return ""

    return use


class _Pages:
    """Opens pages, up to a limit. `name`: the name of the run."""

    def __init__(self, watch: Watch, past: PastRuns, keys: Keys, starter: Starter, name: str) -> None:
        self._watch = watch
        self._past = past
        self._keys = keys
        self._starter = starter
        self._name = name
        self._template = (BROWSER / _PAGE).read_text(encoding="utf-8")
        self._count = 0

    def open(self, doc: Document) -> None:
        """Fill the document of a page. Raise RuntimeError when too many are open."""
        doc.template = self._template
        request = doc.session_context.request
        session: Session = getattr(request, SESSION)
        way, operator = self._keys.way, session.may_order
        doc.template_variables.update(
            run=self._name, way=way, operator=operator, maps=list(MAPS), absent=ABSENT_COLOURS, tabs=_TABS
        )
        if self._count >= _MOST_PAGES:
            raise RuntimeError(f"{self._count} pages are open already; close some")
        Page(doc, self._watch, self._past, way, self._starter, session, str(request.remote_ip))
        self._count += 1
        doc.on_session_destroyed(self._left)

    def _left(self, _context: object) -> None:
        self._count -= 1


def _bound(place: Place) -> tuple[list[socket.socket], int]:
    """Return the sockets of the page and their port. Raise ServeError when the address is not available."""
    try:
        sockets, port = bind_sockets(place.host, place.port)
    except OSError as error:
        reason = f"{place.host} port {place.port}: {error.strerror or error}"
        raise ServeError(f"{reason}; take another --port, or 0 for any free one") from None
    return sockets, port


def _forms(
    nodes: Nodes, keys: Keys, starter: Starter, watch: Watch, board: AlarmBoard, next_run: NextRun | None
) -> list[tuple[str, type[RequestHandler], dict[str, Any]]]:
    """Return the address patterns of the page's forms and tools, with their handlers."""
    record = Audit(starter.reports).add
    settings = {"keys": keys, "next_run": next_run, "use": _use_of(nodes, starter), "record": record}
    limits = {"keys": keys, "scene": lambda: watch.scene, "journal": lambda: nodes.journal, "record": record}
    maps = {"keys": keys, "plan": lambda: watch.scene.plan or nodes.plan, "one": asyncio.Lock()}
    return [
        (r"/settings/([\w-]+)", Settings, settings),
        (r"/limits/([\w-]+)", LimitsForm, limits),
        (r"/calibration/([\w-]+)", CalibrationMaps, maps),
        (r"/alarms/([\w-]+)", Acknowledging, {"keys": keys, "board": board}),
    ]


async def serve(
    place: Place,
    nodes: Nodes,
    keys: Keys,
    starter: Starter,
    reports: list[Path],
    ready: Callable[[str], None],
    next_run: NextRun | None = None,
) -> None:
    """Serve the page until SIGTERM or SIGINT. `next_run`: makes the run files of the form. `ready`: called with the page's address for viewers. Raise
    ServeError when the address is not available."""
    board = AlarmBoard(starter.reports)
    watch, past = Watch(nodes, board=board), PastRuns(reports)
    if nodes.plan is not None and nodes.plan.file.alarms.some:
        watch.join()  # as a page that is always open
    pages = _Pages(watch, past, keys, starter, nodes.plan.file.run.name if nodes.plan is not None else "")
    sockets, port = _bound(place)
    public = place.public
    names = names_of(place.host, (*place.aliases, *([public.host] if public is not None else [])))
    gate = Gate(keys, names, port, secure=place.secure is not None, public=public)
    application = _Site(
        gate,
        {"/": Application(FunctionHandler(pages.open))},
        extra_websocket_origins=["*"],  # the gate has looked at it
        extra_patterns=[*patterns(keys, past, watch, Views()), *_forms(nodes, keys, starter, watch, board, next_run)],
        prefix=gate.prefix,
        include_headers=[],
        include_cookies=[],
        **_TIMES,
    )
    listening = application.door = Door(
        application, ssl_options=place.secure, max_buffer_size=_MOST_BYTES, xheaders=public is not None
    )
    listening.add_sockets(sockets)
    server = BaseServer(IOLoop.current(), application, listening)
    host = f"[{place.host}]" if ":" in place.host else place.host
    url = f"{'https' if place.secure else 'http'}://{host}:{port}/"
    if public is not None:
        url = f"{public.origin}{public.prefix}/"
    await _until_told(server, watch, token_address(url, keys.to_look), ready)


async def _until_told(server: BaseServer, watch: Watch, url: str, ready: Callable[[str], None]) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    try:
        server.start()
        ready(url)
        await ended.wait()
    finally:
        server.stop()
        await watch.close()
