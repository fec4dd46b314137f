# SPDX-License-Identifier: Apache-2.0
"""Tables whose title is a line of its own: the title of a narrow table would be wrapped."""

from rich.console import Console

from rashpa.cli.fitted import Fitted


class Titled(Fitted):
    """Holds a table and its title."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._heading = title

    def print(self, console: Console) -> None:
        """Print title and table."""
        console.print(self._heading, style="italic", markup=False, highlight=False, soft_wrap=True)
        console.print(self)
