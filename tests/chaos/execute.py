# SPDX-License-Identifier: Apache-2.0
"""Carries out one plan: nodes, the run, its disturbance, and a bounded wait for its end."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.disturb import RASHPA, Disturber
from tests.chaos.facts import Facts
from tests.chaos.plan import Plan
from tests.chaos.processes import MARK, crowding, dump, end_all, marked, parent_of, wait_until
from tests.chaos.run_file import names_of, write_run_file

from rashpa.testing.prepared import within


@dataclass
class Stage:
    """Holds folders and environment of a run. `mark`: a text in the environment of every process."""

    plan: Plan
    folder: Path
    output: Path
    mark: str
    shared: Path  # what the run's processes have as /dev/shm
    prefix: tuple[str, ...] = ()  # before every command
    environment: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    urls: dict[str, str] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)

    def start_nodes(self) -> list[str]:
        """Start the nodes that the plan needs beforehand and that do not run yet; return the faults."""
        wanted = {"local": (), "mixed": names_of(self.plan), "url": ("emulator", *names_of(self.plan))}
        problems = []
        for name in wanted[self.plan.nodes]:
            if name in self.nodes and self.nodes[name].poll() is None:
                self.nodes[name].send_signal(signal.SIGCONT)  # a plan may have stopped it for good
                continue
            role = "emulator" if name == "emulator" else "receiver"
            if name in self.nodes:  # one that has ended
                _close(self.nodes[name])
            with (self.folder / f"{name}.log").open("ab") as log:
                node = subprocess.Popen(
                    [*self.prefix, str(RASHPA), role, "--name", name, "--port", "0"],
                    cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=log,
                )  # fmt: skip
            self.nodes[name] = node
            assert node.stdout is not None
            line = node.stdout.readline()
            try:
                self.urls[name] = str(json.loads(line)["url"])
            except (ValueError, KeyError):
                problems.append(f"node {name} did not start; it said {line!r}, see {name}.log")
        return problems

    def end_nodes(self, within_s: float = 20.0) -> list[str]:
        """Ask running nodes to end, as an administrator does; return those that do not end."""
        for node in self.nodes.values():
            if node.poll() is None:
                node.send_signal(signal.SIGCONT)
                node.terminate()
        late = [
            name
            for name, node in self.nodes.items()
            if not wait_until(lambda node=node: node.poll() is not None, within_s)  # type: ignore[misc]
        ]
        for node in self.nodes.values():
            _close(node)
        return [f"node {name} did not end within {within_s:g} s of SIGTERM" for name in late]


def _close(node: "subprocess.Popen[bytes]") -> None:
    if node.stdout is not None:
        node.stdout.close()


def make_stage(plan: Plan, folder: Path) -> Stage:
    """Make new folders and find free ports."""
    folder.mkdir(parents=True)
    output = folder / "data"
    output.mkdir()
    mark = f"{os.getpid()}-{plan.seed}-{plan.number}-{secrets.token_hex(4)}"
    environment = {**os.environ, MARK: mark, "COLUMNS": "240", "PYTHONUNBUFFERED": "1", "TERM": "dumb"}
    environment.pop("RASHPA_TOKEN", None)
    if plan.nodes != "local":
        environment["RASHPA_TOKEN"] = secrets.token_hex(16)
    shared, prefix = own_shared_memory(folder)
    stage = Stage(plan, folder, output, mark, shared, prefix, environment)
    if plan.fixed_port:
        for name in names_of(plan):
            stage.ports[name] = free_ports(plan.link_threads)
    return stage


def free_ports(count: int) -> int:
    """Return the first of `count` consecutive free UDP ports; another program may take them before they are used."""
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            first = int(probe.getsockname()[1])
        if first + count < 65536 and all(port_is_free(port) for port in range(first, first + count)):
            return first


def port_is_free(port: int) -> bool:
    """Return True when the UDP port is free."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def carry_through(stage: Stage, plan: Plan, existing: str, number: int) -> Facts:
    """Carry out one `rashpa run` of the stage's plan, or of a plan that differs only in values that may differ between runs."""
    folder = stage.folder
    file = write_run_file(plan, folder, stage.output, stage.urls, stage.ports, existing, number)
    report, log = folder / "report", folder / f"run{number}.log"
    (report / "report.json").unlink(missing_ok=True)
    command = [*stage.prefix, str(RASHPA), "run", str(file), "--output", str(report)]
    if plan.disturbance.kind == "none":
        command.append("--no-page")  # a page is made, and must be, of what a disturbed run has left
    disturber = Disturber(plan, stage.mark, stage.output, folder, stage.prefix, stage.environment)
    environment = stage.environment | disturber.environment()
    began = time.monotonic()
    with log.open("wb") as said:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=said, stderr=subprocess.STDOUT)
    worker = threading.Thread(target=disturber.disturb, args=(process,))
    worker.start()
    bound_s = plan.bound_s * crowding()
    hung = not wait_until(lambda: process.poll() is not None, bound_s)
    seconds = time.monotonic() - began
    problems = []
    if hung:
        (folder / "hang.txt").write_text(dump(stage.mark), encoding="utf-8")
        problems.append(f"hang: no end within {bound_s:.0f} s; hang.txt has what each thread did")
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()
    worker.join()
    problems += disturber.problems
    return Facts(
        folder=folder,
        output=stage.output,
        exit=None if hung else process.returncode,
        seconds=seconds,
        said=log.read_text(encoding="utf-8", errors="replace"),
        frames=plan.frames,
        effective=disturber.effective,
        early=disturber.early,
        struck=tuple(disturber.struck),
        joined=disturber.joined,
        problems=problems,
    )


def leftovers(stage: Stage) -> list[str]:
    """Return the processes and files that a finished run left behind. Nodes that stay up do not count, nor do their own children."""
    own = {node.pid for node in stage.nodes.values()}

    def remaining() -> list[int]:
        return [process for process in marked(stage.mark) if not {process, parent_of(process)} & own]

    problems = []
    if not wait_until(lambda: not remaining(), 25.0):
        (stage.folder / "left.txt").write_text(dump(stage.mark), encoding="utf-8")
        problems += [f"process left: {text}" for text in end_all(stage.mark)]
    names = sorted(path.name for path in stage.shared.iterdir()) if stage.prefix else []
    if names:
        problems.append(f"in /dev/shm: {', '.join(names)}")
    for name, port in stage.ports.items():
        span = range(port, port + stage.plan.link_threads)
        if name not in stage.nodes and not all(port_is_free(one) for one in span):
            problems.append(f"a UDP port from {port} on is still in use")
    return problems


def own_shared_memory(folder: Path) -> tuple[Path, tuple[str, ...]]:
    """Return a folder that the run's processes see as /dev/shm, so that all files in it are theirs, and the command for it; an empty command where
    that is not allowed."""
    shared = folder / "shm"
    shared.mkdir()
    prefix = (sys.executable, "-P", "-m", within.__name__, "--shared-memory", str(shared), "--")
    allowed = subprocess.run([*prefix, "true"], check=False, capture_output=True).returncode == 0
    return shared, prefix if allowed else ()
