#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the time to plan and to configure a system of many modules and receivers. Its nodes are simulated in other processes: engines without
pixels behind the real HTTP server, parser and XML, on loopback sockets. Prints rows; --json writes them with machine facts.

Usage: planning.py [--modules 1000] [--receivers 100] [--emulators 100] [--fan 1] [--processes 4] [--json OUT.json]
"""

import argparse
import asyncio
import contextlib
import multiprocessing
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import uvicorn

from rashpa.control.books.outcome import Progress
from rashpa.control.capacity.capacity import overloads
from rashpa.control.capacity.limits import limits_of
from rashpa.control.nodes.machine import measured, write_measured
from rashpa.control.orders.plan_telegrams import destination_telegram, source_telegram
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan, plan_run
from rashpa.control.run.manager import Manager
from rashpa.control.telegrams.telegram import Endpoint, Placement
from rashpa.control.telegrams.telegram_xml import decode, encode
from rashpa.node.door.gate import KEEP_S
from rashpa.node.door.server import NodeApp
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory

WIDTH, HEIGHT, GAP = 256, 64, 4
COLUMNS = 10
RATE_HZ = 1000.0
LOOK_S = 1.0  # how often a simulated receiver looks whether it has its end, when nobody says so: hundreds of them share processors


def run_file(modules: int, receivers: int, emulators: int, fan: int, ports: dict[str, int]) -> str:
    """Return the run file. `fan`: the number of receivers for each module. A receiver gets adjacent modules, in rows of ten."""
    lines = ['[run]\nname = "scale"\nframes = 2\n[detector]', f"width = {WIDTH}\nheight = {HEIGHT}\nmodule = ["]
    for number in range(modules):
        y, x = divmod(number, COLUMNS)
        lines.append(f"  {{ x = {x * (WIDTH + GAP)}, y = {y * (HEIGHT + GAP)} }},")
    lines.append(
        f']\n[dataset]\nkind = "pattern"\nmodules = {modules}\nwidth = {WIDTH}\nheight = {HEIGHT}\nframes = 1\n[receiver]\nport = 0'
    )
    for role, count in (("emulator", emulators), ("receiver", receivers)):
        for number in range(count):
            name = f"{role[0]}{number}"
            lines.append(f'[[{role}]]\nname = "{name}"\nnode = "http://127.0.0.1:{ports[name]}"')
    rows = -(-modules // COLUMNS)
    for number in range(receivers):
        first = rows * number // receivers
        count = min(max(1, rows * fan // receivers), rows - first)
        region = [0, first * (HEIGHT + GAP), COLUMNS * (WIDTH + GAP) - GAP, count * (HEIGHT + GAP) - GAP]
        lines.append(f'[[buffer]]\nname = "b{number}"\nreceiver = "r{number}"\nregion = {region}\nslots = 4\nstack = 2')
        lines.append('[[buffer.sink]]\nkind = "null"')
    return "\n".join(lines) + "\n"


class ManyNodes:
    """An ASGI application with one node for each port, which counts the requests to them."""

    def __init__(self, apps: dict[int, Any]) -> None:
        self._apps = apps
        self.requests = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.requests += 1
        await self._apps[scope["server"][1]](scope, receive, send)


def serve(names: dict[str, str], line: Connection) -> None:
    """Run nodes in a process until `line` is closed: send their ports, and on request the number of requests. `names`: the nodes with their roles."""
    sockets = {name: socket.create_server(("127.0.0.1", 0), backlog=256) for name in names}
    ports = {name: one.getsockname()[1] for name, one in sockets.items()}
    nodes = ManyNodes(
        {
            ports[name]: NodeApp(
                Node(f"{role} {name}", role, FakeFactory(role, look_s=LOOK_S)), "simulated"
            ).starlette()
            for name, role in names.items()
        }
    )
    server = uvicorn.Server(
        uvicorn.Config(
            nodes, log_level="error", access_log=False, lifespan="off", ws="none", timeout_keep_alive=int(KEEP_S)
        )
    )

    async def run() -> None:
        # each node that runs waits for its engine in a thread, as it would in a process of its own
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2 * len(names) + 8))
        await server.serve(sockets=list(sockets.values()))

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    line.send(ports)
    with contextlib.suppress(EOFError):
        while True:
            line.recv()
            line.send(nodes.requests)
    server.should_exit = True
    thread.join(30)


class Nodes:
    """Holds all nodes, in several processes. `ports`: by the node's name."""

    def __init__(self, names: dict[str, str], processes: int) -> None:
        self.ports: dict[str, int] = {}
        self._lines: list[Connection] = []
        self._processes = []
        context = multiprocessing.get_context("spawn")
        for first in range(processes):
            line, theirs = context.Pipe()
            part = dict(list(names.items())[first::processes])
            self._processes.append(context.Process(target=serve, args=(part, theirs), daemon=True))
            self._processes[-1].start()
            theirs.close()
            self._lines.append(line)
        for line in self._lines:
            self.ports |= line.recv()

    @property
    def requests(self) -> int:
        """Return the number of requests to all nodes."""
        for line in self._lines:
            line.send(None)
        return sum(line.recv() for line in self._lines)

    def close(self) -> None:
        for line in self._lines:
            line.close()
        for process in self._processes:
            process.join(30)


