# SPDX-License-Identifier: Apache-2.0
"""Builds and updates the page that a browser has open."""

import json
from collections.abc import Mapping

from bokeh.document import Document
from bokeh.models import Spacer

from rashpa.dashboard.audit import Audit
from rashpa.dashboard.curves import Curves
from rashpa.dashboard.image_panel import ImagePanel
from rashpa.dashboard.keys import Session
from rashpa.dashboard.orders import OrdersPanel, Starter
from rashpa.dashboard.past.past_runs import PastRuns
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
    """Owns the document of a page, until its Bokeh session ends. `session`: the browser's session, with its rights; `address`: the browser's address;
    `way`: the secret part of addresses that only pages know."""

    def __init__(
        self, doc: Document, watch: Watch, past: PastRuns, way: str, starter: Starter, session: Session, address: str
    ) -> None:
        self._watch, self._past, self._way = watch, past, way
        self._updates = 0
        self._curves = Curves()
        self._image = ImagePanel(way)
        self._told = {name: Spacer(name=name, width=0, height=0) for name in ("texts", "slow_texts")}
        self._tab = Spacer(name="tab", width=0, height=0, tags=[""])  # page.js says which is open
        self._tab.on_change("tags", lambda _name, _before, _now: self._show_tab())
        audit = Audit(starter.reports)
        self._orders = OrdersPanel(
            doc,
            starter,
            lambda: watch.nodes.journal,
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
        for root in (*self._told.values(), self._tab, *named.values(), self._image.curve, self._orders.root):
            doc.add_root(root)
        doc.title = "rashpa"
        # page.js loads itself anew when the server is there again: Bokeh would exchange the models that image.js holds
        doc.config.reconnect_session = doc.config.notify_connection_status = False
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
            self._show_tab()
        board = self._watch.board
        fast = {
            "head": head(scene, self._watch.course),
            "alerts": alerts(scene, board.alarms if board is not None else ()),
            "books": books_table(scene),
            "nodes": nodes_table(scene),
            "vetoes": vetoes_table(scene),
            "latency_table": latency_table(scene),
        }
        self._tell("texts", fast)
        if self._updates % _PAST_EVERY == 0:
            past = past_table(self._past.newest(), f"reports/{self._way}/")
            self._tell("slow_texts", {"past": past, "margins": margins_table(scene)})
        self._updates += 1

    def _show_tab(self) -> None:
        """Update the plots of the tab that the browser names. For another name there are no plots."""
        self._curves.update(next(iter(self._tab.tags), ""), self._watch.scene, self._watch.course)

    def _tell(self, name: str, texts: Mapping[str, str]) -> None:
        """Send texts to page.js, which puts them in their places."""
        told = told_of(texts)
        if self._told[name].tags != [told]:
            self._told[name].tags = [told]


def told_of(texts: Mapping[str, str]) -> str:
    """Return texts by their names as JSON, without characters that change the direction of text."""
    return json.dumps({name: text.translate(BIDIRECTIONAL) for name, text in texts.items()})
