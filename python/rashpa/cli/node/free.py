# SPDX-License-Identifier: Apache-2.0
"""`rashpa free URL`: ends any work of a node, for any owner, so that the node can be used again."""

import asyncio
from typing import Annotated

import typer

from rashpa.cli.teller import AsJson, Teller
from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.nodes.node_url import NodeUrlError, node_url
from rashpa.control.runfile.token import TokenError, token_of_environment
from rashpa.control.telegrams import telegram

_ABORTED = ("configured", "armed", "running", "paused")


def free(
    url: Annotated[str, typer.Argument(help="The node, as it printed it when it started.", show_default=False)],
    authority: Annotated[
        str, typer.Option(help="Certificate file that the node is checked against; the system's when not given.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Free a node: end its run, also one of another owner. Files are completed as by an interrupt.

    A node whose manager has died frees itself after its lease. This command is for a manager that hangs, or that cannot be found. The bearer token is
    taken from the environment's RASHPA_TOKEN.
    """
    tell = Teller("free", as_json)
    try:
        said = asyncio.run(_free(node_url(url), token_of_environment(), authority))
    except (NodeUrlError, TokenError) as error:
        tell.refuse(str(error))
    except NodeError as error:
        tell.fail(str(error))
    tell.answer(said)


async def _free(url: str, token: str, authority: str) -> str:
    client = NodeClient("the node", url, token, authority)
    try:
        status = await client.status()
        if status.state in _ABORTED:
            await client.order(telegram.Abort(force=True))
        await client.order(telegram.Reset(force=True))
    finally:
        await client.close()
    was = f"was {status.state}{f' for {status.holder}' if status.holder else ''}"
    return f"{status.node} {was}, and is free"
