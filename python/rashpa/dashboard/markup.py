# SPDX-License-Identifier: Apache-2.0
"""Makes HTML of the page with the Jinja2 macros in browser/tables.html, which escape every text."""

import functools
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_FOLDER = Path(__file__).parent / "browser"


@functools.cache
def _macros() -> Any:
    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return made.get_template("tables.html").module


def html_of(macro: str, *values: Any) -> str:
    """Return the HTML of a macro."""
    return str(getattr(_macros(), macro)(*values)).strip()
