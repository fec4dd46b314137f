# SPDX-License-Identifier: Apache-2.0
"""Holds the books of a series that was received from a stream."""

from dataclasses import dataclass, field

from rashpa.data.base.books import MOST_TROUBLES, DataBooks


@dataclass
class Received:
    """Holds the result of a series. `missed`: images that did not come, as gaps in the numbers and the announced total show. `late`: images that came
    after a later one, and are not stored; `repeated`: images that were stored already. `refused`: messages that could not be read; `errored`: images
    of the series among them; `errored_in_gaps`: errored images that `missed` also counts.

    From the sender's books at the end of the run: `never_sent`: images that did not reach the sender; `spoilt`: images that it could not use.
    `files`: the masters. `troubles` are losses, `notes` are remarks.
    """

    series_id: int
    unique_id: str
    started: bool
    ended: bool = False
    images: int = 0
    missed: int = 0
    late: int = 0
    repeated: int = 0
    refused: int = 0
    errored: int = 0
    errored_in_gaps: int = 0
    never_sent: int = 0
    spoilt: int = 0
    troubles: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        lost = self.missed or self.late or self.refused or self.never_sent or self.spoilt
        return self.started and self.ended and not (lost or self.troubles)

    @property
    def books(self) -> DataBooks:
        """Return the books of all images of the series, as far as its messages give their number."""
        missing = self.missed - self.errored_in_gaps + self.never_sent
        errored = self.errored + self.spoilt
        troubles = tuple(f"series {self.series_id}: {text}" for text in self.troubles[:MOST_TROUBLES])
        return DataBooks(self.images + missing + errored, self.images, missing, errored, troubles)

    def trouble(self, text: str) -> None:
        """Store a trouble; only the first ones are kept."""
        if len(self.troubles) < MOST_TROUBLES and text not in self.troubles:
            self.troubles.append(text)

    def note(self, text: str) -> None:
        """Store a note; only the first ones are kept."""
        if len(self.notes) < 4 * MOST_TROUBLES and text not in self.notes:
            self.notes.append(text)
