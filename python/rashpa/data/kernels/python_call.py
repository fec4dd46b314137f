# SPDX-License-Identifier: Apache-2.0
"""Calls kernels that are Python functions: checks their parameters and results, and reports errors with their place in the code."""

import contextlib
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.data.base.rashpa_error import RashpaError
from rashpa.data.kernels.kernel import (
    ATTRIBUTE,
    PIXELS,
    Axis,
    Column,
    PythonKernel,
    check_declared,
    parameters_of_function,
)

_BOUNDS = {"uint32": (0, 2**32 - 1), "uint64": (0, 2**64 - 1), "int64": (-(2**63), 2**63 - 1)}
_LONGEST_BITS = 200  # of a number that is written out
_LONGEST_LINE = 200  # of an error of others, before its place
Bits = NDArray[np.uint64]
Answer = tuple[Bits, int, Bits, NDArray[np.float64]]
"""Numbers of the image, its verdict (0: kept, n: the n-th reason), rows [row][column], numbers as the 64 bits that the unit keeps; arrays of the
profile."""


class PythonKernelError(RashpaError, ValueError):
    """Refuses a function that is no kernel, or parameters that it does not accept."""


def declared_of(what: str, function: Any, parameters: Mapping[str, Any]) -> tuple[PythonKernel, dict[str, Any]]:
    """Return the declaration of a function, and the values of all its parameters. Raise PythonKernelError."""
    declared = getattr(function, ATTRIBUTE, None)
    if not isinstance(declared, PythonKernel):
        raise PythonKernelError(
            f"{what}: it does not declare what it makes; put @kernel(…) of rashpa.data.kernels.kernel before it"
        )
    _check(what, declared)
    try:
        known = parameters_of_function(function)
    except ValueError as error:
        raise PythonKernelError(f"{what}: {error}") from None
    return declared, _values(what, known, parameters)


def native_kernel(function: Callable[..., Any], name: str, origin: str, declared: PythonKernel) -> _native.Kernel:
    """Return the kernel in the form of a unit. `function`: a PythonCall, or a function for stacks on a device; `origin`: its name in messages."""

    def facts(columns: Sequence[Column]) -> list[tuple[str, str, str, str]]:
        return [(one.name, one.type, one.unit, one.doc) for one in columns]

    return _native.python_kernel(
        function,
        name,
        origin,
        list(declared.takes),
        facts(declared.columns),
        list(declared.reasons),
        facts(declared.table),
        declared.table_rows,
        facts(declared.profile),
        [(one.name, one.unit, one.doc, [float(value) for value in one.values]) for one in declared.axes],
        declared.on_device,
    )


class PythonCall:
    """Holds a function with its parameters; one thread at a time calls it."""

    def __init__(
        self,
        origin: str,
        name: str,
        declared: PythonKernel,
        function: Callable[..., Any],
        parameters: Mapping[str, Any],
        prints: AbstractContextManager[None] | None = None,
    ) -> None:
        self.origin = origin
        self.name = name
        self.declared = declared
        self._function = function
        self._parameters = dict(parameters)
        self._prints = prints or contextlib.nullcontext()
        self._parts = [
            part
            for part, there in (
                ("columns", declared.columns),
                ("reason", declared.reasons),
                ("table", declared.table),
                ("profile", declared.profile),
            )
            if there
        ]

    def __call__(self, pixels: NDArray[Any]) -> Answer:
        """Process one image and return the results. An exception marks the image as errored."""
        with self._prints:
            given = called(self._function, pixels, **self._parameters)
        if len(self._parts) == 1:
            given = (given,)
        if not isinstance(given, tuple) or len(given) != len(self._parts):
            raise TypeError(f"it must return {' and '.join(self._parts)}, not {_shown(given)}")
        found = dict(zip(self._parts, given, strict=True))
        declared = self.declared
        scalars = np.array(
            [_bits(column, _of(found["columns"], column)) for column in declared.columns], dtype=np.uint64
        )
        rows = _rows(declared.table, found["table"]) if declared.table else np.zeros((0, 0), np.uint64)
        profile = _arrays(declared, found["profile"]) if declared.profile else np.zeros(0, np.float64)
        for part, columns in (("columns", declared.columns), ("table", declared.table), ("profile", declared.profile)):
            if columns:
                check_declared(part, columns, found[part])
        return scalars, self._verdict(found.get("reason")), rows, profile

    def let_go(self) -> None:
        """Release the function; it must not be called any more."""
        self._function = _gone

    def _verdict(self, reason: Any) -> int:
        if reason is None:
            return 0
        if reason not in self.declared.reasons:
            raise ValueError(f"{_shown(reason)} is none of its reasons ({', '.join(self.declared.reasons)})")
        return self.declared.reasons.index(reason) + 1


