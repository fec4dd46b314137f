# SPDX-License-Identifier: Apache-2.0
"""Checks requests to addresses of the page, and serves parts of the page that browsers fetch when they are opened."""

import functools
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from tornado.web import HTTPError, RequestHandler

from rashpa.dashboard.gate import SESSION
from rashpa.dashboard.keys import Keys, Session
from rashpa.data.base.plain_text import BIDIRECTIONAL


def check_way(keys: Keys, key: str) -> None:
    """Answer 404 unless `key` is the secret part of addresses that only pages know."""
    if not keys.is_way(key):
        raise HTTPError(404)


def operator_of(handler: RequestHandler) -> Session:
    """Return the session of a browser with the right to give orders. Answer 403 to other browsers."""
    session: Session | None = getattr(handler.request, SESSION, None)
    if session is None or not session.may_order:
        raise HTTPError(403)
    return session


@functools.cache
def _template(path: Path) -> Template:
    folder = FileSystemLoader(path.parent)
    return Environment(loader=folder, autoescape=True, undefined=StrictUndefined).get_template(path.name)


class PartOfPage(RequestHandler):
    """Serves a part of the page that browsers fetch when it is opened, and do not cache."""

    def set_default_headers(self) -> None:
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cache-Control", "no-store")

    def finish_page(self, template: Path, **values: Any) -> None:
        """Answer with a filled template."""
        self.finish(_template(template).render(values).translate(BIDIRECTIONAL))

    def finish_text(self, status: int, text: str) -> None:
        """Answer with plain text."""
        self.set_status(status)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(text.translate(BIDIRECTIONAL))
