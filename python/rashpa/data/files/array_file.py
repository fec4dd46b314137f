# SPDX-License-Identifier: Apache-2.0
"""Reads one array, such as a map or a mask, from a file of any kind. The array must be named, or be the only one that fits; otherwise an error lists
the arrays of the file.

References: `.npy`, headerless numbers, `.zst` of these, `ARCHIVE.npz` or `ARCHIVE.npz:KEY`, HDF5 or `FILE.h5:/PATH`, an image file or `FILE#FRAME`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.files.bounded_array import is_plain, read_array
from rashpa.data.files.file_names import array_name

_MOST_NAMED = 12  # of a file's arrays


def read_array_file(reference: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the array of `shape` with the file's type; headerless bytes are `dtype`. Raise OSError, or ValueError that begins with the reference."""
    name = array_name(reference)
    if not is_plain(name.file):
        from rashpa.data.files.images import (
            read_one_array,  # with the native module, which names of geometries do not need
        )

        found = read_one_array(name, shape)  # its errors begin with the file
    else:
        try:
            found = read_array(name, dtype, shape)
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001 (zip, zstd and .npy raise many kinds for a file that is not what it says)
            raise ValueError(f"{reference}: {str(error) or type(error).__name__}") from None
    if found.shape != shape:
        raise ValueError(f"{reference}: has {sides(found.shape)} pixels; the images have {sides(shape)}")
    return found


def sides(shape: tuple[int, ...]) -> str:
    """Return a shape as text for people: width × height."""
    return " × ".join(str(side) for side in reversed(shape))


def some_of(said: Sequence[str]) -> str:
    """Join the first few texts, and append the number of further ones."""
    more = len(said) - _MOST_NAMED
    return ", ".join(said[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def cast_exactly(array: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the same numbers as another type, in the byte order of this machine. Floats may be rounded to floats. Raise ValueError for any other
    change of a value; it names the first such value."""
    target = dtype.newbyteorder("=")
    with np.errstate(over="ignore", invalid="ignore"):
        made = np.ascontiguousarray(array, target)
        if array.dtype.kind == "f" and target.kind == "f":
            wrong = np.isfinite(array) & ~np.isfinite(made)
        else:
            wrong = _differs(array, made)
    if wrong.any():
        place = tuple(int(at) for at in np.argwhere(wrong)[0])
        count = np.count_nonzero(wrong)
        raise ValueError(f"its values do not fit into {target.name}: {array[place]} at {list(place)}, {count} in all")
    return made


def _differs(array: NDArray[Any], made: NDArray[Any]) -> NDArray[np.bool_]:
    """Return True where the cast value and the original differ. Casting back alone does not suffice: it would accept −1 for 2^64 − 1."""
    wrong = np.asarray(made.astype(array.dtype) != array)
    return wrong if array.dtype.kind == "b" else np.asarray(wrong | ((array < 0) != (made < 0)))
