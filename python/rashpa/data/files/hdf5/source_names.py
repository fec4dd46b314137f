# SPDX-License-Identifier: Apache-2.0
"""Names the sources of virtual datasets: one for each mapping or, where the name is a pattern with a block number (%b), one for each block of images."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from rashpa.data.files.hdf5.selection import Axes, SelectionError, axes_of, is_unlimited

_MARK = re.compile(r"%([%b])")
_MOST_BLOCKS = 1 << 16


@dataclass(frozen=True)
class Source:
    """Names an array of a file, and the part of the virtual dataset that it holds."""

    file: str
    name: str
    target: Axes


def sources_of(properties: h5py.h5p.PropDCID, number: int, shape: tuple[int, ...]) -> Iterator[Source]:
    """Yield the sources of mapping `number` of a dataset of this shape. Raise SelectionError when the mapping is not supported."""
    file, name = properties.get_virtual_filename(number), properties.get_virtual_dsetname(number)
    space = properties.get_virtual_vspace(number)
    if not (_is_pattern(file) or _is_pattern(name)):
        target = axes_of(space)
        if target is not None:
            yield Source(_filled(file, 0), _filled(name, 0), target)
        return
    for block, target in enumerate(_blocks(space, shape)):
        yield Source(_filled(file, block), _filled(name, block), target)


def _blocks(space: h5py.h5s.SpaceID, shape: tuple[int, ...]) -> Iterator[Axes]:
    """Yield the target of each block of images: blocks follow one another along the first axis, up to the end of the dataset."""
    if not shape or space.get_select_type() != h5py.h5s.SEL_HYPERSLABS or not space.is_regular_hyperslab():
        raise SelectionError("its pattern is of no blocks of images")
    starts, strides, counts, sizes = space.get_regular_hyperslab()
    if not is_unlimited(counts[0]) or is_unlimited(sizes[0]):
        raise SelectionError("its pattern is of no blocks of images")
    one = h5py.h5s.create_simple(shape)
    for block, first in enumerate(range(int(starts[0]), shape[0], int(strides[0]))):
        if block == _MOST_BLOCKS:
            raise SelectionError(f"its pattern has more than {_MOST_BLOCKS} blocks")
        last = np.minimum(first + int(sizes[0]), shape[0])
        one.select_hyperslab((first, *starts[1:]), (1, *counts[1:]), (1, *strides[1:]), (int(last) - first, *sizes[1:]))
        target = axes_of(one)
        if target is not None:
            yield target


def opened_by_hdf5(data: h5py.Dataset, folders: Iterable[Path]) -> Iterator[Path]:
    """Yield the files that the HDF5 library itself opens when asked for a dataset's number of images: sources of unlimited mappings. `folders`: the
    folders where it searches for names that are no absolute paths."""
    properties = data.id.get_create_plist()
    if properties.get_layout() != h5py.h5d.VIRTUAL:
        return
    for number in range(properties.get_virtual_count()):
        file, space = properties.get_virtual_filename(number), properties.get_virtual_vspace(number)
        if file == "." or not _is_open(space):
            continue
        for folder in dict.fromkeys(folders):
            path = folder / file
            for parent in {path.parent, folder}:  # it takes the last part of a whole path, too
                matches = re.compile(_expression(path.name))
                yield from (parent / name for name in _names_in(parent) if matches.fullmatch(name))


def _is_open(space: h5py.h5s.SpaceID) -> bool:
    """Return True when a selection is unlimited, so that it ends with its source."""
    if space.get_select_type() != h5py.h5s.SEL_HYPERSLABS or not space.is_regular_hyperslab():
        return False
    _, _, counts, sizes = space.get_regular_hyperslab()
    return any(map(is_unlimited, (*counts, *sizes)))


def _expression(name: str) -> str:
    """Return a regular expression that matches the names of a pattern; its group is the number."""
    plain = _MARK.sub(lambda mark: "%" if mark[1] == "%" else "\0", name)
    return "([0-9]+)".join(map(re.escape, plain.split("\0")))


def check_gap(folder: Path, pattern: str, blocks: int) -> None:
    """Check that no file of a pattern has a larger number than the first `blocks` blocks, which end at the first missing file. Raise SelectionError
    when one has. `folder`: the folder to which file names are relative."""
    path = folder / pattern
    if not _is_pattern(path.name) or _is_pattern(str(path.parent)):
        return
    named = re.compile(_expression(path.name))
    numbers = [int(found[1]) for found in map(named.fullmatch, _names_in(path.parent)) if found]
    behind = [number for number in numbers if number >= blocks]
    if behind:
        raise SelectionError(
            f"{_filled(path.name, blocks)} is not there, and {_filled(path.name, min(behind))} is; put the first one there"
            if blocks not in behind
            else f"{_filled(path.name, blocks)} is there, and holds none of its images; copy it again"
        )


def _names_in(folder: Path) -> list[str]:
    try:
        return [one.name for one in folder.iterdir()]
    except OSError:
        return []  # of files that are absent its own error tells


def _is_pattern(name: str) -> bool:
    return any(mark[1] == "b" for mark in _MARK.finditer(name))


def _filled(name: str, block: int) -> str:
    """Return the pattern's name for a block of images."""
    return _MARK.sub(lambda mark: "%" if mark[1] == "%" else str(block), name)
