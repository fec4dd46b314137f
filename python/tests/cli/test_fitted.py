# SPDX-License-Identifier: Apache-2.0
import io

import pytest
from rich.console import Console
from rich.text import Text

from rashpa.cli.fitted import Fitted, print_table

ROWS = [
    ("receiver_of_a_long_name", "running", "1,200", "0", "0", "12.50"),
    ("emulator", "idle", "", "", "0", "3.25"),
]


def table(heads: int = 1) -> Fitted:
    made = Fitted("node", "state", title="nodes", heads=heads)
    for name in ("complete", "partial", "missing", "images/s"):
        made.add_column(name, justify="right")
    for node, state, *numbers in ROWS:
        made.add_row(Text(node), Text(state, "green"), *numbers)
    return made


def shown(width: int, heads: int = 1) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(table(heads))
    return out.getvalue()


@pytest.mark.parametrize("width", [30, 40, 60, 80, 120, 200])
@pytest.mark.parametrize("heads", [1, 2])
def test_each_form_fits_and_has_all_words(width: int, heads: int) -> None:
    text = shown(width, heads)
    assert all(len(line) <= width for line in text.splitlines())
    for word in (
        "receiver_of_a_long_name",
        "running",
        "1,200",
        "emulator",
        "idle",
        "12.50",
        "3.25",
        "complete",
        "images/s",
    ):
        assert word in text
    assert "…" not in text


def test_columns_of_zeros_go_first_and_are_named() -> None:
    wide, narrow, records = shown(120), shown(70), shown(40)
    assert "partial" in wide
    assert "everywhere" not in wide
    assert "0 everywhere: partial, missing" in narrow
    assert "┃" in narrow
    assert "┃" not in records
    assert "complete 1,200" in records


def test_a_file_gets_rows_of_any_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    out = io.StringIO()
    print_table(Console(file=out, width=30), table())
    assert "missing" in out.getvalue()
    assert "everywhere" not in out.getvalue()
    monkeypatch.setenv("COLUMNS", "30")
    out = io.StringIO()
    print_table(Console(file=out, width=30), table())
    assert all(len(line) <= 30 for line in out.getvalue().splitlines())
