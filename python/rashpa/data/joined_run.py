# SPDX-License-Identifier: Apache-2.0
"""A run whose images lie in the files of several receivers, as one: each frame once, its best copy, in the order of frames."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rashpa.data.combined import left_out_in, parts_in
from rashpa.data.image_sequence import ImageSequence
from rashpa.data.pixels import Masking
from rashpa.data.reader import Run, open_run
from rashpa.data.run_facts import COMPLETENESS, RunFacts, RunTables
from rashpa.data.run_parts import RunFileError


class JoinedRun:
    """Members of a group. What an image has is asked of the member that has stored it; `members` are the runs themselves."""

    def __init__(self, path: Path, members: Sequence[Run]) -> None:
        """RunFileError when their images are not of one kind."""
        self.path = path
        self.members = tuple(members)
        first = self.members[0]
        for one in self.members:
            if (one.form, one.shape, one.dtype, one.masked) != (first.form, first.shape, first.dtype, first.masked):
                raise RunFileError(
                    f"{path}: {one.path.name} has images of another kind than {first.path.name}; open them by themselves"
                )
        self.form, self.shape, self.dtype = first.form, first.shape, first.dtype
        self.pixel_mask: NDArray[np.uint32] = np.bitwise_or.reduce([one.pixel_mask for one in self.members])
        self.special_values = first.special_values
        self.masked: Masking = first.masked
        self.veto_reasons = first.veto_reasons
        self._absent_in = [one.absent() for one in self.members]
        self._of, self._row = self._chosen()
        self._index = np.concatenate([one.tables.stored_index for one in self.members])[self._flat]
        self._stored = np.flatnonzero(self._index >= 0)
        self.tables = self._joined_tables()
        self.frame_numbers: NDArray[np.uint64] = self.tables.frame_number[self._stored]

    def _chosen(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Of each frame the member and its row: stored before not, reachable, complete, by the order of the members."""
        tables = [one.tables for one in self.members]
        frames = np.concatenate([one.frame_number for one in tables])
        of = np.repeat(np.arange(len(tables)), [len(one.frame_number) for one in tables])
        row = np.concatenate([np.arange(len(one.frame_number)) for one in tables])
        open_ = np.concatenate([one.decision == 0 for one in tables])
        stored = np.concatenate([one.stored_index >= 0 for one in tables])
        partial = np.concatenate([one.completeness == COMPLETENESS.index("partial") for one in tables])
        gone = np.concatenate(
            [
                np.isin(np.arange(len(one.frame_number)), list(absent))
                for one, absent in zip(tables, self._absent_in, strict=True)
            ]
        )
        order = np.lexsort((of, partial, open_, gone, ~stored, frames))
        best = np.ones(len(order), np.bool_)
        best[1:] = np.diff(frames[order]) != 0
        self._flat = order[best]
        return of[self._flat], row[self._flat]

    def _joined_tables(self) -> RunTables:
        names = [one.name for one in fields(RunTables) if one.name not in ("scalars", "stored_index")]
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(one.tables, name) for one in self.members])[self._flat] for name in names
        }
        stored = np.full(len(self._flat), -1, np.int64)
        stored[self._stored] = np.arange(len(self._stored))
        scalars = {
            name: np.concatenate([one.tables.scalars[name] for one in self.members])[self._flat]
            for name in self.members[0].tables.scalars
            if all(name in one.tables.scalars for one in self.members)
        }
        return RunTables(**columns, stored_index=stored, scalars=scalars)

    def _place(self, index: int) -> tuple[Run, int]:
        if not 0 <= index < len(self):
            raise IndexError(f"{self.path.name} leads to {len(self)} images; there is no image {index}")
        row = self._stored[index]
        return self.members[int(self._of[row])], int(self._index[row])

    def __len__(self) -> int:
        """How many frames are stored."""
        return len(self._stored)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the files of all members."""
        for one in self.members:
            one.close()

    def image(self, index: int) -> NDArray[Any]:
        """Stored image `index` [row][column]."""
        run, place = self._place(index)
        return run.image(place)

    def invalid(self, index: int) -> NDArray[np.bool_]:
        """True where stored image `index` holds no measurement."""
        run, place = self._place(index)
        return run.invalid(place)

    def sparse(self, index: int) -> tuple[NDArray[np.uint32], NDArray[Any]]:
        """Pixel indices and values of a sparse image."""
        run, place = self._place(index)
        return run.sparse(place)

    def table(self, name: str, index: int) -> dict[str, NDArray[Any]]:
        """Rows of a table that belong to stored image `index`: an array for each column. KeyError when there is no such table."""
        run, place = self._place(index)
        return run.table(name, place)

    def profile(self, name: str, index: int) -> dict[str, NDArray[np.float64]]:
        """The arrays of a profile for stored image `index`. KeyError when there is no such profile."""
        run, place = self._place(index)
        return run.profile(name, place)

    def images(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Frame number and pixels of each stored image, in order."""
        for index, frame in enumerate(self.frame_numbers.tolist()):
            yield frame, self.image(index)

    @property
    def frames(self) -> ImageSequence[NDArray[Any]]:
        """The stored images, read when asked for."""
        return ImageSequence(self.image, range(len(self)))

    @property
    def peaks(self) -> ImageSequence[NDArray[np.void]]:
        """Of each stored image the peaks that a peak finder has listed, as Run.peaks. KeyError when there was none in the pipeline."""
        known = [one.peaks for one in self.members]
        return ImageSequence(
            lambda index: known[int(self._of[self._stored[index]])][self._place(index)[1]], range(len(self))
        )

    @property
    def facts(self) -> RunFacts:
        """Where the run came from."""
        return self.members[0].facts

    @property
    def books(self) -> dict[str, int]:
        """Counts of frames, each once; `expected` those that the members know."""
        counts = {name: int(np.count_nonzero(self.tables.completeness == n)) for n, name in enumerate(COMPLETENESS)}
        decided = {name: int(np.count_nonzero(self.tables.decision == n)) for n, name in _DECIDED}
        return {
            "expected": len(self._flat),
            **{name: counts[name] for name in ("complete", "partial", "missing")},
            **decided,
            "written": len(self),
        }

    @property
    def unknown(self) -> int:
        """Count the images of which nothing is known, because a member ended early."""
        return sum(one.unknown for one in self.members)

    def absent(self) -> dict[int, str]:
        """Say of each stored frame that no file has, by row, what is wrong."""
        places = zip(
            self._stored.tolist(), self._of[self._stored].tolist(), self._row[self._stored].tolist(), strict=True
        )
        return {row: self._absent_in[of][own] for row, of, own in places if own in self._absent_in[of]}


_DECIDED = ((1, "accepted"), (2, "vetoed"), (3, "errored"))


def open_parts(path: Path, *, folders: Iterable[Path] = (), whole: bool = False) -> dict[str, Run | JoinedRun]:
    """What a file leads to that leads to several masters, by entry. `whole`: a master that was left out is an error. RunFileError."""
    folders = tuple(folders)
    left_out = left_out_in(path) if whole else {}
    for name, why in left_out.items():
        raise RunFileError(f"{path}: it lacks the images of {name}: {why}")
    with contextlib.ExitStack() as stack:
        found: dict[str, Run | JoinedRun] = {}
        for name, masters in parts_in(path, folders).items():
            runs = [stack.enter_context(open_run(master, folders=folders)) for master in masters]
            if runs:
                found[name] = runs[0] if len(runs) == 1 else JoinedRun(path, runs)
        stack.pop_all()
    return found
