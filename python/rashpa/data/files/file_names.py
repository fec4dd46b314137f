# SPDX-License-Identifier: Apache-2.0
"""Interprets names of files: the order of numbered files, the kind of content, and the array that a name selects."""

import difflib
import fnmatch
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from rashpa.data.base.rashpa_error import RashpaError

PACKED = (".gz", ".bz2", ".zst")
HDF5 = (".h5", ".hdf5", ".nxs", ".cxi")
HEADERLESS = (".bin", ".raw", ".dat")
IMAGES = (".npy", ".cbf", ".tif", ".tiff", ".edf", *HEADERLESS, *PACKED)
_MOST_NAMED = 5
_NO_FRAMES = (".npz", ".png", ".jpg", ".jpeg", ".msk", ".mat", ".zip", ".tar", ".json", ".toml", ".txt", ".csv")
_NUMBER = re.compile(r"([0-9]+)")
_ARRAY_OF_HDF5 = re.compile(rf"(.+(?:{'|'.join(map(re.escape, HDF5))})):(/.+)", re.IGNORECASE | re.DOTALL)
_ARRAY_OF_NPZ = re.compile(r"(.+\.npz):(.+)", re.IGNORECASE | re.DOTALL)
_FRAME_OF_FILE = re.compile(r"(.+)#([0-9]{1,9})", re.DOTALL)


def absent(path: Path, endings: Sequence[str]) -> str:
    """Return a text for a missing file. It lists the files beside it with these endings, those with similar names first."""
    try:
        there = sorted(one.name for one in path.parent.iterdir() if one.name.lower().endswith(tuple(endings)))
    except OSError:
        there = []
    if not there:
        return (
            "no such file; check its name"
            if path.parent.is_dir()
            else f"no such file; there is no folder {path.parent}"
        )
    near = difflib.get_close_matches(path.name, there, n=_MOST_NAMED)
    names = [str(path.parent / name) for name in dict.fromkeys([*near, *there])]
    return (
        f"no such file; there are {', '.join(names[:_MOST_NAMED])}"
        if len(names) > 1
        else f"no such file; there is {names[0]}"
    )


class NumberingError(RashpaError, ValueError):
    """Reports a gap in numbered names; the text names the missing file."""


def natural(name: Path | str) -> tuple[tuple[str | tuple[int, str], ...], str]:
    """Return a sort key that orders numbers in a name by value, so that data_2 precedes data_10."""
    parts = _NUMBER.split(str(name))
    return tuple(_digits(part) if place % 2 else part for place, part in enumerate(parts)), str(name)


def _digits(part: str) -> tuple[int, str]:
    """Return a sort key for digits, which orders numbers of any length without converting them."""
    figures = part.lstrip("0")
    return len(figures), figures


def in_order(names: Iterable[str]) -> list[str]:
    """Sort numbered names by their numbers. Raise NumberingError when a number in between is missing, or occurs twice."""
    found = sorted(names, key=natural)
    series: dict[tuple[str, ...], list[list[str]]] = {}
    for name in found:
        parts = _NUMBER.split(name)
        series.setdefault(tuple(parts[::2]), []).append(parts)
    for own in series.values():
        _check_series(own)
    return found


def is_file(path: Path) -> bool:
    """Return True for a regular file. Return False also without the permission to inspect the name; reading it then gives the reason."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Return True for a folder. Return False also without the permission to inspect the name."""
    try:
        return path.is_dir()
    except OSError:
        return False


def is_pattern(name: str) -> bool:
    """Return True for a pattern or a folder, which name several files. A pattern that is the name of an existing file counts as a file."""
    path = Path(name)
    return is_folder(path) or (any(mark in path.name for mark in "*?[") and not is_file(path))


def frame_files(name: str) -> list[str]:
    """Return the files of frames that a name selects, in the order of their numbers: the file itself, the files in a folder, or those that match a
    pattern in the last part. Return the name itself when there are none."""
    path = Path(name)
    if not is_pattern(name):
        return [name]
    folder, pattern = (path, "*") if is_folder(path) else (path.parent, path.name)
    try:
        there = sorted((one.name for one in folder.iterdir() if is_file(one)), key=natural)
    except OSError:
        return [name]
    fitting = [one for one in fnmatch.filter(there, pattern) if not one.startswith(".") or pattern.startswith(".")]
    if is_folder(path):
        fitting = [one for one in fitting if one.lower().endswith(IMAGES)]
    return [str(folder / one) for one in fitting] or [name]