def _gone(*_given: Any, **_named: Any) -> Any:
    raise RuntimeError("the function was let go, as the process is at its end")


def called(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Call foreign code. Raise its error again, with the error's type, file and line in the text."""
    try:
        return function(*given, **named)
    except Exception as error:
        said = _said(error)
        if said is None:
            raise
        line = said.partition("\n")[0][:_LONGEST_LINE]
        placed = type(type(error).__name__, (RuntimeError,), {})
        raise placed(f"{line}{' ' * bool(line)}({place_of(error)})") from error


def place_of(error: BaseException) -> str:
    """Return the file and line of code at which an error was raised."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{Path(error.filename).name}, line {error.lineno}"
    places = traceback.extract_tb(error.__traceback__)
    return f"{Path(places[-1].filename).name}, line {places[-1].lineno}" if places else "of unknown place"


def _said(error: BaseException) -> str | None:
    """Return the text of an error, None when it has none."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 (of code of others)
        return None


def _check(what: str, declared: PythonKernel) -> None:
    """Check the parts of a declaration that native types cannot express. Raise PythonKernelError."""
    unknown = [pixels for pixels in declared.takes if pixels not in PIXELS]
    if unknown:
        raise PythonKernelError(f"{what}: no pixels are {_shown(unknown[0])}; there are {', '.join(PIXELS)}")
    for column in (*declared.columns, *declared.table):
        _check_column(f"{what}: column", column, (*_BOUNDS, "float64"))
    for column in declared.profile:
        _check_column(f"{what}: array of the profile", column, ("float64",))
    for axis in declared.axes:
        if (
            not isinstance(axis, Axis)
            or np.asarray(axis.values).ndim != 1
            or np.asarray(axis.values).dtype.kind not in "iuf"
        ):
            raise PythonKernelError(f"{what}: {_shown(axis)} is no axis with the centre of each bin")


def _check_column(what: str, column: Any, types: Sequence[str]) -> None:
    if not isinstance(column, Column):
        raise PythonKernelError(f"{what}: {_shown(column)} is none; write Column(name, type)")
    if column.type not in types:
        raise PythonKernelError(f"{what} {column.name}: it has no type {_shown(column.type)}; use {' or '.join(types)}")


def _values(what: str, known: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    values = dict(known)
    for name, value in given.items():
        if name not in known:
            raise PythonKernelError(
                f"{what}: {name}: there is no such parameter; choose one of {', '.join(known) or 'none'}"
            )
        wanted = type(known[name])
        fits = type(value) is wanted or (wanted is float and type(value) is int)
        if not fits:
            raise PythonKernelError(
                f"{what}: {name}: {_shown(value)} is not of type {wanted.__name__}, as its default is"
            )
        values[name] = wanted(value)
    return values


def _of(found: Any, column: Column) -> Any:
    if not isinstance(found, Mapping):
        raise TypeError(f"it must return a dict with {column.name}, not {_shown(found)}")
    if column.name not in found:
        raise ValueError(f"it gives no {column.name}; return it, or declare no such column")
    return found[column.name]


def _bits(column: Column, value: Any) -> int:
    """Return a number as the 64 bits of its column's type."""
    if not isinstance(value, int):
        value = _numbers(column, value, 0, "iubf").item()
    if column.type == "float64":
        try:
            return int(np.float64(float(value)).view(np.uint64))
        except OverflowError:
            raise ValueError(f"{column.name} is {_shown(value)}, which is not float64") from None
    if not isinstance(value, int) and not value.is_integer():
        raise ValueError(f"{column.name} is {value}, which is not {column.type}")
    least, most = _BOUNDS[column.type]
    number = int(value)
    if not least <= number <= most:
        raise ValueError(f"{column.name} is {_shown(number)}, which is not {column.type}")
    return number & (2**64 - 1)


def _numbers(column: Column, value: Any, dimensions: int, kinds: str) -> NDArray[Any]:
    """Return the value as an array of numbers that its column can hold; raise an error for a value that would lose information."""
    try:
        found = np.asanyarray(value)
    except Exception as error:
        raise ValueError(f"{column.name} is no array of numbers: {_shown(value)} ({_shown(error)})") from error
    if found.ndim != dimensions:
        shape = f"an array of {list(found.shape)}" if found.ndim else _shown(value)
        raise ValueError(
            f"{column.name} is {shape}, and {'an array with one axis' if dimensions else 'a number'} is due"
        )
    if found.size == 0:
        return np.asarray(found)
    if found.dtype.kind not in kinds:
        raise ValueError(f"{column.name} holds what is not {column.type}: {found.dtype.name} as {_shown(value)}")
    if np.ma.is_masked(found):
        raise ValueError(f"{column.name} has masked values, which would get lost; fill them: array.filled(0)")
    plain = np.asarray(found)
    with np.errstate(over="ignore"):
        beyond = np.isinf(plain.astype(np.float64)) & ~np.isinf(plain)
    if beyond.any():
        raise ValueError(f"{column.name} holds what is not {column.type}: {_shown(value)}")
    return plain


def _rows(columns: tuple[Column, ...], found: Any) -> Bits:
    kinds = {column: "iubf" if column.type == "float64" else "iub" for column in columns}
    values = [_numbers(column, _of(found, column), 1, kinds[column]) for column in columns]
    length = values[0].size
    if any(value.size != length for value in values):
        raise ValueError("the columns of its table must be arrays of one length")
    rows = np.empty((length, len(columns)), np.uint64)
    for number, (column, value) in enumerate(zip(columns, values, strict=True)):
        if column.type == "float64":
            rows[:, number] = value.astype(np.float64).view(np.uint64)
            continue
        least, most = _BOUNDS[column.type]
        if value.size and not (least <= int(value.min()) and int(value.max()) <= most):
            raise ValueError(f"{column.name} holds what is not {column.type}")
        rows[:, number] = value.astype(np.int64 if column.type == "int64" else np.uint64).view(np.uint64)
    return rows


def _arrays(declared: PythonKernel, found: Any) -> NDArray[np.float64]:
    shape = tuple(len(axis.values) for axis in declared.axes)
    given = [_of(found, column) for column in declared.profile]
    for column, array in zip(declared.profile, given, strict=True):
        if np.shape(array) != shape:
            raise ValueError(
                f"{column.name} of its profile has the shape {list(np.shape(array))}; its axes have {list(shape)} bins"
            )
    arrays = [
        _numbers(column, array, len(shape), "iubf") for column, array in zip(declared.profile, given, strict=True)
    ]
    return np.ascontiguousarray(np.stack(arrays), np.float64)


def _shown(value: Any) -> str:
    """Return any value as text for people."""
    if isinstance(value, int) and value.bit_length() > _LONGEST_BITS:
        return f"a number of {value.bit_length()} bits"
    try:
        return repr(value)[:80]
    except Exception:  # noqa: BLE001 (of code of others)
        return f"a {type(value).__name__}"
