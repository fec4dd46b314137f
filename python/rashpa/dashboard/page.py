# SPDX-License-Identifier: Apache-2.0
"""The page that a browser has open."""

import json
from collections.abc import Mapping

from bokeh.document import Document
from bokeh.models import Spacer

from rashpa.dashboard.audit import Audit
from rashpa.dashboard.curves import Curves
from rashpa.dashboard.image_panel import ImagePanel
from rashpa.dashboard.keys import Session
from rashpa.dashboard.orders import OrdersPanel, Starter
from rashpa.dashboard.past_runs import PastRuns
from rashpa.dashboard.tables import (
    alerts,
    books_table,
    head,
    latency_table,
    margins_table,
    nodes_table,
    past_table,
    vetoes_table,
)
from rashpa.dashboard.watch import Watch
from rashpa.data.base.plain_text import BIDIRECTIONAL

_UPDATE_MS = 500
_PAST_EVERY, _CURVES_EVERY = 10, 2  # updates


class Page:
    """Owns the document of a page; it ends with the session of Bokeh. `session`: of the browser, with its rights; `address`: of the browser; `way`: a part of
    addresses that only pages know."""

    def __init__(
        self, doc: Document, watch: Watch, past: PastRuns, way: str, starter: Starter, session: Session, address: str
    ) -> None:
        self._watch, self._past, self._way = watch, past, way
        self._updates = 0
        self._curves = Curves()
        self._image = ImagePanel(f"views/{way}")
        self._texts: dict[str, str] = {}
        self._told = Spacer(name="texts", width=0, height=0)
        audit = Audit(starter.reports)
        self._orders = OrdersPanel(
            doc,
            starter,
            watch.nodes.journal,
            lambda: session.may_order,
            lambda order: audit.add(order, session.role, address),
        )
        named = {
            "bars": self._curves.bars.plot,
            "rates": self._curves.rates.plot,
            "hits": self._curves.hits.plot,
            "latency": self._curves.latency.plot,
            "image": self._image.plot,
        }
        for name, plot in named.items():
            plot.name = name
        for root in (self._told, *named.values(), self._image.curve, self._orders.root):
            doc.add_root(root)
        doc.title = "rashpa"
        self._update()
        doc.add_periodic_callback(self._update, _UPDATE_MS)
        doc.on_session_destroyed(self._end)
        watch.join()

    def _end(self, _context: object) -> None:
        self._watch.leave()

    def _update(self) -> None:
        """Update all parts of the page; Bokeh calls this periodically with the document's lock."""
        scene = self._watch.scene
        self._image.update(scene)
        self._orders.update(scene)
        if self._updates % _CURVES_EVERY == 0:
            self._curves.update(scene, self._watch.course)
        self._texts |= {
            "head": head(scene, self._watch.course),
            "alerts": alerts(scene, self._watch.board.alarms if self._watch.board is not None else ()),
            "books": books_table(scene),
            "nodes": nodes_table(scene),
            "vetoes": vetoes_table(scene),
            "latency_table": latency_table(scene),
            "margins": margins_table(scene),
        }
        if self._updates % _PAST_EVERY == 0:
            self._texts["past"] = past_table(self._past.newest(), f"reports/{self._way}/")
        told = told_of(self._texts)
        if self._told.tags != [told]:
            self._told.tags = [told]  # page.js puts them in their places
        self._updates += 1


def told_of(texts: Mapping[str, str]) -> str:
    """Return texts by their names as JSON, without marks that turn the direction of text."""
    return json.dumps({name: text.translate(BIDIRECTIONAL) for name, text in texts.items()})
