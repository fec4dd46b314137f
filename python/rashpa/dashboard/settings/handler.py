# SPDX-License-Identifier: Apache-2.0
"""The address of the form: it gives the form of a template, and takes the settings of the next run."""

import asyncio
import functools
from collections.abc import Callable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from tornado.web import HTTPError, RequestHandler

from rashpa.control.plan.model import Plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.dashboard.gate import SESSION
from rashpa.dashboard.keys import Keys, Session
from rashpa.dashboard.settings.form import KEYS, fields_of
from rashpa.dashboard.settings.next_run import NextRun
from rashpa.data.base.plain_text import BIDIRECTIONAL

_DONE, _WRONG = 204, 400


@functools.cache
def _template() -> Template:
    folder = FileSystemLoader(Path(__file__).parent)
    return Environment(loader=folder, autoescape=True, undefined=StrictUndefined).get_template("form.html")


class Settings(RequestHandler):
    """Serves browsers of operators. `use`: takes the plan of the next run, and returns why not, empty when it has; `record`: called with role and address."""

    def initialize(
        self, keys: Keys, next_run: NextRun | None, use: Callable[[Plan], str], record: Callable[[str, str, str], None]
    ) -> None:
        self._keys, self._next, self._use, self._record = keys, next_run, use, record

    def set_default_headers(self) -> None:
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cache-Control", "no-store")

    def _checked(self, key: str) -> tuple[NextRun, Session]:
        if not self._keys.is_way(key) or self._next is None:
            raise HTTPError(404)
        session: Session | None = getattr(self.request, SESSION, None)
        if session is None or not session.may_order:
            raise HTTPError(403)
        return self._next, session

    async def get(self, key: str) -> None:
        next_run, _ = self._checked(key)
        chosen = self.get_query_argument("template", "")
        problem, fields = "", []
        try:
            file, _ = await asyncio.to_thread(next_run.read, chosen)
            fields = fields_of(file)
        except RunFileError as error:
            problem = str(error)
        names = await asyncio.to_thread(next_run.templates)
        page = _template().render(fields=fields, templates=names, chosen=chosen, problem=problem)
        self.finish(page.translate(BIDIRECTIONAL))

    async def post(self, key: str) -> None:
        next_run, session = self._checked(key)
        names = (f"{table}.{name}" for table, name in KEYS)
        values = {name: self.get_body_argument(name) for name in names if name in self.request.body_arguments}
        try:
            plan = await asyncio.to_thread(next_run.made, self.get_body_argument("template", ""), values)
            problem = self._use(plan)
        except (RunFileError, OSError) as error:
            problem = str(error)
        if problem:
            self.set_status(_WRONG)
            self.set_header("Content-Type", "text/plain; charset=utf-8")
            self.finish(problem.translate(BIDIRECTIONAL))
            return
        self._record(f"settings {plan.source.path}", session.role, str(self.request.remote_ip))
        self.set_status(_DONE)
