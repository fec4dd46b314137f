# SPDX-License-Identifier: Apache-2.0
"""Receives the acknowledgement of an alarm by an operator."""

from tornado.web import HTTPError, RequestHandler

from rashpa.dashboard.addresses.part_of_page import check_way, operator_of
from rashpa.dashboard.alarms import AlarmBoard
from rashpa.dashboard.keys import Keys

_DONE = 204


class Acknowledging(RequestHandler):
    """Serves one address to browsers of operators; a part of the address is known to pages only."""

    def initialize(self, keys: Keys, board: AlarmBoard) -> None:
        self._keys, self._board = keys, board

    def post(self, key: str) -> None:
        check_way(self._keys, key)
        operator_of(self)
        person, alarm = self.get_body_argument("by", ""), self.get_body_argument("alarm", "")
        if not self._board.acknowledge(alarm, person, str(self.request.remote_ip)):
            raise HTTPError(404)
        self.set_status(_DONE)
