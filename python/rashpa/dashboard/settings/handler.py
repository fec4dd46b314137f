# SPDX-License-Identifier: Apache-2.0
"""Serves the form with the values of a template, and receives the settings of the next run."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from tornado.web import HTTPError

from rashpa.control.plan.model import Plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.dashboard.addresses.part_of_page import PartOfPage, operator_of
from rashpa.dashboard.keys import Keys, Session
from rashpa.dashboard.settings.form import KEYS, fields_of
from rashpa.dashboard.settings.next_run import NextRun

_DONE, _WRONG = 204, 400
_TEMPLATE = Path(__file__).parent / "form.html"


class Settings(PartOfPage):
    """Serves browsers of operators. `use`: sets the plan of the next run, and returns the reason for a refusal, otherwise an empty text; `record`:
    called with role and address."""

    def initialize(
        self, keys: Keys, next_run: NextRun | None, use: Callable[[Plan], str], record: Callable[[str, str, str], None]
    ) -> None:
        self._keys, self._next, self._use, self._record = keys, next_run, use, record

    def _checked(self, key: str) -> tuple[NextRun, Session]:
        if not self._keys.is_way(key) or self._next is None:
            raise HTTPError(404)
        return self._next, operator_of(self)

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
        self.finish_page(_TEMPLATE, fields=fields, templates=names, chosen=chosen, problem=problem)

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
            self.finish_text(_WRONG, problem)
            return
        self._record(f"settings {plan.source.path}", session.role, str(self.request.remote_ip))
        self.set_status(_DONE)
