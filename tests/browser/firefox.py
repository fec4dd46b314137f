# SPDX-License-Identifier: Apache-2.0
"""Drives Debian's Firefox by WebDriver BiDi, which it supports directly. Playwright only drives its own build of Firefox, which Debian does not
package."""

import asyncio
import itertools
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tornado.websocket import WebSocketClientConnection, websocket_connect

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
_LISTENS = re.compile(r"WebDriver BiDi listening on (ws://[^\s]+)")
_MOST_BYTES = 64 << 20


class Firefox:
    """Holds one page in a Firefox. `errors`: the messages of level error in its console."""

    def __init__(self, url: str, patience_s: float) -> None:
        self.errors: list[str] = []
        self._loop = asyncio.new_event_loop()  # in a thread of its own: Playwright has one in this thread
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._patience_s = patience_s
        self._numbers = itertools.count(1)
        self._socket = self._run(self._connected(f"{url}/session"))
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded"])
        self._page = self.ask("browsingContext.getTree")["contexts"][0]["context"]

    async def _connected(self, url: str) -> WebSocketClientConnection:
        return await websocket_connect(url, max_message_size=_MOST_BYTES)

    async def _closed(self) -> None:
        """Close the socket from this side, too; otherwise a later test gets the warning that it is open."""
        self._socket.close()

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(self._patience_s)

    def ask(self, method: str, **said: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        return dict(self._run(self._answer(next(self._numbers), method, said)))

    async def _answer(self, number: int, method: str, said: dict[str, Any]) -> dict[str, Any]:
        await self._socket.write_message(json.dumps({"id": number, "method": method, "params": said}))
        while True:
            text = await self._socket.read_message()
            assert text is not None, "Firefox has ended"
            heard = json.loads(text)
            if heard.get("method") == "log.entryAdded" and heard["params"]["level"] == "error":
                self.errors.append(str(heard["params"]["text"]))
            if heard.get("id") == number:
                assert heard["type"] == "success", heard
                return dict(heard["result"])

    def goto(self, url: str) -> None:
        self.ask("browsingContext.navigate", context=self._page, url=url, wait="complete")

    def until(self, true: str) -> None:
        """Wait in the page until an expression of JavaScript is true."""
        wait = f"new Promise((then) => {{ const look = () => ({true}) ? then(true) : setTimeout(look, 50); look() }})"
        self.value(wait)

    def value(self, expression: str) -> Any:
        """Return a number, text or truth value of the page."""
        target = {"context": self._page}
        found = self.ask("script.evaluate", expression=expression, target=target, awaitPromise=True)
        assert found["type"] == "success", found
        return found["result"].get("value")

    def click(self, selector: str) -> None:
        """Press the mouse on the middle of an element."""
        box = self.value(
            f"(() => {{ const one = document.querySelector({json.dumps(selector)}); one.scrollIntoView({{ block: 'nearest' }}); const box = one.getBoundingClientRect();"
            " return `${Math.round(box.x + box.width / 2)} ${Math.round(box.y + box.height / 2)}` })()"
        )
        x, y = (int(part) for part in box.split())
        mouse = [{"type": "pointerMove", "x": x, "y": y}, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]  # fmt: skip
        self.ask(
            "input.performActions", context=self._page, actions=[{"type": "pointer", "id": "mouse", "actions": mouse}]
        )

    def close(self) -> None:
        self.ask("browser.close")
        self._run(self._closed())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextmanager
def opened(folder: Path, patience_s: float) -> Iterator[Firefox]:
    """Run a headless Firefox with a new profile in `folder` during the context."""
    assert FIREFOX is not None
    command = [FIREFOX, "--headless", "--no-remote", "--profile", str(folder), "--remote-debugging-port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={"HOME": str(folder), "MOZ_HEADLESS_WIDTH": "1280", "MOZ_HEADLESS_HEIGHT": "800"}
    )  # fmt: skip
    try:
        assert process.stderr is not None
        found = next(match for line in process.stderr if (match := _LISTENS.search(line)))
        firefox = Firefox(found[1], patience_s)
        yield firefox
        firefox.close()
    finally:
        process.kill()
        process.communicate()
