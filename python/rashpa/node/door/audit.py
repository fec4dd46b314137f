# SPDX-License-Identifier: Apache-2.0
"""Keeps the audit of a node: the newest orders with sender, time and answer, and refused requests, in memory and, on request, in a file. It never
stores a token, an owner's secret or a body. For a body it stores length and SHA-256, which identify it."""

import hashlib
import json
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Fault, Status, Telegram
from rashpa.node.logs.rotating_file import RotatingFile
from rashpa.node.logs.serve_error import ServeError

MOST = 1000
"""Records that are kept; the oldest go."""
AGAIN_S = 60.0  # how often the same refusal of the same peer is recorded, with its count
_MOST_PEERS = 256
_FILE_MODE = 0o600
_LONGEST = 300  # characters of a text
_QUESTIONS = (telegram.GetStatus, telegram.GetCapabilities)


@dataclass(frozen=True)
class Record:
    """Holds an order with its answer, or a refused request. `peer`: the sender's address. `holder`: the owner of the node, as text for people;
    `owner`: True when that owner sent the order. `answer`: the name of the answering telegram; `code` and `text`: those of a Fault; `status`: the
    HTTP status. `times`: the number of equal refusals since their last record."""

    time: str  # UTC
    peer: str
    order: str  # telegram; of a refused request the path of its URL
    answer: str
    status: int
    code: str = ""
    text: str = ""
    state: str = ""
    run: str = ""
    forced: bool = False
    holder: str = ""
    owner: bool = False
    bytes: int = 0
    sha256: str = ""
    times: int = 1


class Audit:
    """Records orders; only the event loop's thread may call it. `copy` gets every record, for a file. Requests for status and capabilities change
    nothing and are not recorded."""

    def __init__(
        self, copy: Callable[[Record], object] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._copy = copy
        self._clock = clock
        self._records: deque[Record] = deque(maxlen=MOST)
        self._refused: dict[tuple[str, str, int], tuple[float, int]] = {}  # when it was recorded, how many came since

    def newest(self, count: int) -> list[dict[str, object]]:
        """Return at most `count` records, the oldest first."""
        return [asdict(record) for record in list(self._records)[-count:]]

    def answered(
        self, peer: str, order: Telegram, body: bytes, answer: Telegram, status: int, holder: str, owner: bool
    ) -> None:
        """Record a valid telegram and its answer."""
        if isinstance(order, _QUESTIONS):
            return
        fault = answer if isinstance(answer, Fault) else None
        self._add(
            Record(
                time=_now(),
                peer=peer,
                order=type(order).__name__,
                answer=type(answer).__name__,
                status=status,
                code=fault.code if fault else "",
                text=fault.text[:_LONGEST] if fault else "",
                state=answer.state if isinstance(answer, Fault | Status) else "",
                run=f"{order.name}, number {order.run}" if isinstance(order, telegram.Configure) else "",
                forced=bool(getattr(order, "force", False)),
                holder=holder,
                owner=owner,
                bytes=len(body),
                sha256=hashlib.sha256(body).hexdigest(),
            )
        )

    def refused(self, peer: str, path: str, fault: Fault, status: int) -> None:
        """Record a request that was no telegram, or that its sender had no right to send. `path`: one of the node's own paths, so that a stranger
        cannot choose this text."""
        key, now = (peer, path, status), self._clock()
        since, held_back = self._refused.pop(key, (now - AGAIN_S, 0))
        if now - since < AGAIN_S:
            self._refused[key] = (since, held_back + 1)
            return
        while len(self._refused) >= _MOST_PEERS:
            del self._refused[next(iter(self._refused))]
        self._refused[key] = (now, 0)
        self._add(Record(_now(), peer, path, "Fault", status, fault.code, state=fault.state, times=held_back + 1))

    def _add(self, record: Record) -> None:
        self._records.append(record)
        if self._copy is not None:
            self._copy(record)


def audit_into(file: Path) -> Callable[[Record], bool]:
    """Return a function that writes records into `file`, readable only by its user. Raise ServeError when the file cannot be written."""
    try:
        written = RotatingFile(file, mode=_FILE_MODE)
    except OSError as error:
        raise ServeError(
            f"audit file {file}: {error.strerror}; give a file in a folder that can be written to"
        ) from None
    return lambda record: written.write(json.dumps(asdict(record), ensure_ascii=False))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
