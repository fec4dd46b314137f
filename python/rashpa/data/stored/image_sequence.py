# SPDX-License-Identifier: Apache-2.0
"""Gives access to the stored images of a run, or to their products, as a sequence that is read on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.pixels import masking_of, with_masking

T = TypeVar("T")


class ImageSequence(Sequence[T], Generic[T]):
    """Holds one item for each image. A slice is a sequence too, and reads nothing; numpy.asarray() reads all items.

    >>> squares = ImageSequence(lambda number: number**2, range(5))
    >>> squares[-1], list(squares[1:4:2])
    (16, [1, 9])
    """

    def __init__(self, read: Callable[[int], T], numbers: range) -> None:
        self._read = read
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, key: int) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> ImageSequence[T]: ...
    def __getitem__(self, key: int | slice) -> T | ImageSequence[T]:
        if isinstance(key, slice):
            return ImageSequence(self._read, self._numbers[key])
        try:
            return self._read(self._numbers[key])
        except IndexError:
            raise IndexError(f"there is no image {key} among {len(self)}") from None

    def __iter__(self) -> Iterator[T]:
        return (self._read(number) for number in self._numbers)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all items as one array, for images [image][row][column]."""
        if copy is False:
            raise ValueError("images are read from a file: there is nothing to share")
        parts = [np.asanyarray(one) for one in self]
        whole = np.stack([np.asarray(one) for one in parts])
        if parts and len(said := {masking_of(one) for one in parts}) == 1:
            whole = with_masking(whole, said.pop())
        return whole if dtype is None else whole.astype(dtype, copy=False)
