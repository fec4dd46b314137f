# SPDX-License-Identifier: Apache-2.0
"""Checks every request to a node: the right of its sender and the request rate. It records refusals."""

import math

from starlette.requests import Request
from starlette.responses import Response

from rashpa.control.telegrams import telegram_xml
from rashpa.control.telegrams.telegram import Telegram
from rashpa.control.telegrams.telegram_xml import CONTENT_TYPE
from rashpa.node.door.access import Access, AccessError
from rashpa.node.door.audit import Audit
from rashpa.node.door.request_counts import RequestCounts
from rashpa.node.door.request_limits import RequestLimits
from rashpa.node.state.node import Node

TOO_MANY = 429
_TEXT = 2000  # characters of a fault


class Guard:
    """Guards one node; it counts, logs and records refused requests."""

    def __init__(self, node: Node, access: Access, audit: Audit, limits: RequestLimits) -> None:
        self.access = access
        self.audit = audit
        self.counts = RequestCounts()
        self._node = node
        self._limits = limits

    def refusal(self, request: Request) -> Response | None:
        """Return the answer that refuses a request without the right to send it, None when the node may process the request."""
        try:
            self.access.check(request.headers)
        except AccessError as error:
            return self.overrun(request, trusted=False) or self.refused(request, "denied", str(error), error.status)
        if self.access.token:
            trust(request)
        return self.overrun(request, trusted=True)

    def overrun(self, request: Request, *, trusted: bool) -> Response | None:
        """Return the refusing answer to a sender above the rate limit, None otherwise."""
        wait_s = self._limits.wait_s(peer_of(request), trusted)
        if not wait_s:
            return None
        text = f"{peer_of(request)} asks more often than this node answers; wait {wait_s:.2f} s"
        answer = self.refused(request, "denied", text, TOO_MANY)
        answer.headers["retry-after"] = str(math.ceil(wait_s))
        return answer

    def refused(self, request: Request, code: str, text: str, status: int) -> Response:
        """Count, log and record a refused request, which had no effect, and return the refusing answer."""
        fault = self._node.fault(code, f"{self._node.name}: {text}"[:_TEXT])
        self.counts.refused[status] += 1
        self.audit.refused(peer_of(request), request.url.path, fault, status)
        self._node.log.logger.warning(f"a request is refused: HTTP {status}")  # whatever a stranger sends: one entry
        return answer_of(fault, status)


def answer_of(message: Telegram, status: int) -> Response:
    """Return a telegram as an HTTP response."""
    return Response(telegram_xml.encode(message), status, media_type=CONTENT_TYPE)


def peer_of(request: Request) -> str:
    """Return the address of the request's sender."""
    return request.client.host if request.client else ""


def trust(request: Request) -> None:
    """Mark the connection as that of a user with the right to order, so that strangers cannot displace it."""
    visitor = request.scope.get("visitor")
    if visitor is not None:
        visitor.trust()
