# SPDX-License-Identifier: Apache-2.0
"""Tables with the title on a line of its own, because rich would wrap the title of a narrow table."""

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