class Rows:
    """Holds the measured rows."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def add(self, what: str, value: float, unit: str) -> None:
        self.rows.append({"what": what, "value": round(value, 4), "unit": unit})
        print(f"{what:55} {value:12,.3f} {unit}", flush=True)

    @contextlib.contextmanager
    def timed(self, what: str) -> Iterator[None]:
        began = time.process_time()
        yield
        self.add(what, time.process_time() - began, "s of a core")


def measure_telegrams(plan: Plan, rows: Rows) -> None:
    place = Placement(
        pixels_offset=0,
        slot_bytes=4096,
        slots=4,
        first_line_offset=0,
        pitch=64,
        line_bytes=64,
        lines=8,
        records_offset=65536,
    )
    ends = {
        dtp.id: (Endpoint(address="127.0.0.1", port=4791, qpn=dtp.id, rkey=1, credit_offset=0), place)
        for dtp in plan.dtps
    }
    with rows.timed("telegrams Configure made"):
        orders = [destination_telegram(plan, one) for one in plan.receivers]
        orders += [source_telegram(plan, one, ends) for one in plan.emulators]
    with rows.timed("written as XML, validated"):
        documents = [encode(order) for order in orders]
    with rows.timed("read and validated"):
        found = [decode(one) for one in documents]
    if found != orders:
        raise AssertionError("telegrams do not come back as they were")
    rows.add("telegrams Configure", len(orders), "telegrams")
    rows.add("bytes of them", sum(map(len, documents)) / 1e6, "MB")


def measure_refusal(plan: Plan, rows: Rows) -> None:
    """Measure the refusal of the same system at a rate for which all links of all nodes are a tenth too slow."""
    file = plan.file
    detector = file.detector.model_copy(update={"rate_hz": RATE_HZ})
    plan = plan_run(file.model_copy(update={"detector": detector}), plan.source)
    needed = {
        node: limit.needed or 0.0 for limit in limits_of(plan, {}) if limit.kind == "link" for node in limit.nodes
    }
    nodes = {
        node.name: FakeFactory(node.role, int(0.9 * needed[node.name])).capabilities(node.name) for node in plan.nodes
    }
    with rows.timed("refused, and what fits is proposed"):
        lines = overloads(plan, nodes)
    rows.add("limits that it breaks", len(lines) - 1, "limits")


def measure_run(plan: Plan, nodes: Nodes, rows: Rows) -> None:
    """Measure a run of two frames by the real manager."""
    phases: dict[str, float] = {}

    def observe(progress: Progress) -> None:
        phases.setdefault(progress.phase, time.perf_counter())

    began, worked = time.perf_counter(), time.process_time()
    outcome = asyncio.run(Manager(plan, observe).run())
    took, worked = time.perf_counter() - began, time.process_time() - worked
    if outcome.problem or not outcome.balanced:
        raise AssertionError(outcome.problem or "the books do not balance")
    names = [*phases, "end"]
    times = [*phases.values(), began + took]
    for name, first, last in zip(names[:-1], times[:-1], times[1:], strict=True):
        if name != "done":
            rows.add(f"run: {name}", last - first, "s")
    configuring = next(name for name in names if name.startswith("configuring the receiver"))
    configured = phases["running"] - phases[configuring]
    orders = 2 * len(plan.nodes)  # Configure and Arm
    rows.add("configured: Configure and Arm of all nodes", configured, "s")
    rows.add("telegrams a second while configuring", orders / configured, "telegrams/s")
    rows.add("requests of the whole run", nodes.requests, "requests")
    rows.add("the whole run", took, "s")
    rows.add("the manager's part of it", worked, "s of a core")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    for name, default in (("modules", 1000), ("receivers", 100), ("emulators", 100), ("fan", 1), ("processes", 4)):
        options.add_argument(f"--{name}", type=int, default=default)
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    rows = Rows()
    roles = {f"e{n}": "emulator" for n in range(chosen.emulators)} | {
        f"r{n}": "receiver" for n in range(chosen.receivers)
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.closing(Nodes(roles, min(chosen.processes, len(roles)))) as nodes,
    ):
        path = Path(folder) / "scale.toml"
        path.write_text(run_file(chosen.modules, chosen.receivers, chosen.emulators, chosen.fan, nodes.ports))
        with rows.timed("read and planned"):
            plan = load_plan(path)
        rows.add("DTPs", len(plan.dtps), "DTPs")
        with rows.timed("limits of links, units and memory"):
            limits_of(plan, {})
        measure_refusal(plan, rows)
        measure_telegrams(plan, rows)
        measure_run(plan, nodes, rows)
    if chosen.json:
        name = f"planning {chosen.modules} modules, {chosen.emulators} emulators, {chosen.receivers} receivers, each module to {chosen.fan}"
        write_measured(chosen.json, measured(name, rows.rows))


if __name__ == "__main__":
    main()
