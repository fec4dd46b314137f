# SPDX-License-Identifier: Apache-2.0
"""Reads accepted images of a run that goes on from the files that its receiver writes: every image, at the reader's pace. The reader sends nothing to
the receiver."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.bad_file import BadFileError, blaming, is_own
from rashpa.data.base.closed import Coming
from rashpa.data.base.pixels import Pixels
from rashpa.data.base.rashpa_error import RashpaError
from rashpa.data.base.sparse_arrays import csr_of
from rashpa.data.files.file_names import expanded
from rashpa.data.files.hdf5.selection import whole
from rashpa.data.files.hdf5.tree import Array, Hdf5File
from rashpa.data.files.regular_file import open_shared
from rashpa.data.parts.older_files import MASTER
from rashpa.data.parts.run_parts import data_file, is_complete, prefix_of
from rashpa.data.stored.image_facts import ImageFacts
from rashpa.data.stored.run_facts import COMPLETENESS, DECISIONS, LostRun

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_LOOK_S = 0.01  # a wait in pieces, so that Ctrl-C is heard
_FOLLOW_S = 10.0  # until a data file shows an image that its journal calls written


class LiveError(RashpaError, RuntimeError):
    """Reports that the run cannot be followed to its end; the text gives reason and remedy."""


@dataclass(frozen=True)
class LiveImage:
    """Holds one accepted image. `index`: its index in the buffer; `timestamp_ns`: the detector's TAI time; `numbers`: results of the pipeline, by the
    names of the run's columns; `lost`: lines that did not arrive, with fill values in their pixels."""

    index: int
    frame_number: int
    timestamp_ns: int
    flags: int
    complete: bool
    numbers: dict[str, int | float]
    lost: tuple[LostRun, ...]
    shape: tuple[int, int]
    stored: NDArray[Any] | tuple[NDArray[np.uint32], NDArray[Any]]
    facts: ImageFacts = field(repr=False)

    @property
    def list(self) -> tuple[NDArray[np.uint32], NDArray[Any]]:
        """Return pixel indices (row · width + column) and values, for a run that stores lists. Raise TypeError for a run of dense images."""
        if not isinstance(self.stored, tuple):
            raise TypeError("this run stores dense images; take .pixels")
        return self.stored

    @property
    def csr(self) -> csr_array:
        """Return the list as an array of SciPy, as rashpa.open does."""
        return csr_of(*self.list, self.shape)

    @cached_property
    def pixels(self) -> Pixels:
        """Return the pixels [row][column] with their masking, as rashpa.open does. For a list, unlisted pixels are 0, masked and lost ones hold the
        masked value."""
        if isinstance(self.stored, tuple):
            return self.facts.expanded(*self.stored, self.lost)
        return self.facts.described(self.stored)

    @cached_property
    def lost_mask(self) -> NDArray[np.bool_]:
        """Return True for the pixels that the image lost."""
        return self.facts.lost(self.lost)

    def _repr_html_(self) -> str:
        from rashpa.data.figures.notebook import image_html

        where = "complete" if self.complete else f"{sum(run.lines for run in self.lost)} lines lost"
        return image_html(self.pixels, f"frame {self.frame_number}, {where}")


