# SPDX-License-Identifier: Apache-2.0
"""Kernels in Python: a function on the pixels of an image, and its declaration. They are slow, and easy for experiments.

    from rashpa.data.kernels.kernel import Column, kernel

    @kernel(takes=["int16"], columns=[Column("bright", "uint32", unit="pixels")], reasons=["too_dark"])
    def spots(pixels, *, threshold: int = 10):
        bright = int((pixels >= threshold).sum())
        return {"bright": bright}, "too_dark" if bright < 5 else None

The run file names it: `{ name = "python", function = "module:spots", parameters = { threshold = 20 } }`. docs/how-to/add_a_kernel.md has the rest.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])
ATTRIBUTE = "rashpa_kernel"
PIXELS = ("uint8", "uint16", "uint32", "int16", "int32", "float32")


@dataclass(frozen=True)
class Column:
    """Describes a number that the kernel returns for each image or, in a table, for each row."""

    name: str
    type: Literal["uint32", "uint64", "int64", "float64"] = "float64"
    unit: str = ""
    doc: str = ""


@dataclass(frozen=True)
class Axis:
    """Describes an axis of a profile: the centre of each bin."""

    name: str
    values: Sequence[float]
    unit: str = ""
    doc: str = ""


@dataclass(frozen=True)
class PythonKernel:
    """Holds the declaration of a function."""

    takes: tuple[str, ...]
    columns: tuple[Column, ...] = ()
    reasons: tuple[str, ...] = ()
    table: tuple[Column, ...] = ()
    table_rows: int = 0
    purpose: str = ""
    profile: tuple[Column, ...] = ()
    axes: tuple[Axis, ...] = ()
    on_device: bool = False


def kernel(
    *,
    takes: Sequence[str],
    columns: Sequence[Column] = (),
    reasons: Sequence[str] = (),
    table: Sequence[Column] = (),
    table_rows: int = 0,
    profile: Sequence[Column] = (),
    axes: Sequence[Axis] = (),
    on_device: bool = False,
) -> Callable[[_Function], _Function]:
    """Declare a function as a kernel.

    The function is called with the pixels of an image [row][column], a read-only copy, and its parameters by name. Parameters are its keyword-only
    arguments; each has a default of type bool, int, float or str. The function returns up to four results, in this order. The first is a dict with a
    number for each of `columns`. With `reasons`, the next is the reason for a veto, or None. With a `table`, the next is a dict with an array for
    each column, all of one length, `table_rows` at most. With a `profile` along `axes`, the last is a dict with an array for each column, with the
    shape of the axes. One result is returned as it is, several as a tuple. An exception marks the image as errored.

    `on_device`: the function runs on unit cuda. It is called once for each stack, with DeviceImages [image][row][column] in the memory of the device.
    For each of `columns`, its dict has an array on the device with a number for each image (CuPy, PyTorch, Numba, any with __cuda_array_interface__).
    In place of a reason it returns an array of whole numbers: 0 accepts an image, n vetoes it for the n-th reason. It has no table and no profile. It
    enqueues its work in the current stream of CuPy and PyTorch, which is the stack's stream, and does not wait for it. An exception marks all images
    of the stack as errored.
    """

    if isinstance(takes, str):
        raise TypeError(f'takes is no list of types of pixels; write takes=["{takes}"]')

    def declare(function: _Function) -> _Function:
        purpose = (inspect.getdoc(function) or "").partition("\n")[0]
        declared = PythonKernel(
            tuple(takes),
            tuple(columns),
            tuple(reasons),
            tuple(table),
            table_rows,
            purpose,
            tuple(profile),
            tuple(axes),
            on_device,
        )
        setattr(function, ATTRIBUTE, declared)
        return function

    return declare


def parameters_of_function(function: Callable[..., Any]) -> Mapping[str, bool | int | float | str]:
    """Return the parameters of the function with their defaults. Raise ValueError when its signature is not that of a kernel."""
    arguments = list(inspect.signature(function).parameters.values())
    by_name = [one for one in arguments if one.kind is inspect.Parameter.KEYWORD_ONLY]
    if len(arguments) != len(by_name) + 1 or arguments[0].kind is inspect.Parameter.VAR_POSITIONAL:
        raise ValueError(
            "it must take the pixels, and parameters by name only; write def function(pixels, *, threshold=10)"
        )
    for one in by_name:
        if type(one.default) not in (bool, int, float, str):
            raise ValueError(f"its parameter {one.name} must have a default; give it a bool, int, float or str")
    return {one.name: one.default for one in by_name}


def check_declared(part: str, columns: Sequence[Column], found: Any) -> None:
    """Raise ValueError for a result that the function does not declare, because no file would store it."""
    names = {column.name for column in columns}
    more = [str(name) for name in found if name not in names] if isinstance(found, Mapping) else []
    if more:
        raise ValueError(
            f"it gives {', '.join(more)[:200]}, which its @kernel does not declare in {part}; declare it there, or leave it out"
        )
