# SPDX-License-Identifier: Apache-2.0
"""`rashpa trigger URL …`: triggers emulators that wait for software triggers."""

import asyncio
from typing import Annotated

import typer

from rashpa.cli.teller import AsJson, Teller
from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.nodes.node_url import NodeUrlError, node_url
from rashpa.control.runfile.token import TokenError, token_of_environment
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Status
from rashpa.data.base.exit_code import ExitCode


def trigger(
    urls: Annotated[
        list[str], typer.Argument(help="The emulators of one detector, as they printed it.", show_default=False)
    ],
    frames: Annotated[int, typer.Option(min=1, max=2**40, help="Frames to be taken, at the detector's rate.")] = 1,
    authority: Annotated[
        str, typer.Option(help="Certificate file that nodes are checked against; the system's when not given.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Trigger emulators of a run with detector.trigger = "software": all at the same time, as far as the network allows.

    An emulator that still sends frames of the previous trigger refuses the new one and counts it; the exit status is then 1. The bearer token is
    taken from the environment's RASHPA_TOKEN.
    """
    tell = Teller("trigger", as_json)
    try:
        answers = asyncio.run(_trigger([node_url(url) for url in urls], frames, token_of_environment(), authority))
    except (NodeUrlError, TokenError) as error:
        tell.refuse(str(error))
    said, emulators = [], []
    for url, answer in zip(urls, answers, strict=True):
        if isinstance(answer, Status):
            counts = telegram.count_of(answer.source.counts, "trigger") if answer.source else {}
            triggers, taken = counts.get("accepted", 0), counts.get("frames", 0)
            said.append(f"{answer.node}: {triggers} triggers, {taken} frames")
            emulators.append({"url": url, "problem": "", "triggers": triggers, "frames": taken})
        else:
            emulators.append({"url": url, "problem": str(answer), "triggers": None, "frames": None})
            tell.complain(f"{url}: {answer}")
    tell.answer("\n".join(said), emulators=emulators)
    if not all(isinstance(answer, Status) for answer in answers):
        raise typer.Exit(ExitCode.FAILED)


async def _trigger(urls: list[str], frames: int, token: str, authority: str) -> list[Status | NodeError]:
    async def one(url: str) -> Status | NodeError:
        client = NodeClient("the emulator", url, token, authority)
        try:
            return await client.order(telegram.Trigger(frames=frames))
        except NodeError as error:
            return error
        finally:
            await client.close()

    return await asyncio.gather(*(one(url) for url in urls))
