# SPDX-License-Identifier: Apache-2.0
"""The display of runs and images in a Jupyter notebook."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.figures import picture
from rashpa.data.figures.image_values import unit_of

if TYPE_CHECKING:
    from rashpa.data.stored.reader import Run

_SIDE = 400  # values of a picture's longer side, at most


def image_html(pixels: NDArray[Any], text: str) -> str:
    """Return [row][column] in colours, with its description."""
    return _figure(picture.reduced(pixels.astype(np.float64), _SIDE, unit_of(pixels.dtype.kind)), text)


def run_html(run: Run) -> str:
    """Return a stored run: its books, and the image with the highest count of the pipeline."""
    shown = picture.brightest(run, _SIDE)
    rows, columns = run.shape
    title = f"{run.path.name}: {len(run):,} images of {columns} × {rows} {run.dtype.name}"
    return books_html(title, {"images": run.books}) + ("" if shown is None else _figure(shown.picture, shown.text))


def books_html(title: str, columns: Mapping[str, Mapping[str, int]], lines: Iterable[str] = ()) -> str:
    """Return the books of images, a column each, and further lines."""
    books = next(iter(columns.values()), {})
    head = "".join(f"<th>{html.escape(name)}</th>" for name in ("", *columns))
    body = "".join(
        f"<tr><td>{name}</td>{''.join(f'<td>{column[name]:,}</td>' for column in columns.values())}</tr>"
        for name in books
    )
    said = "".join(f"<p>{html.escape(line)}</p>" for line in lines if line)
    return f"<p><b>{html.escape(title)}</b></p>{said}<table><tr>{head}</tr>{body}</table>"


def _figure(drawn: picture.Picture, text: str) -> str:
    data = base64.b64encode(drawn.png()).decode("ascii")
    return f'<figure><img alt="{html.escape(text)}" src="data:image/png;base64,{data}"><figcaption>{html.escape(text)}</figcaption></figure>'
