# SPDX-License-Identifier: Apache-2.0
"""Takes the word of an operator that an alarm is known."""

from tornado.web import HTTPError, RequestHandler

from rashpa.dashboard.alarms import AlarmBoard
from rashpa.dashboard.gate import SESSION
from rashpa.dashboard.keys import Keys, Session

_DONE = 204


class Acknowledging(RequestHandler):
    """Serves one address, which has a part that only pages know, to browsers of operators."""

    def initialize(self, keys: Keys, board: AlarmBoard) -> None:
        self._keys, self._board = keys, board

    def post(self, key: str) -> None:
        if not self._keys.is_way(key):
            raise HTTPError(404)
        session: Session | None = getattr(self.request, SESSION, None)
        if session is None or not session.may_order:
            raise HTTPError(403)
        person, alarm = self.get_body_argument("by", ""), self.get_body_argument("alarm", "")
        if not self._board.acknowledge(alarm, person, str(self.request.remote_ip)):
            raise HTTPError(404)
        self.set_status(_DONE)
