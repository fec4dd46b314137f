# SPDX-License-Identifier: Apache-2.0
"""Joins a run with images in the files of several receivers: the best copy of each frame, in the order of frames."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.bad_file import blaming
from rashpa.data.base.closed import Closed
from rashpa.data.base.pixels import Masking
from rashpa.data.base.sparse_arrays import csr_of
from rashpa.data.files.hdf5.tree import Array, Group, Hdf5File
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored.combined.combined import left_out_in, parts_in
from rashpa.data.stored.image_sequence import ImageSequence
from rashpa.data.stored.reader import Run, open_run
from rashpa.data.stored.run_facts import COMPLETENESS, RunFacts, RunTables, TableFacts, hit_column_of
from rashpa.data.stored.stored_piece import no_value
from rashpa.data.stored.stored_places import MASTER_GONE

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class JoinedRun(Closed):
    """Joins the members of a group into one run. Each image comes from a member that has stored it; `members` are the runs of the members. `gone`:
    frames whose masters are lost, with the reason; they count as stored, and are absent."""

    def __init__(self, path: Path, members: Sequence[Run], gone: Mapping[int, str] | None = None) -> None:
        """Join the members. Raise StoredRunError when their images differ in kind."""
        self.path = path
        self.gone: dict[int, str] = dict(gone or {})
        self.members = tuple(members)
        first = self.members[0]
        for one in self.members:
            if (one.form, one.shape, one.dtype, one.masked) != (first.form, first.shape, first.dtype, first.masked):
                raise StoredRunError(
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
        self.tables = self._joined_tables()
        self._stored = np.flatnonzero(self.tables.stored_index >= 0)
        self.frame_numbers: NDArray[np.uint64] = self.tables.frame_number[self._stored]

    def _chosen(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return, for each frame, the best member and its row: stored copies first, then reachable ones, complete ones, fewer lost lines, and the
        order of the members."""
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
        lost = np.concatenate([one.lost_lines for one in self.members])
        order = np.lexsort((of, lost, partial, open_, gone, ~stored, frames))
        best = np.ones(len(order), np.bool_)
        best[1:] = np.diff(frames[order]) != 0
        self._flat = order[best]
        return of[self._flat], row[self._flat]

    def _joined_tables(self) -> RunTables:
        names = [one.name for one in fields(RunTables) if one.name not in ("scalars", "stored_index")]
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(one.tables, name) for one in self.members])[self._flat] for name in names
        }
        scalars = {
            name: np.concatenate([one.tables.scalars[name] for one in self.members])[self._flat]
            for name in self.members[0].tables.scalars
            if all(name in one.tables.scalars for one in self.members)
        }
        there = self._index >= 0
        if self.gone:
            there = self._with_gone(columns, scalars, there)
        stored = np.full(len(there), -1, np.int64)
        stored[there] = np.arange(np.count_nonzero(there))
        return RunTables(**columns, stored_index=stored, scalars=scalars)

    def _with_gone(
        self, columns: dict[str, Any], scalars: dict[str, Any], there: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Add rows for frames of lost masters, of which only their storing is known. Return `there` with True for these rows."""
        frames = np.array(sorted(self.gone), np.uint64)
        kept = ~np.isin(columns["frame_number"], frames)  # others may know that they have not stored them
        order = np.argsort(np.concatenate([columns["frame_number"][kept], frames]), kind="stable")
        for name, values in columns.items():
            none = {"frame_number": frames, "completeness": COMPLETENESS.index("missing")}.get(name, 0)
            columns[name] = np.append(values[kept], np.full(len(frames), none, values.dtype))[order]
        for name, values in scalars.items():
            scalars[name] = np.append(values[kept], np.full(len(frames), no_value(values.dtype), values.dtype))[order]
        self._of, self._row, self._index = (
            np.append(known[kept], np.full(len(frames), _GONE))[order] for known in (self._of, self._row, self._index)
        )
        return np.append(there[kept], np.ones(len(frames), np.bool_))[order]

    def _place(self, index: int) -> tuple[Run, int]:
        if not 0 <= index < len(self):
            raise IndexError(f"{self.path.name} leads to {len(self)} images; there is no image {index}")
        row = self._stored[index]
        if self._of[row] == _GONE:
            raise StoredRunError(f"{self.path}: {self.gone[int(self.frame_numbers[index])]}")
        return self.members[int(self._of[row])], int(self._index[row])

    def __len__(self) -> int:
        """Return the number of stored frames."""
        return len(self._stored)

    def close(self) -> None:
        """Close the files of all members."""
        for one in self.members:
            one.close()

    def image(self, index: int) -> NDArray[Any]:
        """Return stored image `index` [row][column]."""
        run, place = self._place(index)
        return run.image(place)

    def at_frame(self, frame: int) -> NDArray[Any]:
        """Return the stored image of the detector's frame `frame`, numbered as in `frame_numbers`. Raise IndexError with the reason when there is
        none."""
        return self.image(self.tables.stored_at(frame))

    def invalid(self, index: int) -> NDArray[np.bool_]:
        """Return True for pixels of stored image `index` that hold no measurement."""
        run, place = self._place(index)
        return run.invalid(place)

    def sparse(self, index: int) -> tuple[NDArray[np.uint32], NDArray[Any]]:
        """Return pixel indices and values of a sparse image."""
        run, place = self._place(index)
        return run.sparse(place)

    @property
    def csr(self) -> ImageSequence[csr_array]:
        """Return the lists as arrays of SciPy, as Run.csr does."""
        if self.form != "sparse":
            raise TypeError(f"{self.path.name} leads to dense images; take image() or frames")
        return ImageSequence(lambda index: csr_of(*self.sparse(index), self.shape), range(len(self)))

    def table(self, name: str, index: int) -> dict[str, NDArray[Any]]:
        """Return the rows of table `name` for stored image `index`: an array for each column. Raise KeyError for an unknown table."""
        run, place = self._place(index)
        return run.table(name, place)

    def profile(self, name: str, index: int) -> dict[str, NDArray[np.float64]]:
        """Return the arrays of a profile for stored image `index`. Raise KeyError for an unknown profile."""
        run, place = self._place(index)
        return run.profile(name, place)

    @property
    def table_facts(self) -> dict[str, TableFacts]:
        """Return the tables that kernels have filled, by name, with the rows of stored images."""
        known = [one.table_facts for one in self.members]
        return {name: facts for name, facts in known[0].items() if all(name in one for one in known)}

    @property
    def hit_column(self) -> str | None:
        """Return the name of the number that a hit curve shows, which all members share."""
        return hit_column_of(self.tables.scalars)

    def row_of(self, index: int) -> int:
        """Return the table row of stored image `index`."""
        return int(self._stored[index])

    def lost_mask(self, row: int) -> NDArray[np.bool_]:
        """Return True for the pixels that the image in table row `row` lost."""
        if self._of[row] == _GONE:
            return np.ones(self.shape, np.bool_)
        return self.members[int(self._of[row])].lost_mask(int(self._row[row]))

    def images(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield frame number and pixels of each stored image, in order."""
        for index, frame in enumerate(self.frame_numbers.tolist()):
            yield frame, self.image(index)

    @property
    def frames(self) -> ImageSequence[NDArray[Any]]:
        """Return the stored images, read on demand."""
        return ImageSequence(self.image, range(len(self)))

    @property
    def peaks(self) -> ImageSequence[NDArray[np.void]]:
        """Return the peaks of each stored image, as Run.peaks does. Raise KeyError when the pipeline had no peak finder."""
        known = {id(one): one.peaks for one in self.members}

        def of(index: int) -> NDArray[np.void]:
            run, place = self._place(index)
            return known[id(run)][place]

        return ImageSequence(of, range(len(self)))

    @property
    def facts(self) -> RunFacts:
        """Return the origin of the run."""
        return self.members[0].facts

    @property
    def books(self) -> dict[str, int]:
        """Return counts of frames, each frame once; `expected` counts the frames that the members list."""
        counts = {name: int(np.count_nonzero(self.tables.completeness == n)) for n, name in enumerate(COMPLETENESS)}
        decided = {name: int(np.count_nonzero(self.tables.decision == n)) for n, name in _DECIDED}
        return {
            "expected": len(self.tables.frame_number),
            **{name: counts[name] for name in ("complete", "partial", "missing")},
            **decided,
            "written": len(self),
        }

    @property
    def unknown(self) -> int:
        """Return the number of images of unknown fate, because a member ended early."""
        return sum(one.unknown for one in self.members)

    @property
    def lost_windows(self) -> list[str]:
        """Return a text for each member whose accumulations are lost, with the reason."""
        return [text for one in self.members for text in one.lost_windows]

    def absent(self) -> dict[int, str]:
        """Return, by row, the reason why a stored frame is in no file."""
        places = zip(
            self._stored.tolist(), self._of[self._stored].tolist(), self._row[self._stored].tolist(), strict=True
        )
        found = {row: self._absent_in[of][own] for row, of, own in places if of != _GONE and own in self._absent_in[of]}
        gone = np.flatnonzero(self._of == _GONE).tolist()
        return found | {row: f"{self.path}: {self.gone[int(self.tables.frame_number[row])]}" for row in gone}


_GONE = -1
"""Stands in place of the number of a member."""
_DECIDED = ((1, "accepted"), (2, "vetoed"), (3, "errored"))


class RunParts(dict[str, Run | JoinedRun]):
    """Holds runs by name. `gone`: runs with no remaining master, with the reason; accessing one raises it as an error."""

    def __init__(self) -> None:
        """Start without runs."""
        super().__init__()
        self.gone: dict[str, str] = {}

    def __missing__(self, name: str) -> Run | JoinedRun:
        """Raise StoredRunError for a run with lost masters, KeyError for an unknown name."""
        if name in self.gone:
            raise StoredRunError(self.gone[name])
        raise KeyError(name)


def open_parts(path: Path, *, folders: Iterable[Path] = (), whole: bool = False) -> RunParts:
    """Open the runs to which a combined file links, by entry. `whole`: raise an error for a master that was left out, or is missing. Raise
    StoredRunError, also when all masters are missing."""
    folders = tuple(folders)
    left_out = left_out_in(path) if whole else {}
    for name, why in left_out.items():
        raise StoredRunError(f"{path}: it lacks the images of {name}: {why}")
    with contextlib.ExitStack() as stack:
        found = RunParts()
        for name, masters in parts_in(path, folders).items():
            there = masters if whole else [master for master in masters if master.exists()]
            runs = [stack.enter_context(open_run(master, folders=folders)) for master in there]
            lost = [str(master) for master in masters if master not in there]
            if not runs and lost:
                found.gone[name] = f"{path}: {MASTER_GONE}: {', '.join(lost)}; put it there"
            elif len(runs) == 1 and not lost:
                found[name] = runs[0]
            elif runs:
                found[name] = JoinedRun(path, runs, _gone_frames(path, name, runs, folders, lost) if lost else {})
        if found.gone and not found:
            raise StoredRunError(next(iter(found.gone.values())))
        stack.pop_all()
    return found


def _gone_frames(
    path: Path, name: str, runs: Sequence[Run], folders: tuple[Path, ...], lost: Sequence[str]
) -> dict[int, str]:
    """Return the frames of the entry that none of these runs has, with the reasons."""
    with (
        Hdf5File(path, kind=StoredRunError, folders=folders) as file,
        blaming(f"{path}: it is damaged", StoredRunError),
    ):
        data = file.find(f"{name}/data")
        numbers = data.find("frame_number") if isinstance(data, Group) else None
        frames = numbers[()].tolist() if isinstance(numbers, Array) else []
    known = {frame for one in runs for frame in one.frame_numbers.tolist()}
    said = f"{MASTER_GONE}: {', '.join(lost)}; put it there"
    return {int(frame): said for frame in frames if frame not in known}
