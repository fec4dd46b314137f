# SPDX-License-Identifier: Apache-2.0
"""A run from Python: from a script, or from a notebook, which has an event loop of its own."""

import asyncio
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rashpa.control.journal import journal_of
from rashpa.control.manager import Manager, Observer, unobserved
from rashpa.control.outcome import Outcome
from rashpa.control.run_file_reader import run_file_of
from rashpa.control.run_plan import Plan, load_plan, plan_run
from rashpa.control.token import token_of_environment


def plan_of(config: Path | str | Mapping[str, Any]) -> Plan:
    """Of a run file, or of its tables as a dict. RunFileError names what is wrong."""
    if isinstance(config, Mapping):
        return plan_run(*run_file_of(config))
    return load_plan(Path(config))


def carry_out(config: Path | str | Mapping[str, Any], observer: Observer = unobserved) -> Outcome:
    """Carries a run through, and returns when it is over: `good` says whether every image is stored or explained, `problem` what went wrong.

    `config`: a run file, or its tables as a dict. Nodes that it calls local are started and ended. RunFileError when it is wrong: nothing has
    been started then. JournalError when a run of this name and output goes on. An interrupt ends the run in order.
    """
    plan = plan_of(config)
    token = token_of_environment()
    loop = asyncio.new_event_loop()
    manager: list[Manager] = []
    outcome: list[Outcome] = []
    raised: list[BaseException] = []

    async def run() -> None:
        manager.append(Manager(plan, observer, token, journal=journal_of(plan)))
        outcome.append(await manager[0].run())

    def work() -> None:
        try:
            loop.run_until_complete(run())
        except BaseException as error:  # noqa: BLE001 (it is raised where the run was asked for)
            raised.append(error)
        finally:
            loop.close()

    # a thread of its own: the caller's may have a loop that runs
    thread = threading.Thread(target=work, name="run", daemon=True)
    thread.start()
    while thread.is_alive():
        try:
            thread.join()
        except KeyboardInterrupt:
            if manager:
                loop.call_soon_threadsafe(manager[0].stop)
    if raised:
        raise raised[0]
    return outcome[0]
