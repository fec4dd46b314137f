# SPDX-License-Identifier: Apache-2.0
"""Compares every pixel and every row of the tables with the dataset."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from tests.chaos import jungfrau
from tests.chaos.frames import LOST, Array, coverage, is_dark, raw_image
from tests.chaos.plan import Buffer, Plan
from tests.chaos.stored import ACCEPTED, COMPLETE, ERRORED, MISSING, OPEN, PARTIAL, VETOED, Stored

_TOO_FEW, _DARK, _PARTIAL_REASON = 1, 3, 4
_MOST = 5  # complaints of one kind


def check_buffer(plan: Plan, buffer: Buffer, stored: Stored) -> list[str]:
    """Return the faults in the files of a buffer. Without a closed master, only its data files can be checked."""
    problems = _closed(plan, buffer, stored) if stored.closed else _loose(plan, buffer, stored)
    kinds: dict[str, int] = {}
    kept = []
    for kind, text in problems:
        kinds[kind] = kinds.get(kind, 0) + 1
        if kinds[kind] <= _MOST:
            kept.append(f"buffer {buffer.name}: {text}")
    more = (f"buffer {buffer.name}: {count} times: {kind}" for kind, count in kinds.items() if count > _MOST)
    return [*kept, *more]


def _closed(plan: Plan, buffer: Buffer, stored: Stored) -> Iterator[tuple[str, str]]:
    yield from _check_tables(plan, buffer, stored)
    yield from _check_places(buffer, stored)
    if stored.images is not None and stored.images.shape[1:] != (buffer.height, buffer.width):
        yield "shape", f"images of {stored.images.shape[1:]} pixels, {(buffer.height, buffer.width)} were asked for"
        return
    checker = Pixels(plan, buffer)
    mask = stored.pixel_mask
    if mask is None or not np.array_equal((mask & 1) != 0, checker.gaps):
        yield "mask", "pixel_mask does not say where the gaps are"
    index = stored.tables["stored_index"]
    for row in range(len(index)):
        lost, inside = lost_pixels(buffer, stored, row)
        if not inside:
            yield "lost", f"row {row}: lost lines outside their DTP's region"
        complete = stored.tables["completeness"][row] == COMPLETE
        if complete and lost.any():
            yield "lost", f"row {row} is complete and has lost lines"
        if stored.tables["completeness"][row] == PARTIAL and not lost.any():
            yield "lost", f"row {row} is partial, and no line of it is lost"
        if 0 <= index[row] < stored.count:
            yield from checker.check(stored, row, int(index[row]), lost)
        else:
            yield from checker.check_not_stored(stored, row, lost)


def _check_tables(plan: Plan, buffer: Buffer, stored: Stored) -> Iterator[tuple[str, str]]:
    tables = stored.tables
    frames = tables["frame_number"].astype(np.int64)
    due = np.arange(buffer.phase, plan.frames, buffer.every)[: len(frames)]
    if len({len(table) for table in tables.values()}) != 1 or not np.array_equal(frames, due):
        yield "rows", f"the rows are not frames {buffer.phase}, {buffer.phase + buffer.every}, … in order"
        return
    decision, completeness, index = tables["decision"], tables["completeness"], tables["stored_index"]
    kept = np.flatnonzero(decision == ACCEPTED)
    if not np.array_equal(index[kept], np.arange(len(kept))) or (index[decision != ACCEPTED] != -1).any():
        yield "index", "stored_index does not number the accepted images, and them alone"
    if len(kept) != stored.count:
        yield "count", f"{len(kept)} images are accepted in the table, {stored.count} can be read"
    if stored.virtual is not None and len(stored.virtual) != stored.count:
        yield "count", f"the virtual dataset has {len(stored.virtual)} images, the data files {stored.count}"
    elif stored.virtual is not None and stored.images is not None:
        same = stored.virtual.tobytes() == stored.images.tobytes()
        if not same:
            yield "virtual", "the virtual dataset does not show what lies in the data files"
    if stored.errors is not None and not np.array_equal(stored.errors != 0, decision == ERRORED):
        yield "errors", "an errored image has no reason, or another one has"
    if not np.array_equal(stored.frame_number.astype(np.int64), frames[kept]):
        yield "numbers", "frame_number of the stored images is not that of the accepted rows"
    if not np.array_equal((completeness == MISSING) | (completeness == OPEN), decision == 0):
        yield "decision", "a missing image was decided on, or another one was not"
    dead = _dead_rows(plan, buffer, frames)
    if (completeness[dead] == COMPLETE).any():
        yield "dead", f"frame {frames[dead & (completeness == COMPLETE)][0]} is complete, but its module was dead"
    yield from _check_books(stored, buffer.images(plan.frames))
    yield from _check_decisions(plan, buffer, stored)


def _dead_rows(plan: Plan, buffer: Buffer, frames: NDArray[np.int64]) -> NDArray[np.bool_]:
    dead = np.zeros(len(frames), np.bool_)
    for module, first in plan.faults.dead:
        if any(piece.module == module for piece in buffer.pieces):
            dead |= frames >= first
    return dead


def _check_books(stored: Stored, due: int) -> Iterator[tuple[str, str]]:
    """Check that images without a row count as missing in a run that was ended; in a repaired run their fate is unknown."""
    decision, completeness = stored.tables["decision"], stored.tables["completeness"]
    rowless = due - len(completeness) + int((completeness == OPEN).sum()) - stored.unknown
    counted = {
        "complete": int((completeness == COMPLETE).sum()),
        "partial": int((completeness == PARTIAL).sum()),
        "missing": int((completeness == MISSING).sum()) + rowless,
        "accepted": int((decision == ACCEPTED).sum()),
        "vetoed": int((decision == VETOED).sum()),
        "errored": int((decision == ERRORED).sum()),
        "written": stored.count,
    }
    for name, value in counted.items():
        if stored.books[name] != value:
            yield "books", f"books in the file say {stored.books[name]} {name}, its rows {value}"


def _check_decisions(plan: Plan, buffer: Buffer, stored: Stored) -> Iterator[tuple[str, str]]:
    tables = stored.tables
    for row, frame in enumerate(tables["frame_number"].tolist()):
        if tables["decision"][row] not in (ACCEPTED, VETOED):
            continue
        reason = 0
        partial = tables["completeness"][row] == PARTIAL
        if is_dark(plan, frame) and not buffer.keep_darks:
            reason = _DARK
        elif partial and buffer.partial == "veto":
            reason = _PARTIAL_REASON
        found = int(tables["veto_reason"][row])
        may_be_few = buffer.kernel == "veto" and reason == 0
        if found != reason and not (may_be_few and found == _TOO_FEW):
            yield "veto", f"frame {frame} has veto reason {found}, {reason} is due"
        if (found != 0) != (tables["decision"][row] == VETOED):
            yield "veto", f"frame {frame}: decision and veto reason disagree"


def _check_places(buffer: Buffer, stored: Stored) -> Iterator[tuple[str, str]]:
    """Check that the DTPs in the file cover the buffer's image, each pixel once and from its own module."""
    owner, due = np.full((buffer.height, buffer.width), -1), coverage(buffer)
    columns = (stored.dtps[name].tolist() for name in ("module", "x", "y", "width", "height"))
    for module, x, y, width, height in zip(*columns, strict=True):
        area = owner[y : y + height, x : x + width]
        if area.shape != (height, width) or (area != -1).any():
            yield "places", f"a DTP of module {module} lies outside the image or over another"
        area[:] = module
    if not np.array_equal(owner, due):
        yield "places", "the DTPs in the file are not what the buffer is made of"


