# SPDX-License-Identifier: Apache-2.0
"""Serves the pictures of a calibration."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from rashpa.control.plan.model import Plan
from rashpa.dashboard.addresses.part_of_page import PartOfPage, check_way
from rashpa.dashboard.calibration.maps import CalibrationError, Fact, Shown, shown_calibration
from rashpa.dashboard.keys import Keys

_MOST_MODULE = 10_000
_TEMPLATE = Path(__file__).parent / "maps.html"


class CalibrationMaps(PartOfPage):
    """Serves any browser with the right to look. `plan`: returns the run's plan; `one`: a lock, so that only one module is read at a time."""

    def initialize(self, keys: Keys, plan: Callable[[], Plan | None], one: asyncio.Lock) -> None:
        self._keys, self._plan, self._one = keys, plan, one

    async def get(self, key: str) -> None:
        check_way(self._keys, key)
        asked = self.get_query_argument("module", "0")
        plan = self._plan()
        problem, facts, pictures = "", list[Fact](), list[Shown]()
        try:
            if plan is None:
                raise CalibrationError("the page was started without a run file")
            if not (asked.isdecimal() and len(asked) <= 4 and int(asked) < _MOST_MODULE):
                raise CalibrationError("there is no such module")
            async with self._one:
                facts, pictures = await asyncio.to_thread(shown_calibration, plan, int(asked), datetime.now(UTC))
        except CalibrationError as error:
            problem = str(error)
        self.finish_page(_TEMPLATE, problem=problem, facts=facts, pictures=pictures)
