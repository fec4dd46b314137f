# SPDX-License-Identifier: Apache-2.0
"""The address of the pictures of a calibration."""

import asyncio
import functools
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from tornado.web import HTTPError, RequestHandler

from rashpa.control.plan.model import Plan
from rashpa.dashboard.calibration.maps import CalibrationError, Fact, Shown, shown_calibration
from rashpa.dashboard.keys import Keys
from rashpa.data.base.plain_text import BIDIRECTIONAL

_MOST_MODULE = 10_000


@functools.cache
def _template() -> Template:
    folder = FileSystemLoader(Path(__file__).parent)
    return Environment(loader=folder, autoescape=True, undefined=StrictUndefined).get_template("maps.html")


class CalibrationMaps(RequestHandler):
    """Serves any browser that may look. `plan`: returns that of the run; `one`: a lock, so that one module is read at a time."""

    def initialize(self, keys: Keys, plan: Callable[[], Plan | None], one: asyncio.Lock) -> None:
        self._keys, self._plan, self._one = keys, plan, one

    def set_default_headers(self) -> None:
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cache-Control", "no-store")

    async def get(self, key: str) -> None:
        if not self._keys.is_way(key):
            raise HTTPError(404)
        asked = self.get_query_argument("module", "0")
        plan = self._plan()
        problem, facts, pictures = "", list[Fact](), list[Shown]()
        try:
            if plan is None:
                raise CalibrationError("the page was started without a run file")
            if not (asked.isdecimal() and len(asked) <= 4 and int(asked) < _MOST_MODULE):
                raise CalibrationError("there is no such module")
            async with self._one:
                facts, pictures = await asyncio.to_thread(shown_calibration, plan, int(asked), datetime.now(UTC))
        except CalibrationError as error:
            problem = str(error)
        page = _template().render(problem=problem, facts=facts, pictures=pictures)
        self.finish(page.translate(BIDIRECTIONAL))