def lost_pixels(buffer: Buffer, stored: Stored, row: int) -> tuple[NDArray[np.bool_], bool]:
    lost = np.zeros((buffer.height, buffer.width), np.bool_)
    inside = True
    if stored.lost is None:
        return lost, inside
    pointer, dtp, first, lines = stored.lost
    places = {int(number): at for at, number in enumerate(stored.dtps["id"])}
    for run in range(int(pointer[row]), int(pointer[row + 1])):
        at = places[int(dtp[run])]
        x, y, width, height = (int(stored.dtps[name][at]) for name in ("x", "y", "width", "height"))
        inside &= lines[run] > 0 and int(first[run]) + int(lines[run]) <= height
        lost[y + int(first[run]) : y + int(first[run]) + int(lines[run]), x : x + width] = True
    return lost, inside


class Pixels:
    """Compares images of one buffer with the dataset."""

    def __init__(self, plan: Plan, buffer: Buffer) -> None:
        self._plan = plan
        self._buffer = buffer
        self.gaps = coverage(buffer) < 0
        self._maps = jungfrau.calibration_of(plan, buffer) if buffer.kernel != "raw" else None
        self._raw: dict[int, Array] = {}

    def raw(self, frame: int) -> Array:
        """Return the dataset's frame; frames repeat."""
        frame %= self._plan.dataset_frames
        if frame not in self._raw:
            self._raw[frame] = raw_image(self._plan, self._buffer, frame)
        return self._raw[frame]

    def check(self, stored: Stored, row: int, place: int, lost: NDArray[np.bool_]) -> Iterator[tuple[str, str]]:
        """Check a stored image."""
        frame = int(stored.tables["frame_number"][row])
        how = "complete" if stored.tables["completeness"][row] == COMPLETE else "partial"
        if stored.sparse is not None:
            wrong = self._wrong_sparse(stored.sparse, place, frame, lost)
        elif stored.images is not None:
            wrong = self.wrong(stored.images[place], frame, lost)
        else:
            return
        if wrong.any():
            row_, column = np.argwhere(wrong)[0]
            yield (
                f"wrong pixels in images that are {how}",
                f"frame {frame} ({how}, stored image {place}) has {int(wrong.sum())} wrong pixels of {wrong.size}, the first in row {row_}, column {column}",
            )
        yield from self.check_not_stored(stored, row, lost)

    def wrong(self, image: Array, frame: int, lost: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return True for pixels of a dense image that differ from the frame; lost pixels must be marked."""
        raw = self.raw(frame)
        if self._maps is None:
            wrong = image != raw
            fill = LOST[self._plan.pixel]
            at_fill = np.isnan(image) if np.isnan(fill) else image == image.dtype.type(fill)
            wrong[self.gaps] = False  # of gaps only the mask speaks
            wrong[lost] = ~at_fill[lost]
            return np.asarray(wrong, np.bool_)
        expected = self._converted(raw, lost)
        compare = jungfrau.wrong_kev if self._buffer.kernel == "kev" else jungfrau.wrong_photons
        return compare(image, expected)

    def check_not_stored(self, stored: Stored, row: int, lost: NDArray[np.bool_]) -> Iterator[tuple[str, str]]:
        """Check the row's numbers of masked, saturated and bright pixels, whether the image is stored or not."""
        tables = stored.tables
        if self._maps is None or tables["decision"][row] not in (ACCEPTED, VETOED):
            return
        if tables["veto_reason"][row] in (_DARK, _PARTIAL_REASON):
            return  # decided before the kernels
        frame = int(tables["frame_number"][row])
        expected = self._converted(self.raw(frame), lost)
        for name, count in (("masked_pixels", expected.masked.sum()), ("saturated_pixels", expected.saturated.sum())):
            if tables[name][row] != count:
                yield name, f"frame {frame}: {tables[name][row]} {name}, {count} are due"
        if self._buffer.kernel != "veto":
            return
        fewest, most = jungfrau.bright_bounds(expected)
        bright = int(tables["bright_pixels"][row])
        if not fewest <= bright <= most:
            yield "bright_pixels", f"frame {frame}: {bright} bright pixels, {fewest} to {most} are due"
        if (bright < self._buffer.min_bright) != (tables["veto_reason"][row] == _TOO_FEW):
            yield "veto", f"frame {frame}: {bright} bright pixels and veto reason {tables['veto_reason'][row]}"

    def _converted(self, raw: Array, lost: NDArray[np.bool_]) -> jungfrau.Converted:
        assert self._maps is not None
        seen = np.where(lost, np.uint16(0xFFFF), raw)
        return jungfrau.convert(seen, self._maps, photons=self._buffer.kernel != "kev")

    def _wrong_sparse(
        self, sparse: tuple[Array, Array, Array], place: int, frame: int, lost: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Check that listed pixels have their photons, and that no pixel that surely reaches the threshold is missing."""
        index, intensity, pointer = sparse
        part = slice(int(pointer[place]), int(pointer[place + 1]))
        where, values = index[part].astype(np.int64), intensity[part]
        expected = self._converted(self.raw(frame), lost)
        wrong = np.zeros(expected.value.size, np.bool_)
        if len(where) and (where.max() >= wrong.size or (np.diff(where) <= 0).any()):
            return np.ones_like(expected.masked)
        found = np.full(wrong.size, jungfrau.MASKED, np.int16)
        found[where] = values
        listed = np.zeros(wrong.size, np.bool_)
        listed[where] = True
        flat = jungfrau.Converted(expected.value.ravel(), expected.masked.ravel(), expected.saturated.ravel())
        wrong[listed] = jungfrau.wrong_photons(found, flat)[listed] | flat.masked[listed]
        wrong[listed] |= values < jungfrau.THRESHOLD
        due = ~flat.masked & ((flat.value - flat.slack > jungfrau.THRESHOLD - 0.5) | flat.saturated)
        wrong |= due & ~listed
        return wrong.reshape(expected.value.shape)


def _loose(plan: Plan, buffer: Buffer, stored: Stored) -> Iterator[tuple[str, str]]:
    """Check data files without tables: every image is a frame of the buffer, in order, except for whole lost lines."""
    if stored.loose is None or buffer.kernel != "raw" or stored.loose.shape[1:] != (buffer.height, buffer.width):
        return
    checker = Pixels(plan, buffer)
    fill = LOST[plan.pixel]
    row = 0
    for place, image in enumerate(stored.loose):
        lost = np.isnan(image) if np.isnan(fill) else image == image.dtype.type(fill)
        while row < buffer.images(plan.frames):
            frame = buffer.phase + row * buffer.every
            row += 1
            if not checker.wrong(image, frame, lost & ~checker.gaps).any():
                break
        else:
            yield "wrong pixels in a file without tables", f"image {place} of the data files is no frame that is due"
            return
