# SPDX-License-Identifier: Apache-2.0
"""Reads HDF5 files of images from other writers: NXmx, master files of detectors, virtual datasets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rashpa.data.files.file_names import NumberingError, in_order
from rashpa.data.files.hdf5.layouts import Absence
from rashpa.data.files.hdf5.tree import Array, Group, Hdf5File, told
from rashpa.data.stored.stored_piece import LARGEST_SIDE, PIXELS, Absent, Piece, Stated, StoredError, no_value

_PART = re.compile(r"data_[0-9]{1,18}")
_ANNOUNCED = "instrument/detector/detectorSpecific"
_MOST_IMAGES = 1 << 27
_GROUPS = 32
"""Entries that are looked at for images."""


@dataclass
class _Part:
    """Holds one array of images, and the number of images in the arrays before it."""

    data: Array | Absence
    before: int
    count: int


class Foreign:
    """Reads /entry/data/data, or data_000001 and so on, to which a master file links."""

    def __init__(self, path: Path, folders: Sequence[Path] = ()) -> None:
        """Open the file. Raise StoredError when it contains no images, or links to a folder that is not allowed."""
        self._path = path
        self._file = Hdf5File(path, folders=folders, kind=StoredError)
        try:
            self._parts = self._find()
            first = next(part.data for part in self._parts if isinstance(part.data, Array))
            self.shape: tuple[int, int] = (first.shape[1], first.shape[2])
            self.pixel = first.dtype.name
            self.frames = self._parts[-1].before + self._parts[-1].count
            self._chunk_bytes = max(part.data.chunk_bytes for part in self._parts if isinstance(part.data, Array))
            self.absent = self._absent()
            self.stated = self._stated()
        except BaseException:
            self._file.close()
            raise

    def bytes_of(self, count: int) -> int:
        """Return the number of bytes of `count` decompressed images."""
        return max(self._chunk_bytes, count * self.shape[0] * self.shape[1] * np.dtype(self.pixel).itemsize)

    def read(self, first: int, count: int) -> Piece:
        """Read images. Absent images, and pixels without a source in a virtual dataset, hold no_value()."""
        images = np.full((count, *self.shape), no_value(np.dtype(self.pixel)), np.dtype(self.pixel))
        gone = set(self.absent.images[(self.absent.images >= first) & (self.absent.images < first + count)].tolist())
        for part in self._parts:
            start, end = max(first, part.before), min(first + count, part.before + part.count)
            if isinstance(part.data, Array):
                for low, high in _stretches(start, end, gone):
                    read = images[low - first : high - first]
                    read[...] = part.data.rows(low - part.before, high - part.before)
                    gaps = part.data.gaps(low - part.before, high - part.before)
                    if gaps is not None:  # between the modules of a detector, as a rule
                        read[gaps] = no_value(np.dtype(self.pixel))
        return Piece(images)

    def close(self) -> None:
        """Close the file, and all files to which it links."""
        self._file.close()

    def _find(self) -> list[_Part]:
        group = self._group()
        names = ["data"] if "data" in group else self._numbered(group)
        found = [(name, group.find(name)) for name in names]
        arrays = [one for _, one in found if isinstance(one, Array)]
        for name, one in found:
            if not isinstance(one, Array | Absence):
                raise StoredError(
                    f"{self._path}: {group.name}/{name} is no dataset; give the master file of a detector, or an NXmx file"
                )
        for one in arrays:
            self._check_kind(one)
            if one.shape[1:] != arrays[0].shape[1:] or one.dtype != arrays[0].dtype:
                raise StoredError(
                    f"{one}: its images have another shape or type than those of {arrays[0]}; give files of one kind"
                )
        if not arrays:
            texts = "; ".join(one.text for _, one in found if isinstance(one, Absence))
            raise StoredError(f"{self._path}: none of its images can be reached: {texts}; put it beside it")
        parts = self._counted([one for _, one in found if isinstance(one, Array | Absence)], len(arrays[0]))
        if parts[-1].before + parts[-1].count == 0:
            raise StoredError(f"{self._path}: it holds no image")
        return parts

    def _group(self) -> Group:
        """Return the group with the images: /entry/data, or `data` of the first other entry that has it."""
        for name in ("entry", *[one for one in self._file if one != "entry"][:_GROUPS]):
            group = self._file.find(f"{name}/data")
            if isinstance(group, Group):
                return group
            if isinstance(group, Absence):
                raise StoredError(f"{self._path}: /{name}: {group.text}; put it there")
        raise StoredError(f"{self._path}: it has no /entry/data; give an NXmx file, or the master file of a detector")

    def _numbered(self, group: Group) -> list[str]:
        """Return the parts data_1, data_2 … in the order of their numbers."""
        try:
            names = in_order(name for name in group if _PART.fullmatch(name))
        except NumberingError as error:
            raise StoredError(f"{self._path}: /entry/data: {error}; copy the master file again") from None
        if not names:
            raise StoredError(f"{self._path}: there are no images in /entry/data; give the master file")
        if int(names[0].removeprefix("data_")) > 1:
            raise StoredError(
                f"{self._path}: /entry/data begins with {names[0]}, and lacks the parts before it; give a complete master file"
            )
        return names

    def _check_kind(self, data: Array) -> None:
        sides = all(1 <= side <= LARGEST_SIDE for side in data.shape[1:])
        if len(data.shape) != 3 or data.dtype.name not in PIXELS or not sides or len(data) > _MOST_IMAGES:
            text = " × ".join(map(str, data.shape)) or "one value"
            raise StoredError(
                f"{data}: {text} of {data.dtype} are no images of pixels [image][row][column]; give some of {', '.join(PIXELS)}"
            )

    def _counted(self, found: Sequence[Array | Absence], usual: int) -> list[_Part]:
        """Count the images of parts. An absent part counts as many as the first part. An absent last part counts the rest of the announced images,
        because an aborted series may never have written it."""
        counts = [len(one) if isinstance(one, Array) else usual for one in found]
        announced = self._announced()
        if announced is not None and isinstance(found[-1], Absence):
            counts[-1] = min(usual, max(1, announced - sum(counts[:-1])))
        parts, before = [], 0
        for one, count in zip(found, counts, strict=True):
            parts.append(_Part(one, before, count))
            before += count
        return parts

    def _announced(self) -> int | None:
        """Return the number of images that the detector was to take, None when the file does not state it."""
        numbers = []
        for name in ("nimages", "ntrigger"):
            found = self._file.find(f"entry/{_ANNOUNCED}/{name}")
            if not isinstance(found, Array) or found.shape not in ((), (1,)) or found.dtype.kind not in "iu":
                return None
            numbers.append(int(np.asarray(found[()]).reshape(-1)[0]))
        images = numbers[0] * numbers[1]
        return images if 0 < images <= _MOST_IMAGES else None

    def _stated(self) -> Stated:
        """Return the file's statements on its pixels. Where it states so for signed pixels, only the least value is masked; otherwise the detector's
        rule holds."""
        least = self._file.find("entry/instrument/detector/underload_value")
        kind = np.dtype(self.pixel)
        if (
            kind.kind != "i"
            or not isinstance(least, Array)
            or least.shape not in ((), (1,))
            or least.dtype.kind not in "iu"
        ):
            return Stated()
        return Stated("minimum" if int(np.asarray(least[()]).reshape(-1)[0]) == np.iinfo(kind).min + 1 else "delivered")

    def _absent(self) -> Absent:
        gone: dict[int, Absence] = {}
        for part in self._parts:
            if isinstance(part.data, Absence):
                gone |= dict.fromkeys(range(part.before, part.before + part.count), part.data)
            else:
                gone |= {part.before + row: absence for row, absence in part.data.absences().items()}
        return Absent(np.array(sorted(gone), np.int64), told(gone) if gone else "")


def _stretches(start: int, end: int, gone: set[int]) -> list[tuple[int, int]]:
    """Return present images between `start` and `end`, as pairs of first and end of consecutive ones."""
    found: list[tuple[int, int]] = []
    for image in range(start, end):
        if image in gone:
            continue
        if found and found[-1][1] == image:
            found[-1] = (found[-1][0], image + 1)
        else:
            found.append((image, image + 1))
    return found
