# SPDX-License-Identifier: Apache-2.0
"""Keeps nodes running from one run to the next: processes as `rashpa emulator` and `rashpa receiver` start them, and a manager in this process. It is
for tests that do not test the start of nodes: each saves the start of three processes, which is most of a small run."""

import asyncio
import contextlib
import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.model import Plan
from rashpa.control.plan.planned_node import PlannedNode
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.manager import Manager
from rashpa.control.run.run_notes import Observer, unobserved

Node = TypeVar("Node", bound=PlannedNode)
_END_S = 20.0


class WarmNodes(contextlib.AbstractContextManager["WarmNodes"]):
    """Starts as many nodes of each role as runs need. They read, write and find kernels below `folder`. `words`: further arguments of receivers;
    `environment`: variables of all nodes, besides those of this process."""

    def __init__(self, folder: Path, *words: str, environment: Mapping[str, str] | None = None) -> None:
        self._folder = folder
        self._words = words
        self._environment = {**os.environ, **(environment or {})}
        self._urls: dict[str, list[str]] = {"emulator": [], "receiver": []}
        self.processes: list[int] = []
        self._open = contextlib.ExitStack()

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def url(self, role: str, number: int = 0) -> str:
        """Return the URL of the node of this role and number; the first call starts it."""
        urls = self._urls[role]
        while len(urls) <= number:
            urls.append(self._start(role))
        return urls[number]

    def run(self, file: Path, observer: Observer = unobserved) -> Outcome:
        """Carry out the run of this file on running nodes, in place of local ones."""
        return asyncio.run(Manager(self.plan(file), observer).run())

    def good_run(self, file: Path, observer: Observer = unobserved) -> Outcome:
        """Carry out a run as `run` does. Raise AssertionError with the reasons when it is not good."""
        outcome = self.run(file, observer)
        if not outcome.good:
            raise AssertionError("\n".join((outcome.problem, *outcome.reasons)))
        return outcome

    def plan(self, file: Path) -> Plan:
        """Return the plan of this file with running nodes, in place of local ones. Its output is where the file says."""
        plan = load_plan(file)
        run = plan.file.run
        there = {"output": str((file.parent / run.output).absolute())}
        return dataclasses.replace(
            plan,
            file=plan.file.model_copy(update={"run": run.model_copy(update=there)}),
            emulators=tuple(self._placed(node, number) for number, node in enumerate(plan.emulators)),
            receivers=tuple(self._placed(node, number) for number, node in enumerate(plan.receivers)),
        )

    def _placed(self, node: Node, number: int) -> Node:
        return dataclasses.replace(node, node=self.url(node.role, number)) if node.node == "local" else node

    def _start(self, role: str) -> str:
        folder = str(self._folder)
        command = [sys.executable, "-m", "rashpa.cli.entry", role, "--port", "0", "--with-parent"]
        command += ["--read", folder, "--write", folder, "--card", "sim"]
        command += ["--kernels", folder, *self._words] if role == "receiver" else []
        node = subprocess.Popen(  # noqa: S603  words of this file and of tests
            command, cwd=folder, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._open.callback(_end, node)
        self.processes.append(node.pid)
        line = node.stdout.readline() if node.stdout is not None else b""
        return str(json.loads(line)["url"])


def _end(node: subprocess.Popen[bytes]) -> None:
    """Close the standard input of the node, which ends it, and wait for it."""
    try:
        node.communicate(timeout=_END_S)
    finally:
        node.kill()
        node.wait()
