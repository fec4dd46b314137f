# SPDX-License-Identifier: Apache-2.0
"""Reads the files of the sinks `hdf5` and `raw`: images, the table of every image of the run, and the books."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.bad_file import BadFileError, blaming, is_own
from rashpa.data.base.closed import Closed
from rashpa.data.base.pixels import Masking, Pixels, with_masking
from rashpa.data.base.rashpa_error import old_names
from rashpa.data.base.sparse_arrays import csr_of
from rashpa.data.files.file_names import HDF5, absent, natural
from rashpa.data.files.hdf5.tree import Array, Group, Hdf5File
from rashpa.data.files.regular_file import open_shared, reason
from rashpa.data.files.writer_lock import has_writer
from rashpa.data.geometry.orientation import UPRIGHT, Orientation
from rashpa.data.parts.run_parts import LEADS_TO, StoredRunError, is_complete, prefix_of
from rashpa.data.stored import densify
from rashpa.data.stored.image_facts import ImageFacts
from rashpa.data.stored.image_sequence import ImageSequence
from rashpa.data.stored.raw_places import RawPlaces
from rashpa.data.stored.run_facts import (
    COMPLETENESS,
    ERROR_REASONS,
    AccumulationFacts,
    ChangedLimit,
    IncompleteImage,
    LostRun,
    ProfileFacts,
    RunFacts,
    RunSummary,
    RunTables,
    TableFacts,
    hit_column_of,
)
from rashpa.data.stored.stored_facts import (
    changed_limits,
    frame_rate_hz,
    judged,
    name_of,
    reasons_of,
    stored_facts,
    stored_texts,
    text_of,
)
from rashpa.data.stored.stored_places import StoredPlaces, absent_images, absent_lists
from rashpa.data.stored.stored_products import StoredProducts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

if not TYPE_CHECKING:  # a type checker would believe that every name is there
    __getattr__ = old_names(__name__, RunFileError=StoredRunError)

_OLD_COLUMNS = ("masked_pixels", "saturated_pixels", "bright_pixels")  # of files that do not name them
VETO_REASONS = ("none", "too_few", "too_many", "dark", "partial")

_BOOKS = ("expected", "complete", "partial", "missing", "accepted", "vetoed", "errored", "written")


class Run(Closed):
    """Reads one run on disk. Images are read on demand, tables at once. It is a context manager."""

    def __init__(self, file: Hdf5File, path: Path) -> None:
        self._file = file
        self.path = path
        self._entry: Group = file["entry"]
        self._data: Group = self._entry["data"]
        self._rashpa: Group = self._entry["rashpa"]
        # files of before had the links beside the images
        self._parts: Group = self._rashpa.get("data_files", self._data)
        self._raw = RawPlaces(self._rashpa, path, file.folders) if "raw" in self._rashpa else None
        self._open_parts: dict[str, Array] = {}
        self.form: Literal["dense", "sparse", "raw"] = "sparse" if "frame_ptr" in self._data else "dense"
        if self._raw is not None:
            self.form = "raw"
        self._facts = ImageFacts(self._entry)
        self.pixel_mask: NDArray[np.uint32] = self._facts.pixel_mask
        self.shape: tuple[int, int] = self._facts.shape
        self.special_values: dict[int, str] = self._facts.special_values
        """Values of the detector's pixels that are no counts, and their meanings; empty where none were declared."""
        self.frame_numbers: NDArray[np.uint64] = self._data["frame_number"][()]
        known = {name: self._rashpa[name][()] for name in RunTables.__dataclass_fields__ if name in self._rashpa}
        known.setdefault("error_reason", np.zeros(len(known["decision"]), np.uint8))
        self.tables = RunTables(**known, scalars=self._scalars())
        names = self._rashpa["veto_reason"].attrs.get("names", ())
        self.veto_reasons: tuple[str, ...] = tuple(text_of(name) for name in names) or VETO_REASONS
        self.books: dict[str, int] = {name: int(self._rashpa["books"][name][()]) for name in _BOOKS}
        self._lost_ptr: NDArray[np.uint64] = self._rashpa["lost_runs/ptr"][()]
        self._products = StoredProducts(self._rashpa, path)
        self._frame_ptr: NDArray[np.uint64] | None = self._data["frame_ptr"][()] if self.form == "sparse" else None

    def _scalars(self) -> dict[str, NDArray[Any]]:
        columns = self._rashpa.attrs.get("columns", _OLD_COLUMNS)
        names = [text_of(name) for name in columns]
        return {name: self._rashpa[name][()] for name in names if name in self._rashpa}

    @property
    def hit_column(self) -> str | None:
        """Return the name of the number that a hit curve shows: the pipeline's last one, which belongs to the verdict if there is one."""
        return hit_column_of(self.tables.scalars)

    def _repr_html_(self) -> str:
        from rashpa.data.figures.notebook import run_html

        return run_html(self)

    def close(self) -> None:
        """Close the file; images can no longer be read."""
        self._file.close()

    def __len__(self) -> int:
        """Return the number of stored images."""
        return len(self.frame_numbers)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the dtype of the pixels that `image()` returns."""
        if self._raw is not None:
            return self._raw.dtype
        name = "intensity" if self.form == "sparse" else "data"
        return cast("np.dtype[Any]", self._data[name].dtype)

    @cached_property
    def masked(self) -> Masking:
        """Return the values of pixels that are no counts, as the file states it."""
        return self._facts.masked(self.dtype)

    def image(self, index: int) -> Pixels:
        """Return stored image `index` [row][column], with its masking. A sparse image is expanded: unlisted pixels are 0, masked and lost ones hold
        the masked value."""
        return with_masking(self._image(index), self.masked)

    def at_frame(self, frame: int) -> Pixels:
        """Return the stored image of the detector's frame `frame`, numbered as in `frame_numbers`. Raise IndexError with the reason when there is
        none."""
        return self.image(self.tables.stored_at(frame))

    def _image(self, index: int) -> NDArray[Any]:
        if not 0 <= index < len(self):
            raise IndexError(f"{self.path.name} holds {len(self)} images; there is no image {index}")
        if self._raw is not None:
            return self._raw.image(self.row_of(index))
        if self.form == "dense":
            return self._dense(index)
        return self._facts.expanded(*self.sparse(index), self.lost_runs(self.row_of(index)))

    def densify(self, index: int, random: np.random.Generator | None = None) -> Pixels:
        """Return stored image `index`, reconstructed from listed pixels and background of the kernel `sparsify`: as `image` does, but with the
        background in place of 0. With `random`, the background varies by its measured deviation. Raise KeyError when the pipeline had no such kernel."""
        background = self.table(densify.KERNEL, index)
        parameters = next(values for name, values in self.facts.kernels if name == densify.KERNEL)
        made = densify.densify(self.shape, *self.sparse(index), background, parameters, random)
        made = self._facts.without_measurement(made, self.lost_runs(self.row_of(index)))
        return with_masking(made, self.masked)

    def invalid(self, index: int) -> NDArray[np.bool_]:
        """Return True for pixels of stored image `index` that hold no measurement: masked, lost, or with a value beyond `underload_value` and
        `saturation_value`."""
        return self.invalid_of(self.image(index), index)

    def invalid_of(self, pixels: NDArray[Any], index: int) -> NDArray[np.bool_]:
        """Return the invalid-pixel mask of `pixels`, which the caller has already read as image `index`."""
        found = self.lost_mask(self.row_of(index)) | self._facts.gap_or_bad
        if pixels.dtype.kind == "f":
            found |= ~np.isfinite(pixels)
        least, most = self._facts.least, self._facts.most
        if least is not None:
            found |= pixels < _bound(least, pixels.dtype)
        if most is not None:
            found |= pixels > _bound(most, pixels.dtype)
        return np.asarray(found, np.bool_)

    @property
    def frames(self) -> ImageSequence[Pixels]:
        """Return the stored images, read on demand: frames[3], frames[10:20], numpy.asarray(frames[::10])."""
        return ImageSequence(self.image, range(len(self)))

    @property
    def lists(self) -> ImageSequence[tuple[NDArray[np.uint32], NDArray[Any]]]:
        """Return, for each stored image, pixel indices and their values. Raise TypeError when the run holds dense images."""
        if self._frame_ptr is None:
            raise TypeError(f"{self.path.name} holds dense images; take image() or frames")
        return ImageSequence(self.sparse, range(len(self)))

    @property
    def csr(self) -> ImageSequence[csr_array]:
        """Return the lists as arrays of SciPy, [row][column], one for each stored image. Unlisted pixels are 0, masked and lost ones too (`invalid`).
        Raise TypeError when the run holds dense images, MissingExtraError without SciPy."""
        lists = self.lists
        return ImageSequence(lambda index: csr_of(*lists[index], self.shape), range(len(self)))

    @property
    def densified(self) -> ImageSequence[Pixels]:
        """Return the stored images as `densify` reconstructs them, read on demand."""
        return ImageSequence(self.densify, range(len(self)))

    @property
    def peaks(self) -> ImageSequence[NDArray[np.void]]:
        """Return the peaks of each stored image, in the form of feedback: a row for each peak, with named columns, such as `peaks[3]["x"]`. Raise
        KeyError when the pipeline had no peak finder."""
        finder = next((name for name in self._products.tables if name.startswith("peakfinder")), None)
        if finder is None:
            raise KeyError(f"{self.path.name} has no peaks; its pipeline had no peak finder")
        return ImageSequence(lambda index: _rows_of(self.table(finder, index)), range(len(self)))

    def images(self) -> Iterator[tuple[int, Pixels]]:
        """Yield frame number and pixels of each stored image, in order."""
        for index, frame in enumerate(self.frame_numbers):
            yield int(frame), self.image(index)

    def sparse(self, index: int) -> tuple[NDArray[np.uint32], NDArray[Any]]:
        """Return pixel indices (row · width + column) and photons of a sparse image."""
        if self._frame_ptr is None:
            raise TypeError(f"{self.path.name} holds dense images; take image() or frames")
        first, end = int(self._frame_ptr[index]), int(self._frame_ptr[index + 1])
        indices, values = self._listed
        return indices[first:end], values[first:end]

    @cached_property
    def _listed(self) -> tuple[Array, Array]:
        """Return the arrays of all lists. They are looked up once, because each looks at the places of all its chunks when it is first read."""
        return self._data["index"], self._data["intensity"]

    @property
    def table_facts(self) -> dict[str, TableFacts]:
        """Return the tables that kernels have filled, by name."""
        return self._products.table_facts(self.tables.stored_index >= 0)

    def table(self, name: str, index: int) -> dict[str, NDArray[Any]]:
        """Return the rows of table `name` for stored image `index`: an array for each column. Raise KeyError for an unknown table."""
        self._products.check_table(name)
        return self._products.table(name, self.row_of(index))

    @property
    def profile_facts(self) -> dict[str, ProfileFacts]:
        """Return the profiles that kernels have made, by name."""
        return self._products.profile_facts()

    def profile(self, name: str, index: int | slice = slice(None)) -> dict[str, NDArray[np.float64]]:
        """Return the arrays of a profile for stored image `index`; with a slice, arrays [image][bin]. Raise KeyError for an unknown profile."""
        self._products.check_profile(name)
        if isinstance(index, int) and not 0 <= index < len(self):
            raise IndexError(f"{self.path.name} holds {len(self)} images; there is no image {index}")
        return self._products.profile(name, index)

    @property
    def accumulation_facts(self) -> dict[str, AccumulationFacts]:
        """Return the accumulations over the run, or over windows of it, by kernel."""
        return self._products.accumulation_facts()

    def accumulated(self, name: str, quantity: str, window: int = -1) -> NDArray[Any]:
        """Return a quantity that kernel `name` has accumulated, "sum" or "mean". `window`: the position among the stored windows, by default the
        last. Raise KeyError for an unknown kernel or quantity, IndexError for an unknown window."""
        return self._products.accumulated(name, quantity, window)

    def row_of(self, index: int) -> int:
        """Return the table row of stored image `index`."""
        return int(np.flatnonzero(self.tables.stored_index == index)[0])

    def lost_runs(self, row: int) -> tuple[LostRun, ...]:
        """Return the lines that the image in table row `row` lost."""
        first, end = int(self._lost_ptr[row]), int(self._lost_ptr[row + 1])
        if first == end:  # of nearly every image, and a file is slow to be asked
            return ()
        group = self._rashpa["lost_runs"]
        columns = (group[name][first:end].tolist() for name in ("dtp", "first_line", "lines"))
        return tuple(LostRun(*values) for values in zip(*columns, strict=True))

    @cached_property
    def lost_lines(self) -> NDArray[np.int64]:
        """Return the number of lost region lines for each table row. Of two copies of an image, the one with fewer is better."""
        group = self._rashpa["lost_runs"]
        ends = self._lost_ptr.astype(np.int64)
        runs = ends[1:] - ends[:-1]
        lines = group["lines"][()].astype(np.int64)
        if (runs < 0).any() or runs.sum() != len(lines):
            raise StoredRunError(f"{self.path}: it is damaged: its lost lines do not fit its rows; copy it again")
        return np.bincount(np.repeat(np.arange(len(runs)), runs), lines, minlength=len(runs)).astype(np.int64)

    def lost_mask(self, row: int) -> NDArray[np.bool_]:
        """Return True for the pixels that the image in table row `row` lost. Without the table of DTPs their places are unknown, and all values are
        False."""
        return self._facts.lost(self.lost_runs(row))

    @property
    def module_places(self) -> list[tuple[int, int, int, int]]:
        """Return x, y, width and height of each module's part of the images, by its number; empty without the table of DTPs."""
        if "dtps" not in self._rashpa:
            return []
        columns = [self._rashpa["dtps"][name][()].tolist() for name in ("module", "x", "y", "width", "height")]
        places: dict[int, tuple[int, int, int, int]] = {}
        for module, x, y, width, height in zip(*columns, strict=True):
            left, top, right, bottom = places.get(module, (x, y, x + width, y + height))
            places[module] = (min(left, x), min(top, y), max(right, x + width), max(bottom, y + height))
        return [(x, y, right - x, bottom - y) for _, (x, y, right, bottom) in sorted(places.items())]

    @property
    def module_orientations(self) -> list[Orientation]:
        """Return the orientations of modules in the images, by number."""
        if "dtps" not in self._rashpa:
            return []
        dtps = self._rashpa["dtps"]
        modules = dtps["module"][()].tolist()
        if "turn" not in dtps:
            return [UPRIGHT] * len(set(modules))
        ways = map(Orientation, dtps["turn"][()].tolist(), map(bool, dtps["flip"][()].tolist()))
        return [way for _, way in sorted(dict(zip(modules, ways, strict=True)).items(), key=lambda one: one[0])]

    def summary(self, incomplete: int = 5) -> RunSummary:
        """Return a summary of the run, with at most `incomplete` incomplete images."""
        missing_rows = np.flatnonzero(self.tables.completeness > COMPLETENESS.index("complete"))
        return RunSummary(
            file=self.path,
            form=self.form,
            stored=len(self),
            shape=self.shape,
            dtype=self.dtype.name,
            books=self.books,
            balanced=bool(self._rashpa["books/balanced"][()]),
            vetoes=reasons_of(self.tables, "vetoed", self.tables.veto_reason, self.veto_reasons),
            errors=reasons_of(self.tables, "errored", self.tables.error_reason, ERROR_REASONS),
            unknown=self.unknown,
            incomplete=len(missing_rows),
            first_incomplete=tuple(self._incomplete(int(row)) for row in missing_rows[:incomplete]),
            frame_rate_hz=frame_rate_hz(self.tables),
            dense_bytes=len(self) * self.shape[0] * self.shape[1] * self.dtype.itemsize,
            stored_bytes=self._stored_bytes(),
            judged=judged(self._rashpa, self.tables, self.veto_reasons),
            tables=self.table_facts,
            profiles=self.profile_facts,
            accumulations=self.accumulation_facts,
            texts=stored_texts(self._entry),
        )

    @property
    def facts(self) -> RunFacts:
        """Return the origin of the run."""
        return stored_facts(self._rashpa)

    @property
    def changed_limits(self) -> tuple[ChangedLimit, ...]:
        """Return the limits of vetoes that changed during the run, in order."""
        return changed_limits(self._rashpa)

    def _dense(self, index: int) -> NDArray[Any]:
        if (columns := self._place_columns) is not None:
            row = self.row_of(index)
            name, place = f"data_{int(columns[0][row]):06}", int(columns[1][row])
            part = self._part(name)
            if place >= len(part):
                raise StoredRunError(f"{self.path}: {name} holds fewer images than the master says; copy it again")
            return cast("NDArray[Any]", part[place])
        for name in self._links():
            part = self._part(name)
            if index < len(part):
                return cast("NDArray[Any]", part[index])
            index -= len(part)
        raise StoredRunError(f"{self.path}: the data files hold fewer images than the master says; copy them again")

    @cached_property
    def _place_columns(self) -> tuple[Array, Array] | None:
        """Return the columns with the file of each image and its place there; None in files of before."""
        return (self._rashpa["stored_file"], self._rashpa["stored_place"]) if "stored_file" in self._rashpa else None

    def _links(self) -> list[str]:
        return sorted((name for name in self._parts if name.startswith("data_")), key=natural)

    def _part(self, name: str) -> Array:
        if name not in self._open_parts:
            part = self._parts[name]
            if not isinstance(part, Array) or (part.shape[1:], part.dtype) != (self.shape, self.dtype):
                said = f"{part.shape} {part.dtype}" if isinstance(part, Array) else "a group"
                raise StoredRunError(
                    f"{part.file}: {part.name} is {said}; {self.path.name} leads to images of {self.shape} {self.dtype} there: copy it again"
                )
            self._open_parts[name] = part
        return self._open_parts[name]

    @property
    def unknown(self) -> int:
        """Return the number of images of unknown fate, because the receiver ended early."""
        books = self._rashpa["books"]
        return int(books["unknown"][()]) if "unknown" in books else 0

    @property
    def lost_windows(self) -> list[str]:
        """Return the reasons why accumulations are lost, after a repair that could not read their file."""
        if "accumulated_lost" not in self._rashpa:
            return []
        return [f"{self.path}: its accumulations are lost: {text_of(self._rashpa['accumulated_lost'][()])}"]

    def absent(self) -> dict[int, str]:
        """Return, by row, the reason why an image that the tables list as stored is in no file."""
        rows = np.flatnonzero(self.tables.stored_index >= 0)
        if self._raw is not None:
            return self._raw.absent(rows)
        if self._frame_ptr is not None:
            return absent_lists(self.path, self._data, self._frame_ptr, rows)
        places = StoredPlaces.of(self._rashpa, self._links(), self._part, rows)
        return absent_images(self.path, self._part, places)

    def _stored_bytes(self) -> int:
        if self._raw is not None:
            return self._raw.stored_bytes
        if self.form == "sparse":
            return sum(int(self._data[name].stored_bytes) for name in ("index", "intensity"))
        return sum(int(self._part(name).stored_bytes) for name in self._links())

    def _incomplete(self, row: int) -> IncompleteImage:
        state = name_of(COMPLETENESS, self.tables.completeness[row])
        return IncompleteImage(row, int(self.tables.frame_number[row]), state, self.lost_runs(row))


