# SPDX-License-Identifier: Apache-2.0
"""Shows the summary of a run on a terminal, with the same words as its report."""

from collections.abc import Iterable

from rich.text import Text

from rashpa.control.books.run_summary import SummaryLine
from rashpa.data.base.plain_text import ONE_LINE

_STYLES = {"good": "green", "bad": "red"}
_WIDEST = 9


def summary_text(lines: Iterable[SummaryLine]) -> Text:
    """Return the lines as styled text, each after its name."""
    found = Text()
    for line in lines:
        indented = f"\n{' ' * (_WIDEST + 2)}".join(part.translate(ONE_LINE) for part in line.text.splitlines())
        found.append(f"{line.name:<{_WIDEST}}  ", "dim")
        found.append(f"{indented}\n", _STYLES.get(line.mark, ""))
    found.rstrip()
    return found
