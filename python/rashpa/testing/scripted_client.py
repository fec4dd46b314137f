# SPDX-License-Identifier: Apache-2.0
"""Simulates a node without a process: it gives the answers that a test has set, and records its orders."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Capabilities, Configure, Configured, Join, Status, Telegram

HOLDER = "run scripted"
_T = TypeVar("_T", bound=Telegram)
_STATES = {
    "Arm": "armed",
    "Start": "running",
    "Pause": "paused",
    "Resume": "running",
    "Stop": "finished",
    "Abort": "configured",
    "Reset": "idle",
}


class ScriptedClient(NodeClient):
    """Accepts every order except those in `fails`, by name. `status_now`: its next status; `orders`: the names of its orders without GetStatus;
    `configured`: its answer to Configure and Join; `hear`: called with every order. `asked_units`: the units in each request for capabilities.
    `tables`: by the names of table and of buffer or DTP; `said`: the entries of its log; `views`: images by buffer and kind; `viewed`: the requests
    for them. An error in `fails` under the name of a table, under `log` or under a kind of image is the answer to that request."""

    def __init__(self, name: str, role: str, state: str = "running", holder: str = HOLDER, url: str = "") -> None:
        super().__init__(name, url or f"http://{name.replace(' ', '-')}")
        self.status_now = Status(node=name, role=role, state=state, holder=holder)
        self.fails: dict[str, NodeError] = {}
        self.orders: list[str] = []
        self.asked_units: list[tuple[str, ...]] = []
        self.capable = Capabilities(
            node=name,
            role=role,
            software="test",
            processors=1,
            memory_bytes=1 << 30,
            max_dtps=64,
            pixels=(),
            kernels=(),
            sinks=(),
            links=(),
        )
        self.configured: Callable[[Configure | Join], Configured] | None = None
        self.hear: Callable[[Telegram], None] = _unheard
        self.tables: dict[tuple[str, str | int | None], bytes] = {}
        self.said: list[dict[str, Any]] = []
        self.views: dict[tuple[str, str], bytes] = {}
        self.viewed: list[dict[str, str]] = []

    async def _ask(self, message: Telegram, expected: type[_T]) -> _T:
        answer = self._answer(message)
        if not isinstance(answer, expected):
            raise NodeError(self.name, f"{self.name} answers {type(message).__name__} with {answer}", "telegram")
        return answer

    async def log(self, last: int) -> list[dict[str, Any]]:
        self.orders.append("log")
        if (error := self.fails.get("log")) is not None:
            raise error
        return self.said[-last:]

    async def table(self, name: str, *, buffer: str = "", dtp: int | None = None) -> bytes:
        if (error := self.fails.get(name)) is not None:
            raise error
        return self.tables[name, buffer or dtp]

    async def view(self, query: Mapping[str, str]) -> bytes | None:
        self.viewed.append(dict(query))
        if (error := self.fails.get(query["of"])) is not None:
            raise error
        return self.views.get((query["buffer"], query["of"]))

    def _answer(self, message: Telegram) -> Telegram:
        name = type(message).__name__
        if isinstance(message, telegram.GetCapabilities):
            self.asked_units.append(message.units)
            return self.capable
        if not isinstance(message, telegram.GetStatus):
            self.orders.append(name)
            self.hear(message)
        if (error := self.fails.get(name)) is not None:
            raise error
        if isinstance(message, Configure | Join) and self.configured is not None:
            return self.configured(message)
        if isinstance(message, telegram.Claim):
            self.status_now = replace(self.status_now, holder=message.holder)
        elif name in _STATES:
            self.status_now = replace(self.status_now, state=_STATES[name])
        return self.status_now


def silent(name: str) -> NodeError:
    """Return the error of a node that does not answer."""
    return NodeError(name, f"{name} does not answer", lost=True)


def clients_of(nodes: Iterable[tuple[str, str]]) -> dict[str, ScriptedClient]:
    """Return clients by name, for pairs of name and role."""
    return {name: ScriptedClient(name if name == role else f"{role} {name}", role) for name, role in nodes}


def _unheard(order: Telegram) -> None:
    """Ignore the order."""
