# SPDX-License-Identifier: Apache-2.0
"""Runs a program of a test, given as text: `python -m rashpa.testing.prepared.program TEXT WORD…`, in place of `python -c TEXT WORD…`, which starts anew."""

import sys
from typing import Any


def main() -> None:
    """Run the text as the main program, which finds the words behind it in `sys.argv`, as behind `-c`."""
    text = sys.argv[1]
    sys.argv[:] = ["-c", *sys.argv[2:]]
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, "<string>", "exec"), names)  # noqa: S102  a text of a test


if __name__ == "__main__":
    main()
