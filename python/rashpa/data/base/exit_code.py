# SPDX-License-Identifier: Apache-2.0
"""Defines the exit codes of all commands. The tables in `--help`, in the reference and in man pages are made from them."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Names an exit code. `meaning` describes it for people; `rashpa.cli.commands` adds the special meaning for a command."""

    GOOD = 0
    FAILED = 1
    BAD_INPUT = 2
    NOT_WHOLE = 3
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        """Return the meaning that all commands share, as text."""
        return _MEANINGS[self]


_MEANINGS = {
    ExitCode.GOOD: "success",
    ExitCode.FAILED: "failure",
    ExitCode.BAD_INPUT: "bad input; nothing was begun",
    ExitCode.NOT_WHOLE: "it came to its end, but part of the result is missing or wrong",
    ExitCode.INTERRUPTED: "Ctrl-C",
}
