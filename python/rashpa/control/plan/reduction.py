# SPDX-License-Identifier: Apache-2.0
"""Describes the reduction of a buffer's images at their source for the plan: sizes of bins, places in the binned image, and offset files."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rashpa.control.plan.rectangle import Rectangle
from rashpa.control.runfile import run_file as toml
from rashpa.data.datasets.calibration_reference import file_of
from rashpa.data.files.file_names import located

Bins = tuple[int, int]
"""Columns and rows of the pixels that become one."""
UNBINNED: Bins = (1, 1)


def bins_of(section: toml.Buffer) -> Bins:
    """Return the bins of a buffer's images, 1 × 1 without a reduction."""
    return UNBINNED if section.reduction is None else (section.reduction.bin_x, section.reduction.bin_y)


def binned(rectangle: Rectangle, bins: Bins) -> Rectangle:
    """Return the smallest rectangle of bins that covers a rectangle of pixels."""
    x, y = rectangle.x // bins[0], rectangle.y // bins[1]
    right, bottom = -(-rectangle.right // bins[0]), -(-rectangle.bottom // bins[1])
    return Rectangle(x, y, right - x, bottom - y)


def fits(rectangle: Rectangle, bins: Bins) -> bool:
    """Return True when all sides of a rectangle of pixels lie between bins."""
    one = binned(rectangle, bins)
    return Rectangle(one.x * bins[0], one.y * bins[1], one.width * bins[0], one.height * bins[1]) == rectangle


def offset_name(section: toml.Buffer, module: int, folder: Path | None) -> str:
    """Return the name of a module's offset file, empty without one. `folder`: the start of relative names, None to keep them."""
    if section.reduction is None or not section.reduction.offset:
        return ""
    name = section.reduction.offset[module]
    return name if folder is None else located(name, folder)


def offset_files(sections: Sequence[toml.Buffer], folder: Path) -> Iterator[Path]:
    """Yield the files of all offsets; relative names start at `folder`."""
    for section in sections:
        for name in section.reduction.offset if section.reduction else ():
            yield Path(file_of(located(name, folder)))