class Live(Coming[LiveImage]):
    """Yields every accepted image in the order of the files, until the run is over, also to a slow reader. `counts`: the number of decided images so
    far, by decision.

    A wait of `timeout_s` without an image raises TimeoutError; without `timeout_s` a wait has no limit. Raise LiveError when the receiver has died,
    or its files cannot be read.
    """

    def __init__(self, master: Path, timeout_s: float | None) -> None:
        super().__init__(timeout_s)
        self.path = master
        self._prefix = prefix_of(master)
        self._journal: Any = None
        self._part: tuple[int, Hdf5File] | None = None
        self._master: Hdf5File | None = None
        self._facts: ImageFacts | None = None
        self._ends: dict[int, int] = {}  # of sparse files: where the image before ends
        self._closed = False
        self.counts = dict.fromkeys(DECISIONS[1:], 0)

    @property
    def images(self) -> int | None:
        """Return the number of expected images, None when it is unknown. Raise LiveError before the run was found."""
        return self._begun().images  # type: ignore[no-any-return]

    @property
    def shape(self) -> tuple[int, int]:
        """Return rows and columns of images. Raise LiveError before the run was found."""
        journal = self._begun()
        return journal.height, journal.width

    def take(self, timeout_s: float | None = None) -> LiveImage | None:
        """Return the next image, None when the run is over. Raise TimeoutError when none comes within `timeout_s`."""
        if self._closed:
            raise LiveError("this run is closed; open it again")
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            if self._look():
                living = self._journal.being_written  # asked first: rows that come before the end are read below
                while (row := self._journal.next()) is not None:
                    self.counts[DECISIONS[row["decision"]]] = self.counts.get(DECISIONS[row["decision"]], 0) + 1
                    if row["file"]:
                        return self._image(row)
                if not living:
                    self._expect_complete()
                    return None
            if until is not None and time.monotonic() >= until:
                raise TimeoutError(self._nothing(timeout_s or 0.0))
            time.sleep(_LOOK_S)

    def close(self) -> None:
        """Close the files; no more images can be taken."""
        self._closed = True
        self._journal = None
        part, self._part = self._part, None
        if part is not None:
            part[1].close()
        master, self._master = self._master, None
        if master is not None:
            master.close()

    def _begun(self) -> Any:
        if not self._look():
            raise LiveError(self._nothing(0.0))
        return self._journal

    def _look(self) -> bool:
        """Look for the run; return True when it has begun."""
        if self._journal is None:
            self._journal = self._living_journal()
        return self._journal is not None

    def _living_journal(self) -> Any:
        """Return the journal, None while no living process writes a run there."""
        from rashpa import _native

        path = self._prefix.with_name(f"{self._prefix.name}_master.journal")
        try:
            journal = _native.Journal(str(path))
        except _native.FileError:
            return None  # there is none, or its head is still being written
        return journal if journal.being_written else None

    def _nothing(self, seconds: float) -> str:
        if self._journal is not None:
            return f"{self.path}: no image was accepted within {seconds:g} s"
        hint = "; it is a finished run: rashpa.open reads it" if self.path.exists() else ""
        return f"{self.path}: no run is being written there{hint}"

    def _expect_complete(self) -> None:
        """Check that the master is complete when the writer has gone and all rows are read: a receiver completes the master before it ends. Raise
        LiveError."""
        try:
            with Hdf5File(self.path, locking=False) as master:
                complete = is_complete(master)
        except (OSError, BadFileError):
            complete = False
        if not complete and sum(self.counts.values()) != self._journal.images:
            raise LiveError(f"{self.path}: its receiver ended early; `rashpa repair {self._prefix}` completes the file")

    def _image(self, row: dict[str, Any]) -> LiveImage:
        lost = tuple(LostRun(*run) for run in row["lost"])
        return LiveImage(
            index=row["index"],
            frame_number=row["frame"],
            timestamp_ns=row["timestamp_ns"],
            flags=row["flags"],
            complete=COMPLETENESS[row["completeness"]] == "complete",
            numbers=dict(zip(self._journal.columns, row["numbers"], strict=True)),
            lost=lost,
            shape=self.shape,
            stored=self._pixels(row),
            facts=self._said(),
        )

    def _said(self) -> ImageFacts:
        """Return the master's facts about all images, which it has before the first image."""
        if self._facts is None:
            self._master = self._opened(self.path, swmr=False)
            with self._read(self.path), blaming(f"{self.path}: it is damaged"):
                self._facts = ImageFacts(self._master["entry"])
        return self._facts

    def _pixels(self, row: dict[str, Any]) -> NDArray[Any] | tuple[NDArray[np.uint32], NDArray[Any]]:
        if self._journal.form == "raw":
            return self._raw(row)
        group = self._file(row["file"])["entry/data"]
        if self._journal.form == "sparse":
            first, end = self._ends.get(row["file"], 0), row["end"]
            self._ends[row["file"]] = end
            return self._followed(group["index"], first, end), self._followed(group["intensity"], first, end)
        image: NDArray[Any] = self._followed(group["data"], row["place"], row["place"] + 1)[0]
        return image

    def _followed(self, data: Array, first: int, end: int) -> NDArray[Any]:
        """Return rows when they are readable, after a wait if needed: the journal lists an image when it is written, but the reader must refresh its
        view. Raise LiveError."""
        until = time.monotonic() + _FOLLOW_S
        while True:
            with self._read(data.file):
                absence = data.layout.absent(((first, end), *whole(data.shape[1:])))
                if absence is None:
                    return data.rows(first, end)
            if time.monotonic() > until:
                raise LiveError(f"{absence.text}, and the journal says that it is written; its disk may have failed")
            data.refresh()

    @contextmanager
    def _read(self, path: Path) -> Iterator[None]:
        try:
            yield
        except BadFileError as error:
            raise LiveError(f"{path}: cannot be followed: {error}") from error

    def _file(self, number: int) -> Hdf5File:
        if self._part is None or self._part[0] != number:
            path = data_file(self.path, number, "h5")
            opened = self._opened(path)
            if self._part is not None:
                self._part[1].close()
            self._part = (number, opened)
        return self._part[1]

    def _opened(self, path: Path, *, swmr: bool = True) -> Hdf5File:
        until = time.monotonic() + _FOLLOW_S
        while True:
            try:
                return Hdf5File(path, swmr=swmr, locking=False)
            except (OSError, BadFileError) as error:  # it gets its name after the journal
                if is_own(error):
                    raise
                if time.monotonic() > until:
                    raise LiveError(f"{path}: cannot be followed: {error}") from error
                time.sleep(_LOOK_S)

    def _raw(self, row: dict[str, Any]) -> NDArray[Any]:
        """Read the pixels of a row. They may be written later than the row; the checksum shows when they are complete."""
        from rashpa import _native

        path = data_file(self.path, row["file"], "raw")
        until = time.monotonic() + _FOLLOW_S
        while True:
            try:
                with open_shared(path) as file:
                    file.seek(row["offset"])
                    data = file.read(row["length"])
            except OSError as error:
                raise LiveError(f"{path}: cannot be read: {error.strerror}") from error
            if _native.crc32c(data) == row["crc32c"]:
                return np.frombuffer(data, self._journal.pixel).reshape(self.shape)
            if time.monotonic() > until:
                raise LiveError(
                    f"{path}: frame {row['frame']} is not there as it was written; its disk may have failed"
                )
            time.sleep(_LOOK_S)


def open_live(file: Path | str, timeout_s: float | None = None) -> Live:
    """Open the buffer's `_master.h5`, also before a run writes it; then waiting for the run is like waiting for an image. Raise ValueError when
    `file` is not such a name."""
    path = Path(expanded(str(file)))
    if not path.name.endswith(MASTER):
        raise ValueError(
            f"{file}: give the name of a buffer's master, RUN_BUFFER_master.h5; RUN and BUFFER are those of the run file"
        )
    return Live(path, timeout_s)
