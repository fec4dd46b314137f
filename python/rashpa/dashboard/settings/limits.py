# SPDX-License-Identifier: Apache-2.0
"""Serves the form for limits of vetoes with the present limits of the run, and receives new limits for the next stack."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rashpa.control.handover.journal import JournalError
from rashpa.control.handover.limits_request import Limits, set_limits
from rashpa.control.orders.limit_values import LimitsError, buffer_families, changing, kernels_with, line_of
from rashpa.control.runfile.kernels import live_keys
from rashpa.control.telegrams.telegram import LimitChange
from rashpa.dashboard.addresses.part_of_page import PartOfPage, check_way, operator_of
from rashpa.dashboard.keys import Keys, Session
from rashpa.dashboard.scene import Scene
from rashpa.dashboard.settings.form import Field, field_of

_DONE, _WRONG = 200, 400
_TEMPLATE = Path(__file__).parent / "limits.html"
_PATIENCE_S = 30.0
_MOST_LINES = 50  # changes that the page shows, the newest


@dataclass(frozen=True)
class VetoForm:
    """Describes the form for one veto of a buffer; both have their names in the run file."""

    buffer: str
    step: str
    fields: tuple[Field, ...]


def vetoes_of(scene: Scene) -> Iterator[VetoForm]:
    """Yield the vetoes of the run with limits that may change, and their present values. A group has one form, because its members share their
    limits."""
    if scene.plan is None or not scene.going:
        return
    changes = changes_by_buffer(scene)
    for family, buffers in buffer_families(scene.plan).items():
        first = max(buffers, key=lambda one: len(changes.get(one.section.name, ())))
        kernels = kernels_with(first, changes.get(first.section.name, ()))
        for step, number in changing(kernels).items():
            fields = tuple(field_of(key, key, kernels[number]) for key in live_keys(kernels[number]))
            yield VetoForm(family, step, fields)


def changes_by_buffer(scene: Scene) -> Mapping[str, tuple[LimitChange, ...]]:
    """Return the changes of limits that nodes have reported, by buffer."""
    told = [node.status.destination for node in scene.nodes if node.status is not None and node.status.destination]
    return {buffer.name: buffer.limits for destination in told for buffer in destination.buffers}


class LimitsForm(PartOfPage):
    """Serves browsers of operators. `scene`: returns the newest scene; `journal`: returns the path of the run's journal; `record`: called with order,
    role and address."""

    def initialize(
        self,
        keys: Keys,
        scene: Callable[[], Scene],
        journal: Callable[[], Path | None],
        record: Callable[[str, str, str], None],
    ) -> None:
        self._keys, self._scene, self._journal, self._record = keys, scene, journal, record

    def _session(self, key: str) -> Session:
        check_way(self._keys, key)
        return operator_of(self)

    def get(self, key: str) -> None:
        self._session(key)
        scene = self._scene()
        lines = [line_of(name, one) for name, all_of in changes_by_buffer(scene).items() for one in all_of]
        self.finish_page(_TEMPLATE, vetoes=list(vetoes_of(scene)), changes=lines[-_MOST_LINES:])

    async def post(self, key: str) -> None:
        session, address = self._session(key), str(self.request.remote_ip)
        buffer, step = self.get_query_argument("buffer", ""), self.get_query_argument("step", "")
        values = {name: self.get_body_argument(name) for name in self.request.body_arguments}
        shown = " ".join(f"{name}={value}" for name, value in values.items())
        self._record(f"limits {buffer} {step} {shown}"[:2000], session.role, address)
        wanted = Limits(step, values, buffer, f"{session.role} at {address}, on the page")
        status = _DONE
        try:
            journal = self._journal()
            if journal is None:
                raise LimitsError("no run file was given; start the dashboard with one")
            said = await asyncio.to_thread(set_limits, journal, wanted, _PATIENCE_S)
        except (LimitsError, JournalError, OSError) as error:
            said, status = str(error), _WRONG
        self.finish_text(status, said)
