# SPDX-License-Identifier: Apache-2.0
"""The manager's client of a node: requests in flight while it is closed."""

import asyncio
import gc
import time
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.telegrams import telegram, telegram_xml
from rashpa.control.telegrams.run_state import TRANSITIONS, RunState
from rashpa.control.telegrams.telegram import Status

pytestmark = pytest.mark.whole

_TURNS = 60  # of the loop; a connection is made, and its request answered, in fewer


@asynccontextmanager
async def slow_node(answer_s: float) -> AsyncIterator[tuple[str, asyncio.Event]]:
    """Run a node that answers everything with an empty object after `answer_s` seconds. Yield its URL, and an event that is set when it was asked."""
    asked = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                asked.set()
                await asyncio.sleep(answer_s)  # wait: so late does it answer
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client, or the test, is over
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked


def test_a_client_closed_at_any_moment_leaves_no_connection_open() -> None:
    async def closed_after(turns: int, url: str) -> None:
        client = NodeClient("it", url)
        asking = asyncio.create_task(client.audit(1))
        for _ in range(turns):
            await asyncio.sleep(0)  # wait: any moment
        await client.close()
        with pytest.raises(RuntimeError, match="has no audit" if turns else "the way to it is closed"):
            await asking

    async def run() -> None:
        async with slow_node(0.002) as (url, _):
            for turns in range(_TURNS):
                await closed_after(turns, url)
                gc.collect()

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", ResourceWarning)
        asyncio.run(run())
        gc.collect()
    assert [str(one.message) for one in found] == []


def test_a_node_that_never_answers_does_not_hold_up_closing() -> None:
    async def run() -> tuple[float, str]:
        async with slow_node(60.0) as (url, asked):
            client = NodeClient("it", url)
            asking = asyncio.create_task(client.audit(1))
            await asked.wait()
            began = time.monotonic()
            await client.close()
            with pytest.raises(NodeError) as raised:
                await asking
            return time.monotonic() - began, str(raised.value)

    took_s, said = asyncio.run(run())
    assert took_s < 20.0, "the node answers after a minute"
    assert "broke the connection" in said


def test_who_gives_up_asking_is_not_waited_for() -> None:
    async def run() -> float:
        async with slow_node(60.0) as (url, asked):
            client = NodeClient("it", url)
            asking = asyncio.create_task(client.audit(1))
            await asked.wait()
            asking.cancel()
            began = time.monotonic()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await client.close()
            return time.monotonic() - began

    assert asyncio.run(run()) < 0.5


class _AtState:
    """A node in a given state, which obeys the table of transitions."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def answer(self, request: httpx.Request) -> httpx.Response:
        order = telegram_xml.decode(request.content)
        name = type(order).__name__
        if name in TRANSITIONS and self._state not in TRANSITIONS[name].sources:
            fault = telegram.Fault(node="it", state=self._state.value, code="state", text=f"it is {self._state}")
            return httpx.Response(409, content=telegram_xml.encode(fault))
        return httpx.Response(
            200, content=telegram_xml.encode(Status(node="it", role="emulator", state=self._state.value))
        )


@pytest.mark.parametrize("state", list(RunState))
@pytest.mark.parametrize("order", [telegram.Pause(), telegram.Resume(), telegram.Stop(), telegram.Trigger()], ids=str)
def test_an_order_to_a_node_that_has_finished_is_no_failure(order: telegram.Telegram, state: RunState) -> None:
    async def give() -> str:
        client = NodeClient("it", "http://it", transport=httpx.MockTransport(_AtState(state).answer))
        try:
            return (await client.order_unless_finished(order)).state
        finally:
            await client.close()

    if state is RunState.finished or state in TRANSITIONS[type(order).__name__].sources:
        assert asyncio.run(give()) == state
    else:
        with pytest.raises(NodeError, match=f"it is {state}"):
            asyncio.run(give())
