# SPDX-License-Identifier: Apache-2.0
"""The bounds of TOML text are found where they are, and nowhere else."""

import pytest

from rashpa.control.runfile.reading.toml_bounds import DEEPEST, beyond_bounds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a = " + "[" * DEEPEST + "]" * DEEPEST,
        ".".join("a" * DEEPEST) + " = 1",
        "a = [" + "[1.5], " * 1000 + "]",
        "a = 1\n" * 1000 + "[b]\n" * 1000,
        'a = "' + "[" * 1000 + '"',
        "a = '" + "." * 1000 + "'",
        'a = """' + "[\n" * 1000 + '\\""" ""]"""',
        "a = '''" + "''[" * 1000 + "'''",
        "# " + "[" * 1000,
        '"' + "[" * 1000,  # no TOML: the parser's business
    ],
)
def test_what_lies_within_bounds_or_in_strings_passes(text: str) -> None:
    assert beyond_bounds(text) is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = 1\nb = " + "[" * (DEEPEST + 1), 2),
        ("a = " + "{a = " * (DEEPEST + 1), 1),
        ("a = " + "{a=[" * DEEPEST, 1),
        ("\n\n" + ".".join("a" * (DEEPEST + 2)) + " = 1", 3),
        ("[" + " . ".join("a" * (DEEPEST + 2)) + "]", 1),
        ('a = "[\\"["\nb = ' + "[" * 100_000, 2),
    ],
)
def test_what_lies_deeper_is_found_with_its_line(text: str, line: int) -> None:
    found = beyond_bounds(text)
    assert found is not None
    assert found[0] == line
