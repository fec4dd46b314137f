# SPDX-License-Identifier: Apache-2.0
"""Displays runs and images in a Jupyter notebook."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.figures import picture
from rashpa.data.figures.image_values import unit_of

if TYPE_CHECKING:
    from jinja2 import Template

    from rashpa.data.stored.reader import Run

_SIDE = 400  # values of a picture's longer side, at most
_BOOKS = (
    "<p><b>{{ title }}</b></p>{% for line in lines %}<p>{{ line }}</p>{% endfor %}"
    "<table><tr><th></th>{% for column in columns %}<th>{{ column }}</th>{% endfor %}</tr>"
    "{% for name in names %}<tr><td>{{ name }}</td>"
    "{% for column in columns.values() %}<td>{{ '{:,}'.format(column[name]) }}</td>{% endfor %}</tr>{% endfor %}</table>"
)
_FIGURE = (
    '<figure><img alt="{{ text }}" src="data:image/png;base64,{{ data }}"><figcaption>{{ text }}</figcaption></figure>'
)


def image_html(pixels: NDArray[Any], text: str) -> str:
    """Return HTML with the pixels [row][column] in colours, and a description."""
    return _figure(picture.reduced(pixels.astype(np.float64), _SIDE, unit_of(pixels.dtype.kind)), text)


def run_html(run: Run) -> str:
    """Return a stored run as HTML: its books, and the image with the highest count of the pipeline."""
    shown = picture.brightest(run, _SIDE)
    rows, columns = run.shape
    title = f"{run.path.name}: {len(run):,} images of {columns} × {rows} {run.dtype.name}"
    return books_html(title, {"images": run.books}) + ("" if shown is None else _figure(shown.picture, shown.text))


def books_html(title: str, columns: Mapping[str, Mapping[str, int]], lines: Iterable[str] = ()) -> str:
    """Return the books of images as an HTML table, one column for each entry of `columns`, and further lines."""
    names = list(next(iter(columns.values()), {}))
    return _template(_BOOKS).render(title=title, columns=columns, names=names, lines=[line for line in lines if line])


def _figure(drawn: picture.Picture, text: str) -> str:
    return _template(_FIGURE).render(text=text, data=base64.b64encode(drawn.png()).decode("ascii"))


@cache
def _template(text: str) -> Template:
    """Return a template that escapes every text. Jinja2 is imported only when a notebook asks for HTML."""
    from jinja2 import Environment, StrictUndefined

    return Environment(autoescape=True, undefined=StrictUndefined).from_string(text)
