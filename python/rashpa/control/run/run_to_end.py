# SPDX-License-Identifier: Apache-2.0
"""Carries out a run from Python, in a script or in a notebook, which has an event loop of its own."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan, plan_run
from rashpa.control.run.run_notes import Observer, unobserved
from rashpa.control.run.run_session import RunSession
from rashpa.control.runfile.run_file_reader import run_file_of
from rashpa.control.runfile.token import token_of_environment
from rashpa.data.files.file_names import expanded


def plan_of(config: Path | str | Mapping[str, Any]) -> Plan:
    """Return the plan of a run file, or of its tables as a dict. Raise RunFileError that names the faults."""
    if isinstance(config, Mapping):
        return plan_run(*run_file_of(config))
    return load_plan(Path(expanded(str(config))))


def run_to_end(config: Path | str | Mapping[str, Any], observer: Observer = unobserved) -> Outcome:
    """Carry out a run and return its outcome: `good` is True when every image is stored or explained, `problem` describes a failure.

    `config`: a run file, or its tables as a dict. Local nodes are started and ended. Raise RunFileError when it is wrong, before anything is started;
    JournalError when a run of this name and output goes on. An interrupt ends the run in order.
    """
    session = RunSession(plan_of(config), token_of_environment(), observer)
    session.start()
    while True:
        try:
            return session.ended.result()
        except KeyboardInterrupt:
            session.interrupt()
