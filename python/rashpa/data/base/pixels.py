# SPDX-License-Identifier: Apache-2.0
"""Defines arrays of pixels that know which of their values are no counts.

>>> import numpy as np
>>> photons = with_masking(np.array([-32768, -2, 5], np.int16), Masking("minimum"))
>>> photons[1:].masked
Masking(kind='minimum', largest_count=None)
>>> type(photons + 1).__name__
'ndarray'
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast, get_args

import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.masking_names import Kind


class Masking(NamedTuple):
    """Describes the pixel values that are no counts. `kind`: "none"; "maximum", of unsigned integers; "negative", all below zero; "minimum", of
    signed integers; "not_a_number", of float32. `largest_count`: the largest count if it is less than the type's largest value; greater values are no
    counts."""

    kind: Kind = "none"
    largest_count: int | None = None


def delivered(dtype: Any) -> Masking:
    """Return the masking that detectors use for a pixel type."""
    kind = np.dtype(dtype).kind
    return Masking("not_a_number" if kind == "f" else "negative" if kind == "i" else "maximum")


def plain(dtype: Any) -> Masking:
    """Return the masking of a plain array: NaN is masked in float32, nothing in integers."""
    return Masking("not_a_number" if np.dtype(dtype).kind == "f" else "none")


def counts_of(dtype: Any, masking: Masking) -> tuple[float, float]:
    """Return the least and the largest value of an unmasked pixel of the type."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return -np.inf, np.inf
    least, most = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    least = 0 if masking.kind == "negative" else least + 1 if masking.kind == "minimum" else least
    most = most - 1 if masking.kind == "maximum" else most
    return least, most if masking.largest_count is None else min(most, masking.largest_count)


def masking_of(array: NDArray[Any]) -> Masking:
    """Return the masking of an array; `plain()` for an array without one."""
    return array.masked if isinstance(array, Pixels) else plain(array.dtype)


def named(masked: str | Masking, dtype: Any) -> Masking:
    """Return the masking for a name: a kind, "delivered", or the masking of an array. Raise ValueError that lists the names."""
    if isinstance(masked, Masking):
        return masked
    if masked == "delivered":
        return delivered(dtype)
    if masked == "none":
        return plain(dtype)
    kinds = get_args(Kind)
    if masked not in kinds:
        raise ValueError(f"masked: there is no masking {masked!r}; choose one of delivered, {', '.join(kinds)}")
    return Masking(cast("Kind", masked))


_GAP_OR_BAD = 0xFFFF
"""NXmx: a pixel with one of these pixel_mask bits holds no measurement."""


def bad_pixels(mask: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Return True where an NXmx pixel_mask marks a missing measurement; its upper bits have other meanings."""
    return np.asarray((mask & _GAP_OR_BAD) != 0)


_JOIN = (np.concatenate, np.stack)


class Pixels(np.ndarray[Any, np.dtype[Any]]):
    """Holds pixels and, in `masked`, the values that are no counts, so that kernels know them.

    Views, slices, copies and pickles keep `masked`; joined arrays keep it when all have the same. Computing with pixels gives plain arrays, in which
    every number counts. So do changes of type, files and numpy.asarray. Pass such an array to `with_masking` again where needed.
    """

    _said: tuple[str, Masking] | None = None  # and of which type

    def __array_finalize__(self, of: Any) -> None:
        self._said = getattr(of, "_said", None)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.get("out")
        if out is not None:
            options["out"] = tuple(_as_plain(one) for one in out)
        return getattr(ufunc, method)(*map(_as_plain, inputs), **options)

    def __array_function__(self, function: Any, kinds: Any, arguments: Any, options: Any) -> Any:
        made = super().__array_function__(function, kinds, arguments, options)
        if function in _JOIN and arguments and isinstance(made, np.ndarray):
            said = {(masking_of(one), one.dtype.name) for one in map(np.asanyarray, arguments[0])}
            if len(said) == 1 and said == {(masking := next(iter(said))[0], made.dtype.name)}:
                return with_masking(made, masking)
        return made

    def __reduce__(self) -> Any:
        make, arguments, state = cast("tuple[Any, Any, Any]", super().__reduce__())
        return make, arguments, (state, self._said)

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state[0])
        self._said = state[1]

    @property
    def masked(self) -> Masking:
        """Return the masking: the values that are no counts."""
        if self._said is None or self._said[0] != self.dtype.name:
            return plain(self.dtype)
        return self._said[1]


def with_masking(array: NDArray[Any], masking: Masking) -> Pixels:
    """Return a view of an array with the given masking."""
    pixels = array.view(Pixels)
    pixels._said = (array.dtype.name, masking)
    return pixels


def _as_plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Pixels) else value
