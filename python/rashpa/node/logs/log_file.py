# SPDX-License-Identifier: Apache-2.0
"""Writes a node's log to a file: lines for people, as `rashpa node log` shows them, or one JSON document a line for programs."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from rashpa.control.nodes.log_text import lines_of
from rashpa.node.logs.log import Entry
from rashpa.node.logs.rotating_file import RotatingFile
from rashpa.node.logs.serve_error import ServeError

Format = Literal["text", "json"]


def json_line(entry: Entry) -> str:
    """Format an entry as JSON, without the parts that do not apply."""
    return json.dumps(
        {key: value for key, value in asdict(entry).items() if value not in (None, "")}, ensure_ascii=False
    )


def text_line(entry: Entry) -> str:
    """Format an entry as `rashpa node log` does."""
    return lines_of([asdict(entry)])[0]


def log_into(file: Path, form: Format) -> Callable[[Entry], bool]:
    """Return a function that writes entries into `file`. Raise ServeError when the file cannot be written."""
    try:
        written = RotatingFile(file)
    except OSError as error:
        raise ServeError(f"log file {file}: {error.strerror}; give a file in a folder that can be written to") from None
    line = json_line if form == "json" else text_line
    return lambda entry: written.write(line(entry))
