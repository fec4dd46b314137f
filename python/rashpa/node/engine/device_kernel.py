# SPDX-License-Identifier: Apache-2.0
"""Calls kernels that are Python functions for whole stacks on a CUDA device: once for each stack, by the thread that submits it, in the stack's
stream."""

import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from rashpa.data.kernels.device_images import DeviceImages
from rashpa.data.kernels.kernel import Column, PythonKernel, check_declared
from rashpa.data.kernels.python_call import called
from rashpa.node.host.printed import PrintsAs

Numbers = tuple[int, int, str]
"""Address of an array's first number, bytes from one to the next, type as the CUDA array interface names it."""
NONE: Numbers = (0, 0, "")
_WHOLE = "iub"


class DeviceFunction:
    """Calls a Python kernel for the native step: it passes the images, and returns the results."""

    def __init__(
        self, declared: PythonKernel, function: Callable[..., Any], parameters: Mapping[str, Any], prints: PrintsAs
    ) -> None:
        self._declared = declared
        self._function = function
        self._parameters = dict(parameters)
        self._prints = prints

    def __call__(
        self, dlpack: Any, address: int, count: int, height: int, width: int, stride: int, pixel: str, stream: int
    ) -> tuple[list[Numbers], Numbers, Any]:
        """Call the kernel with a stack. Return the addresses of its columns and verdicts, and the object to keep until the stream has finished with
        them."""
        images = DeviceImages(dlpack, address, (count, height, width), stride, pixel, stream)
        with current_stream(stream), self._prints:
            given = called(self._function, images, **self._parameters)
        declared = self._declared
        columns: Any = given if declared.columns else {}
        verdicts: Any = None if declared.columns else given
        if declared.columns and declared.reasons:
            if not isinstance(given, tuple) or len(given) != 2:
                raise TypeError(f"it must return columns and verdicts, not {_shown(given)}")
            columns, verdicts = given
        numbers = [_column(column, columns, count) for column in declared.columns]
        check_declared("columns", declared.columns, columns)
        verdict = _numbers("its verdicts", verdicts, count, _WHOLE) if declared.reasons else NONE
        return numbers, verdict, given


def current_stream(stream: int) -> ExitStack:
    """Return a context in which `stream` is the current CUDA stream of CuPy and PyTorch, if they are imported."""
    entered = ExitStack()
    try:
        if cupy := sys.modules.get("cupy"):
            entered.enter_context(cupy.cuda.ExternalStream(stream))
        if torch := sys.modules.get("torch"):
            entered.enter_context(torch.cuda.stream(torch.cuda.ExternalStream(stream)))
    except BaseException:
        entered.close()
        raise
    return entered


def _column(column: Column, found: Any, count: int) -> Numbers:
    if not isinstance(found, Mapping):
        raise TypeError(f"it must return a dict with {column.name}, not {_shown(found)}")
    if column.name not in found:
        raise ValueError(f"it gives no {column.name}")
    kinds = f"{_WHOLE}f" if column.type == "float64" else _WHOLE
    return _numbers(column.name, found[column.name], count, kinds)


def _numbers(what: str, array: Any, count: int, kinds: str) -> Numbers:
    facts = getattr(array, "__cuda_array_interface__", None)
    if not isinstance(facts, Mapping):
        raise TypeError(f"{what}: an array on the device with a number for each image, not {_shown(array)}")
    shape, typestr = tuple(facts["shape"]), str(facts["typestr"])
    if shape != (count,):
        raise ValueError(f"{what}: an array of {count}, a number for each image, not of {list(shape)}")
    if typestr[1] not in kinds or typestr[2:] not in ("1", "2", "4", "8") or typestr == "<f2":
        raise TypeError(f"{what}: numbers of type {typestr}, which its column cannot hold")
    if facts.get("mask") is not None:
        raise ValueError(f"{what}: an array with masked values, which would get lost; fill them")
    strides = facts.get("strides")
    return int(facts["data"][0]), int(strides[0] if strides else typestr[2:]), typestr


def _shown(value: Any) -> str:
    return repr(type(value))[:80]
