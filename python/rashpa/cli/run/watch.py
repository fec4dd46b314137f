# SPDX-License-Identifier: Apache-2.0
"""The common part of `rashpa status` and `rashpa top`: asks the nodes at intervals and shows a live table, a single table, or JSON."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Generic, TypeVar

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from rashpa.cli.completion import nodes_or_run_files
from rashpa.control.handover.journal import SUFFIX, JournalError, find_journal, journal_path
from rashpa.control.handover.runs_here import clients_at, going_on, journals_here
from rashpa.control.nodes.named_nodes import clients_of_plan, clients_of_urls
from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.nodes.node_url import is_node_url
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.runfile.token import TokenError, token_of_environment
from rashpa.data.base.exit_code import ExitCode

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_HERE = ("http://127.0.0.1:4780", "http://127.0.0.1:4781")
_WIDTH = 160  # of a table that goes into a file

Nodes = Annotated[
    list[str] | None,
    typer.Argument(
        help="URLs of nodes, run files (.toml), or output folders of runs. When not given: the runs of this machine, else nodes at its usual ports.",
        show_default=False,
        autocompletion=nodes_or_run_files,
    ),
]
Authority = Annotated[
    str,
    typer.Option(
        help="Certificate file that nodes are checked against; the system's, or a run file's, when not given."
    ),
]
Every = Annotated[float, typer.Option(min=0.1, max=3600.0, help="Seconds between two looks; rates are of that time.")]
Once = Annotated[
    bool, typer.Option("--once", help="Two looks, one table. So it is too where nobody looks at a terminal.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document a look, a line each.")]

View = TypeVar("View", bound="DataclassInstance")


class Watched(Generic[View]):
    """Holds the latest `view` of one node, or the reason why there is none."""

    def __init__(self, client: NodeClient) -> None:
        self.client = client
        self.view: View | None = None
        self.problem = ""

    async def look(self, question: Callable[[NodeClient, View | None], Awaitable[View]]) -> None:
        try:
            self.view = await question(self.client, self.view)
            self.problem = ""
        except NodeError as error:
            self.problem = str(error)

    def document(self) -> dict[str, object]:
        """Return the view for programs, without the status behind it."""
        known = {} if self.view is None or self.problem else asdict(self.view)
        for inner in ("said", "watch"):
            known.pop(inner, None)
        return {"url": self.client.url, "problem": self.problem, **known}


def watch(
    command: str,
    nodes: Sequence[str],
    authority: str,
    every_s: float,
    once: bool,
    as_json: bool,
    question: Callable[[NodeClient, View | None], Awaitable[View]],
    drawn: Callable[[list[Watched[View]]], RenderableType],
    behind: Callable[[list[Watched[View]]], Awaitable[None]] | None = None,
) -> None:
    """Ask the nodes at intervals until interrupted and show the answers. `question` gets the node's last answer; `behind` prints more after a single
    table. Raise typer.Exit."""
    try:
        runs = [] if nodes else [*map(str, journals_here())]
        clients = _clients_of(nodes or runs or _HERE, authority)
        code = asyncio.run(_watch(clients, every_s, once, as_json, question, drawn, behind))
    except (JournalError, NodeError, TokenError, RunFileError, OSError) as error:
        sys.stderr.write(f"rashpa {command}: {error}\n")
        raise typer.Exit(ExitCode.BAD_INPUT) from None
    if code and not nodes and not runs:
        sys.stderr.write(
            f"rashpa {command}: no run of this user goes on at this machine, and no node answers at its usual ports; start a run, or give URLs of nodes\n"
        )
    raise typer.Exit(code)


def _clients_of(named: Sequence[str], authority: str) -> list[NodeClient]:
    token = token_of_environment()
    clients: list[NodeClient] = []
    for one in named:
        if is_node_url(one):
            clients += clients_of_urls([one], token, authority)
        elif one.lower().endswith(".toml"):
            plan = load_plan(Path(one))
            if going_on(plan, journal_path(plan)):
                clients += clients_at(journal_path(plan), token, authority)
            else:
                clients += clients_of_plan(plan, token, authority)
        elif Path(one).exists() or one.endswith(SUFFIX):
            clients += clients_at(find_journal(Path(one)), token, authority)
        else:
            raise TokenError(
                f"{one} is neither a URL of a node nor a run file (.toml) nor the output folder of a run; give for example http://127.0.0.1:4781"
            )
    if not clients and not any(one.lower().endswith(".toml") for one in named):
        raise TokenError(
            f"{', '.join(named)}: the run has no nodes yet, or not any more; ask again, or give URLs of nodes"
        )
    if not clients:
        raise TokenError(
            "the run file names no node by its URL, and its run does not go on at this machine; start it, or give URLs of nodes"
        )
    return clients


async def _watch(
    clients: list[NodeClient],
    every_s: float,
    once: bool,
    as_json: bool,
    question: Callable[[NodeClient, View | None], Awaitable[View]],
    drawn: Callable[[list[Watched[View]]], RenderableType],
    behind: Callable[[list[Watched[View]]], Awaitable[None]] | None,
) -> int:
    nodes: list[Watched[View]] = [Watched(client) for client in clients]
    console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDTH)
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    once = once or not (as_json or console.is_terminal)

    async def look() -> None:
        await asyncio.gather(*(node.look(question) for node in nodes))

    try:
        await look()
        await _wait(ended, every_s)
        if once:
            await look()
            _say_json(nodes) if as_json else console.print(_page(drawn, nodes))
            if behind is not None and not as_json:
                await behind(nodes)
        elif as_json:
            while not ended.is_set():
                await look()
                _say_json(nodes)
                await _wait(ended, every_s)
        else:
            with Live(console=console, auto_refresh=False, screen=True) as live:
                while not ended.is_set():
                    await look()
                    live.update(_page(drawn, nodes), refresh=True)
                    await _wait(ended, every_s)
    finally:
        for client in clients:
            await client.close()
    return ExitCode.FAILED if any(node.problem for node in nodes) else ExitCode.GOOD


def _page(drawn: Callable[[list[Watched[View]]], RenderableType], nodes: list[Watched[View]]) -> Group:
    return Group(drawn(nodes), *(Text(node.problem, "red") for node in nodes if node.problem))


async def _wait(ended: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await ended.wait()


def _say_json(nodes: Sequence[Watched[View]]) -> None:
    when = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    sys.stdout.write(json.dumps({"time": when, "nodes": [node.document() for node in nodes]}) + "\n")
    sys.stdout.flush()