def _check_series(names: Sequence[list[str]]) -> None:
    """Check that names with the same words have consecutive numbers, where only their last changing number differs. Raise NumberingError."""
    places = range(1, len(names[0]), 2)
    changing = [place for place in places if len({_digits(parts[place]) for parts in names}) > 1]
    if not changing:
        changing = list(places)[-1:] if len(names) > 1 else []
    for before, after in pairwise(names) if changing else ():
        last = changing[-1]
        if any(_digits(before[place]) != _digits(after[place]) for place in changing[:-1]):
            continue
        first, second = int(before[last]), int(after[last])
        if second == first:
            raise NumberingError(f"{''.join(before)} and {''.join(after)} have the same number; keep one of them")
        if second > first + 1:
            between = [*before]
            between[last] = f"{first + 1:0{len(before[last])}}"
            raise NumberingError(f"{''.join(between)} is missing between {''.join(before)} and {''.join(after)}")


def without_packing(name: Path | str) -> str:
    """Return the name in lower case, without the ending of a compressed file."""
    text = str(name).lower()
    for packed in PACKED:
        if text.endswith(packed):
            return text.removesuffix(packed)
    return text


def raw_format(names: Sequence[str], said: str = "auto") -> str:
    """Return the storage format of recorded frames for the native reader, "auto" when the lower-case names show it. Raise ValueError for names of
    several kinds, which the reader does not support, and for files that are not frames in sequence. Never raise NumberingError."""
    for name in names if said == "auto" else ():
        if is_hdf5(name):
            raise ValueError(
                f'{name}: it is HDF5 by its name; play it with dataset.kind = "stored", or give its frames as .npy'
            )
        if without_packing(name).endswith(_NO_FRAMES):
            raise ValueError(
                f"{name}: files of this kind hold no frames that are read; save them as .npy, TIFF, CBF or EDF"
            )
    if said != "auto" or all(
        name.lower().endswith((".npy", ".npy.zst", ".zst")) == name.endswith((".npy", ".npy.zst", ".zst"))
        for name in names
    ):
        return said
    kinds = {next((kind for kind in (".npy", ".zst") if name.lower().endswith(kind)), ".bin") for name in names}
    if len(kinds) > 1:
        raise ValueError(
            f"{names[0]}: files of several kinds, some with names in capital letters; write their endings in small ones"
        )
    return kinds.pop().removeprefix(".")


def is_hdf5(name: Path | str) -> bool:
    """Return True when the name is that of an HDF5 file."""
    return str(name).lower().endswith(HDF5)


@dataclass(frozen=True)
class ArrayName:
    """Names the file of `FILE.h5:/PATH`, `ARCHIVE.npz:KEY` or `FILE#FRAME`, and the array in it; "" selects the only one that fits."""

    file: str
    inner: str = ""
    frame: int | None = None


def array_name(reference: str) -> ArrayName:
    """Split a reference into file and array. When a file has the whole text as its name, the reference is that file."""
    if os.path.lexists(reference):
        return ArrayName(reference)
    if found := _ARRAY_OF_HDF5.fullmatch(reference) or _ARRAY_OF_NPZ.fullmatch(reference):
        return ArrayName(found[1], found[2])
    if found := _FRAME_OF_FILE.fullmatch(reference):
        return ArrayName(found[1], frame=int(found[2]))
    return ArrayName(reference)


def encoding_trouble(name: Path | str) -> str:
    """Return the reason why native code cannot use a name, empty when it can."""
    try:
        str(name).encode("utf-8")
    except UnicodeEncodeError:
        return f"{os.fsencode(name)!r}: the name is not in UTF-8; rename it, or choose another"
    return ""


def located(name: str, base: Path) -> str:
    """Return the path relative to the folder `base`; `~` is the home of this process's user."""
    return str(base / expanded(name))


def expanded(name: str) -> str:
    """Return the name with a leading `~` or `~user` replaced, if there is such a home."""
    return os.path.expanduser(name) if name.startswith("~") else name  # noqa: PTH111 (a name, which is kept as it is written)
