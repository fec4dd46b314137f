# SPDX-License-Identifier: Apache-2.0
"""Orders of a page that is closed before they are carried out."""

import asyncio
from pathlib import Path

import pytest
from bokeh.document import Document
from bokeh.server.contexts import BokehSessionContext
from bokeh.server.session import ServerSession
from tornado.ioloop import IOLoop

from rashpa.dashboard.orders import OrdersPanel, Starter


def opened() -> tuple[OrdersPanel, ServerSession, Document]:
    document = Document()
    context = BokehSessionContext("page", None, document)
    document._session_context = lambda: context
    session = ServerSession("page", document, io_loop=IOLoop.current())
    context._set_session(session)
    return (
        OrdersPanel(document, Starter(None, Path(), ""), lambda: None, lambda: True, lambda order: None),
        session,
        document,
    )


@pytest.mark.parametrize("closed", [False, True])
def test_a_page_that_was_closed_is_told_nothing(closed: bool) -> None:
    told: list[str] = []

    async def ordered() -> None:
        panel, session, document = opened()
        asked = asyncio.Event()

        async def work() -> str:
            await asked.wait()
            return "it is paused"

        document.on_change(lambda event: told.append(type(event).__name__))
        panel._do("asked", work)
        (task,) = panel._tasks
        if closed:
            session.destroy()
        asked.set()
        await task  # raises what went wrong

    asyncio.run(ordered())
    assert ("SessionCallbackAdded" in told) is not closed
