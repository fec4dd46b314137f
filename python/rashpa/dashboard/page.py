# SPDX-License-Identifier: Apache-2.0
"""The page that a browser has open."""

import html
import json

from bokeh.document import Document
from bokeh.models import Button, Column, Div, PasswordInput, Row, Spacer

from rashpa.dashboard.curves import Curves
from rashpa.dashboard.image_panel import ImagePanel
from rashpa.dashboard.keys import Keys
from rashpa.dashboard.orders import OrdersPanel, Starter
from rashpa.dashboard.past_runs import PastRuns
from rashpa.dashboard.scene import Scene
from rashpa.dashboard.style import TABLES
from rashpa.dashboard.tables import books_table, latency_table, margins_table, nodes_table, past_table, vetoes_table
from rashpa.dashboard.watch import Watch
from rashpa.data.base.plain_text import BIDIRECTIONAL

_UPDATE_MS = 500
_PAST_EVERY, _CURVES_EVERY = 10, 2  # updates
_SIGNS = {"running": "▶", "paused": "‖", "ended": "■", "in trouble": "✖", "no run": "○"}


class Page:
    """Owns the document of a page; it ends with the session."""

    def __init__(self, doc: Document, watch: Watch, past: PastRuns, keys: Keys, starter: Starter) -> None:
        self._doc, self._watch, self._past, self._keys = doc, watch, past, keys
        self._unlocked = False
        self._updates = 0
        self._curves = Curves()
        self._image = ImagePanel(f"views/{keys.way}")
        self._image.prepare(watch.scene.plan)
        self._texts: dict[str, str] = {}
        self._told = Spacer(name="texts", width=0, height=0)
        self._orders = OrdersPanel(doc, starter, watch.nodes.journal, lambda: self._unlocked)
        self._token = PasswordInput(title="token", name="token", width=220)
        self._unlock = Button(label="Unlock", name="unlock", align="end")
        self._lock_text = _text("lock_text")
        self._unlock.on_click(self._try_token)
        self._orders.root.visible = False
        lock = Column(Row(self._token, self._unlock), self._lock_text, name="lock", sizing_mode="stretch_width")
        roots = [
            self._told,
            *_named(
                {
                    "bars": self._curves.bars.plot,
                    "rates": self._curves.rates.plot,
                    "hits": self._curves.hits.plot,
                    "latency": self._curves.latency.plot,
                }
            ),
            self._image.root,
            self._image.curve,
            self._orders.root,
            lock,
        ]
        for root in roots:
            doc.add_root(root)
        doc.title = "rashpa"
        self._say_lock("")
        self._update()
        doc.add_periodic_callback(self._update, _UPDATE_MS)
        doc.on_session_destroyed(self._end)
        watch.join()

    def _end(self, _context: object) -> None:
        self._watch.leave()

    def _try_token(self) -> None:
        given, self._token.value = self._token.value, ""
        if problem := self._keys.problem_with_order(given):
            self._say_lock(problem)
            return
        self._unlocked = True
        self._say_lock("")

    def _say_lock(self, problem: str) -> None:
        text = "orders may be given from this page" if self._unlocked else "the token for orders is needed to give them"
        self._token.visible = self._unlock.visible = not self._unlocked
        _set(self._lock_text, f"<p class='{'bad' if problem else 'quiet'}'>{html.escape(problem or text)}</p>")

    def _update(self) -> None:
        """Update all parts of the page; Bokeh calls this periodically with the document's lock."""
        scene = self._watch.scene
        self._image.update(scene)
        self._orders.update(scene)
        if self._updates % _CURVES_EVERY == 0:
            self._curves.update(scene, self._watch.course)
        self._texts |= {
            "head": _head(scene),
            "books": books_table(scene),
            "nodes": nodes_table(scene),
            "vetoes": vetoes_table(scene),
            "latency_table": latency_table(scene),
            "margins": margins_table(scene),
        }
        if self._updates % _PAST_EVERY == 0:
            self._texts["past"] = past_table(self._past.newest(), f"reports/{self._keys.way}/")
        told = json.dumps({name: text.translate(BIDIRECTIONAL) for name, text in self._texts.items()})
        if self._told.tags != [told]:
            self._told.tags = [told]  # page.js puts them in their places
        self._updates += 1


def _head(scene: Scene) -> str:
    """Return the name, state and progress of the run as HTML."""
    state = scene.state
    name = scene.plan.file.run.name if scene.plan is not None else "nodes"
    text = f"<span class='state' data-state='{state}'>{_SIGNS.get(state, '…')} {html.escape(name)}: {state}</span>"
    if scene.done is not None and scene.going:
        text += f" <span>{scene.done:.1%} of the images</span><br><progress max='1' value='{scene.done:.4f}' aria-label='part of the images'></progress>"
    if scene.going and not scene.managed:
        text += "<p class='bad'>✖ Its manager is gone; take it over with <code>rashpa attach</code>.</p>"
    if scene.ending is not None:
        sign, mark = ("✔", "") if scene.ending.good else ("✖", "bad")
        lines = "<br>".join(html.escape(line) for line in scene.ending.lines)
        text += f"<p class='{mark}' data-good='{scene.ending.good}'>{sign} As its report says: {scene.ending.text}. {lines}</p>"
    elif state == "ended":
        text += "<p class='quiet'>Below is what its nodes said last; it was run without a report (--output).</p>"
    return text


def _text(name: str) -> Div:
    return Div(text="", stylesheets=[TABLES], name=name, sizing_mode="stretch_width")


def _set(div: Div, text: str) -> None:
    if div.text != (plain := text.translate(BIDIRECTIONAL)):
        div.text = plain


def _named(plots: dict[str, Column]) -> list[Column]:
    for name, plot in plots.items():
        plot.name = name
    return list(plots.values())
