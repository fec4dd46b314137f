# SPDX-License-Identifier: Apache-2.0
"""Makes the run file of the next run from the given one, or a template, and the values of the form."""

import contextlib
import itertools
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import plan_run
from rashpa.control.runfile.run_file import RunFile
from rashpa.control.runfile.run_file_reader import RunFileError, RunFileSource, parse_run_file, read_run_file
from rashpa.dashboard.settings.changed_text import TextError, text_with
from rashpa.dashboard.settings.form import changes_of

MADE = ".page-"  # in the names of files that a page has made
_MOST_TEMPLATES = 200


class NextRun:
    """Makes run files for the page. `given`: the plan with which the page was started; `folder`: the folder of templates, None without one."""

    def __init__(self, given: Plan, folder: Path | None) -> None:
        self._given = given.source.path
        self._folder = folder

    def templates(self) -> list[str]:
        """Return the names of the run files in the folder of templates."""
        if self._folder is None:
            return []
        with contextlib.suppress(OSError), os.scandir(self._folder) as entries:
            some = itertools.islice(entries, _MOST_TEMPLATES)
            names = [one.name for one in some if one.name.endswith(".toml") and MADE not in one.name and one.is_file()]
            return sorted(name.removesuffix(".toml") for name in names)
        return []

    def read(self, template: str) -> tuple[RunFile, RunFileSource]:
        """Return the run file of a template, or the given run file for an empty name. Raise RunFileError."""
        return read_run_file(self._path_of(template))

    def made(self, template: str, values: Mapping[str, str]) -> Plan:
        """Return the plan of a template with these values. When they differ from the template's, write them into a new file beside it. Raise
        RunFileError with the run file's own messages, OSError when the file cannot be written."""
        file, source = self.read(template)
        changes = changes_of(file, values)
        if not changes:
            return plan_run(file, source)
        try:
            text = text_with(source.text, changes)
        except TextError as error:
            raise RunFileError(f"{source.path}: {error}") from None
        when = datetime.now(UTC).strftime("%Y-%m-%d_%H-%M-%S_%f")
        base = source.path.stem.partition(MADE)[0]
        path = source.path.with_name(f"{base}{MADE}{when}.toml")
        plan = plan_run(*parse_run_file(path, text.encode()))
        with path.open("x", encoding="utf-8") as out:  # of a new name: nothing there is followed or written over
            out.write(text)
        return plan

    def _path_of(self, template: str) -> Path:
        if not template:
            return self._given
        if self._folder is None or template not in self.templates():
            raise RunFileError(f"{template}: there is no such template; choose one of the list")
        return self._folder / f"{template}.toml"