def _bound(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a bound of pixels of `dtype`. For integers it is a number of Python, which NumPy compares in the type of the pixels; a number of NumPy
    would widen every pixel first."""
    return int(value) if dtype.kind in "iu" and value.dtype.kind in "iu" else value


def _rows_of(columns: dict[str, NDArray[Any]]) -> NDArray[np.void]:
    """Return one array of rows with named columns."""
    count = max((len(values) for values in columns.values()), default=0)
    rows = np.zeros(count, [(name, values.dtype) for name, values in columns.items()])
    for name, values in columns.items():
        rows[name] = values
    return rows


def open_run(path: Path | str, *, folders: Iterable[Path] = ()) -> Run:
    """Open a run by its master file. `folders`: the folders in which its data files may be, with links resolved; by default its own. Raise
    StoredRunError when `path` is no run."""
    path = Path(path)
    try:
        file = Hdf5File(path, kind=StoredRunError, folders=folders)
    except FileNotFoundError:
        raise StoredRunError(f"{path}: {absent(path, HDF5)}") from None
    except OSError as error:
        if is_own(error):
            raise
        raise StoredRunError(f"{path}: {reason(error)}") from None
    except StoredRunError as error:
        if "lock" in str(error):
            raise StoredRunError(f"{path}: it is still being written; wait for the end of the run") from error
        raise
    if LEADS_TO in file.attrs:
        file.close()
        raise StoredRunError(f"{path}: it leads to other files of a run; open it by rashpa.open, or give one of those")
    try:
        with blaming(f"{path}: is not a run of rashpa", StoredRunError, "give the _master.h5 file of a finished run"):
            return Run(file, path)
    except BaseException as error:
        unfinished = isinstance(error, BadFileError) and "entry/rashpa" in file and not is_complete(file)
        file.close()
        if unfinished:
            raise StoredRunError(f"{path}: {_unfinished(path)}") from error
        raise


def _unfinished(path: Path) -> str:
    """Return the reason why a master has no tables. Its journal is locked while a process writes the run."""
    prefix = prefix_of(path)
    try:
        with open_shared(path.parent / f"{prefix.name}_master.journal") as journal:
            if has_writer(journal.fileno()):
                return "it is still being written; wait for the end of the run"
    except FileNotFoundError:
        return (
            "its receiver ended early, and its tables are gone with it; the images stored until then are in the data files, "
            "which h5py opens with swmr=True"
        )
    except OSError as error:
        return f"its receiver ended early, and its journal cannot be read: {error.filename}: {reason(error)}"
    return (
        "its receiver ended before it could complete the file: it was killed, or there was no room; what it has stored is there, "
        f"and `rashpa repair {prefix}` completes the file"
    )
