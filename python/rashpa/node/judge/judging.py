# SPDX-License-Identifier: Apache-2.0
"""Serves a judge as a receiver's node, for a sender that gives its own orders, or for one that a manager controls."""

import asyncio
import contextlib
import json
import socket
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import uvicorn

from rashpa.control.nodes.version import software_version
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.run.manager import Manager
from rashpa.node.door.server import NodeApp
from rashpa.node.judge.judge_engine import JudgeFactory
from rashpa.node.state.node import Node

_LOOK_S = 0.05
_RUN = """\
[run]
name = "judged"
frames = 12
output = "."
[detector]
width = 160
height = 48
rate_hz = 200.0
module = [{{ x = 0, y = 0 }}, {{ x = 0, y = 48 }}]
[dataset]
kind = "pattern"
width = 160
height = 48
modules = 2
frames = 5
[[emulator]]
name = "detector"
node = "{emulator}"
{engine}[nodes]
receiver = "{receiver}"
[receiver]
port = 0
[[buffer]]
name = "full"
slots = 4
stack = 1
sink = [{{ kind = "null" }}]
"""


@contextlib.asynccontextmanager
async def served(node: Node, port: int) -> AsyncIterator[str]:
    """Serve the node on this machine's loopback during the context; yield its URL. Raise OSError when the port is in use."""
    app = NodeApp(node, software_version()).starlette()
    config = uvicorn.Config(app, log_level="error", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    taken = _bound(port)
    serving = asyncio.create_task(server.serve([taken]))
    try:
        while not server.started:  # noqa: ASYNC110  (uvicorn has no event for it)
            await asyncio.sleep(_LOOK_S)
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
    finally:
        server.should_exit = True
        with contextlib.suppress(asyncio.CancelledError, SystemExit):
            await serving
        await node.close()
        taken.close()


def _judge_of(factory: JudgeFactory) -> Node:
    return Node("judge", "receiver", factory)


def _bound(port: int) -> socket.socket:
    """Return a socket that listens on this machine's loopback. Raise OSError that names the port."""
    taken = socket.socket()
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind(("127.0.0.1", port))
    except OSError as error:
        taken.close()
        raise OSError(f"port {port}: {error.strerror}; take another") from None
    return taken


async def judge_orders(
    factory: JudgeFactory, port: int, runs: int, patience_s: float, announce: Callable[[str], None]
) -> str:
    """Wait for a sender that gives its own orders, and serve `runs` runs, each from Configure to Reset. `announce` gets the URL when the judge is
    ready. Return the problem as a sentence when no sender comes, otherwise an empty text. A sender that does not send Reset breaks the rule `end`."""
    node = _judge_of(factory)
    async with served(node, port) as url:
        announce(url)
        loop = asyncio.get_running_loop()
        until = loop.time() + patience_s
        seen, news = 0, factory.runs
        while seen < runs:
            await asyncio.sleep(_LOOK_S)
            if factory.runs > news:
                news, until = factory.runs, loop.time() + patience_s
            if factory.runs > seen and node.status().state == "idle":
                seen = factory.runs
            if loop.time() > until:
                break
        if not factory.runs:
            return f"no sender has sent Configure to port {port} within {patience_s:g} s"
        if seen < runs:
            factory.verdicts.fail("end", "the sender has not freed the receiver by Reset")
        return ""


async def judge_node(factory: JudgeFactory, url: str, card: str = "") -> str:
    """Carry out one run from the emulator at `url` to a judge. `card`: the emulator's card that sends, "sim" or a directory; without one, the
    emulator sends by software. Return the manager's problem, empty without one."""
    engine = f'engine = "fpga"\ncard = {json.dumps(card)}\n' if card else ""
    async with served(_judge_of(factory), 0) as receiver:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "judged.toml"
            file.write_text(_RUN.format(emulator=url, engine=engine, receiver=receiver), encoding="utf-8")
            outcome = await Manager(load_plan(file)).run()
    return outcome.problem
