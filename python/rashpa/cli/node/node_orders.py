# SPDX-License-Identifier: Apache-2.0
"""`rashpa node status|abort|reset|log|audit URL`: a user's requests to a node, without a manager."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import typer

from rashpa.cli.teller import AsJson, Teller
from rashpa.control.nodes.log_text import lines_of
from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.nodes.node_url import NodeUrlError, node_url
from rashpa.control.runfile.token import TokenError, token_of_environment
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Status

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Look at a node, or end what it does, without its manager. The bearer token is taken from the environment's RASHPA_TOKEN.",
)

_Url = Annotated[str, typer.Argument(help="The node, as it printed it when it started.", show_default=False)]
_Authority = Annotated[
    str, typer.Option(help="Certificate file that the node is checked against; the system's when not given.")
]
_Said = tuple[str, dict[str, Any]]
"""Words for people, and facts for programs."""
_ABORTABLE = ("configured", "armed", "running", "paused")


@app.command()
def status(url: _Url, authority: _Authority = "", as_json: AsJson = False) -> None:
    """Show the work of a node, its owner, and its progress."""
    _ask("status", url, authority, _status, as_json)


@app.command()
def abort(url: _Url, authority: _Authority = "", as_json: AsJson = False) -> None:
    """End the run of a node at once, for any owner. Files are completed; the counters can be read until `reset`."""
    _ask("abort", url, authority, _abort, as_json)


@app.command()
def reset(url: _Url, authority: _Authority = "", as_json: AsJson = False) -> None:
    """Give back everything that a node has taken, for any owner: it is idle, and free. Files of a run that lasts are completed first."""
    _ask("reset", url, authority, _reset, as_json)


@app.command()
def log(
    url: _Url,
    authority: _Authority = "",
    last: Annotated[int, typer.Option(min=1, max=1000, help="Entries, the newest.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show the log of a node: orders, runs, refusals and faults, with run, buffer, DTP and frame. Times are UTC."""

    async def lines(client: NodeClient) -> _Said:
        entries = await client.log(last)
        return "\n".join(lines_of(entries)) or "nothing yet", {"entries": entries}

    _ask("log", url, authority, lines, as_json)


@app.command()
def audit(
    url: _Url,
    authority: _Authority = "",
    last: Annotated[int, typer.Option(min=1, max=1000, help="Records, the newest.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show each order to a node, its sender, time and answer, and the requests that the node refused. One JSON document a line. Times are UTC."""

    async def lines(client: NodeClient) -> _Said:
        entries = await client.audit(last)
        return "\n".join(map(json.dumps, entries)) or "nothing yet", {"entries": entries}

    _ask("audit", url, authority, lines, as_json)


def _ask(
    name: str, url: str, authority: str, question: Callable[[NodeClient], Awaitable[_Said]], as_json: bool
) -> None:
    async def asked() -> _Said:
        client = NodeClient("the node", url, token_of_environment(), authority)
        try:
            return await question(client)
        finally:
            await client.close()

    tell = Teller(f"node {name}", as_json)
    try:
        node_url(url)
        said, facts = asyncio.run(asked())
    except (NodeUrlError, TokenError) as error:
        tell.refuse(str(error))
    except NodeError as error:
        tell.fail(str(error))
    tell.answer(said, **facts)


async def _status(client: NodeClient) -> _Said:
    found = await client.status()
    return "\n".join([_line_of(found), *_details(found)]), _facts_of(found)


async def _abort(client: NodeClient) -> _Said:
    before = await client.status()
    if before.state not in _ABORTABLE:
        return f"{_line_of(before)}; there is nothing to abort", _facts_of(before)
    after = await client.order(telegram.Abort(force=True))
    return "\n".join([f"{_line_of(before)}; now {after.state}", *_details(after)]), _facts_of(after)


async def _reset(client: NodeClient) -> _Said:
    before = await client.status()
    if before.state in _ABORTABLE:  # so that its files are completed in an order of its own, which has more time
        await client.order(telegram.Abort(force=True))
    after = await client.order(telegram.Reset(force=True))
    return f"{_line_of(before)}; now {after.state}, and free", _facts_of(after)


def _facts_of(found: Status) -> dict[str, Any]:
    return {
        "node": found.node,
        "role": found.role,
        "state": found.state,
        "holder": found.holder,
        "message": found.message,
    }


def _line_of(found: Status) -> str:
    whose = f", for {found.holder}" if found.holder else ""
    said = f": {found.message}" if found.message else ""
    return f"{found.node} is {found.state}{whose}{said}"


def _details(found: Status) -> list[str]:
    lines: list[str] = []
    dtps = found.source.dtps if found.source is not None else ()
    lines += [f"  DTP {dtp.id}: {dtp.images_sent} images sent, {dtp.images_skipped} skipped" for dtp in dtps]
    for buffer in found.destination.buffers if found.destination is not None else ():
        books = buffer.books
        lines.append(
            f"  buffer {buffer.name}: {books.expected} images expected, {books.complete} complete, {books.partial} partial, {books.missing} missing, "
            f"{books.accepted} accepted, {books.vetoed} vetoed, {books.errored} errored, {books.written} written, {buffer.to_write} to write"
        )
    lines += [f"  {notice.what}: {notice.text}" for notice in found.notifications]
    return lines
