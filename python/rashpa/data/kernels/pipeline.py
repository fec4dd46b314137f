# SPDX-License-Identifier: Apache-2.0
"""Runs pipelines of kernels on arrays of images, with the same units as a receiver but without a run.

>>> import numpy as np
>>> images = np.zeros((3, 4, 5), np.uint16)
>>> images[1, 2, 3] = 40
>>> pipeline = Pipeline([{"name": "bragg_count", "threshold": 10, "min_pixels": 1}], images.shape[1:], images.dtype)
>>> found = pipeline(images)
>>> [image.decision for image in found]
['vetoed', 'accepted', 'vetoed']
>>> found.columns["bright_pixels"]
array([0, 1, 0], dtype=uint32)
"""

from __future__ import annotations

import atexit
import json
import os
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Protocol, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashpa import _native
from rashpa.data.base.pixels import Masking, Pixels, counts_of, delivered, masking_of, named, plain, with_masking
from rashpa.data.base.sparse_arrays import csr_of
from rashpa.data.files.array_file import cast_exactly
from rashpa.data.geometry import given
from rashpa.data.kernels.python_call import PythonCall, PythonKernelError, declared_of, native_kernel
from rashpa.data.stored.run_facts import DECISIONS

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Value = bool | int | float | str


class CalibrationMaps(Protocol):
    """Declares the maps of a detector: pedestal (ADU) and gain (ADU/keV), float32 [3][height][width], and mask, uint32 [height][width]. With an
    attribute `cells` of storage cells, pedestal is [cells][3][height][width]; gain may be."""

    @property
    def pedestal(self) -> NDArray[np.float32]: ...
    @property
    def gain(self) -> NDArray[np.float32]: ...
    @property
    def mask(self) -> NDArray[np.uint32]: ...


@cache
def kernel_declarations() -> dict[str, dict[str, Any]]:
    """Return the declaration of each kernel of the program, by name."""
    return {one["name"]: one for one in json.loads(_native.kernels_json())}


def available_units() -> dict[str, tuple[bool, str]]:
    """Return the units of this machine by name: True and the device for a usable one, otherwise False and the reason."""
    return {name: (usable, what) for name, usable, what in _native.available_units()}


@dataclass(frozen=True)
class PixelList:
    """Holds pixels selected from an image of `shape`, in ascending order. `index`: row · width + column."""

    index: NDArray[np.uint32]
    value: NDArray[Any]
    shape: tuple[int, int] = field(default=(0, 0), repr=False)

    @property
    def csr(self) -> csr_array:
        """Return the list as an array of SciPy, [row][column]; unlisted pixels are 0. Raise MissingExtraError without SciPy."""
        return csr_of(self.index, self.value, self.shape)


@dataclass(frozen=True)
class Image:
    """Holds the results of one image. `reason`: of a veto or an error; empty for an accepted image."""

    decision: str  # "accepted", "vetoed", "errored"
    reason: str
    scalars: dict[str, Any]
    pixels: Pixels | None
    list: PixelList | None
    tables: dict[str, dict[str, NDArray[Any]]]


class Found(Sequence[Image]):
    """Holds the results of a pipeline, by image; properties return them as arrays.

    Pixels are views of the memory in which the pipeline made them, or of the given images when no kernel makes pixels. They stay valid and unchanged.
    """

    def __init__(self, native: _native.Found) -> None:
        self._native = native

    def __len__(self) -> int:
        return self._native.size

    @overload
    def __getitem__(self, key: int) -> Image: ...
    @overload
    def __getitem__(self, key: slice) -> list[Image]: ...
    def __getitem__(self, key: int | slice) -> Image | list[Image]:
        if isinstance(key, slice):
            return [self._image(number) for number in range(*key.indices(len(self)))]
        number = key + len(self) if key < 0 else key
        if not 0 <= number < len(self):
            raise IndexError(f"there are {len(self)} images; there is no image {key}")
        return self._image(number)

    def __iter__(self) -> Iterator[Image]:
        return (self._image(number) for number in range(len(self)))

    @cached_property
    def decision(self) -> NDArray[np.uint8]:
        """Return the decision on each image, an index into DECISIONS: 1 accepted, 2 vetoed, 3 errored."""
        return self._native.decision

    @cached_property
    def reason(self) -> NDArray[np.uint8]:
        """Return the reason of each veto, as an index into `reasons`."""
        return self._native.reason

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        return tuple(self._native.reasons)

    @cached_property
    def accepted(self) -> NDArray[np.intp]:
        """Return the numbers of the accepted images."""
        return np.flatnonzero(self.decision == DECISIONS.index("accepted"))

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the numbers of all images, by name; 0 for kernels that an image did not reach."""
        return self._native.columns

    @cached_property
    def pixels(self) -> Pixels:
        """Return the pixels of the accepted images in order, [accepted][row][column], with their masking."""
        made = cast("NDArray[Any]", self._native.pixels)  # never None: the units of this module deliver everything
        return with_masking(made, Masking(cast("Any", self._native.masked), self._native.largest_count))

    @property
    def makes_lists(self) -> bool:
        """Return True when a kernel of the pipeline makes lists."""
        return self._native_lists is not None

    @cached_property
    def list_ptr(self) -> NDArray[np.uint64]:
        """Return, for each image, the index of its first entry in `list_index` and `list_value`, and at the end their length. Raise TypeError when no
        kernel makes lists."""
        return self._lists[0]

    @cached_property
    def list_index(self) -> NDArray[np.uint32]:
        return self._lists[1]

    @cached_property
    def list_value(self) -> NDArray[Any]:
        return self._lists[2]

    @cached_property
    def tables(self) -> dict[str, tuple[NDArray[np.uint64], dict[str, NDArray[Any]]]]:
        """Return the tables by name: the index of each image's first row with the number of rows at the end, and the columns."""
        return self._native.tables

    @cached_property
    def profiles(self) -> dict[str, tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.float64]]]]:
        """Return the profiles by name: arrays [image][bin], or [image][slow][fast] with two axes, with NaN for images that are not accepted. Then
        come the axes, the slow one first."""
        return self._native.profiles

    @cached_property
    def accumulated(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Return, by kernel, each quantity accumulated over these images, [window][row][column], and `images`, the number of images in each window."""
        found = self._native.accumulated
        for quantities in found.values():
            if "max" in quantities:
                quantities["max"] = _largest_of(quantities["max"], quantities["counted"])
        return found

    @cached_property
    def failures(self) -> dict[int, str]:
        """Return the reason of each errored image, by its number."""
        return self._native.failures

    @cached_property
    def _lists(self) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[Any]]:
        if self._native_lists is None:
            raise TypeError("no kernel of this pipeline makes lists; add csr or sparsify")
        return self._native_lists

    @cached_property
    def _native_lists(self) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[Any]] | None:
        return self._native.lists  # makes them each time

    @cached_property
    def _place(self) -> dict[int, int]:
        """Return the place of each accepted image among the accepted ones, by its number."""
        return {int(number): place for place, number in enumerate(self.accepted)}

    def _image(self, number: int) -> Image:
        decision = DECISIONS[self.decision[number]]
        accepted = decision == "accepted"
        reason = self.reasons[self.reason[number]] if decision == "vetoed" else self.failures.get(number, "")
        pixel_list = None
        if accepted and self.makes_lists:
            entries = slice(int(self.list_ptr[number]), int(self.list_ptr[number + 1]))
            height, width = self.pixels.shape[-2:]
            pixel_list = PixelList(self.list_index[entries], self.list_value[entries], (height, width))
        tables = {}
        for name, (ptr, columns) in self.tables.items():
            rows = slice(int(ptr[number]), int(ptr[number + 1]))
            tables[name] = {column: values[rows] for column, values in columns.items()}
        scalars = {name: values[number] for name, values in self.columns.items()}
        pixels = self.pixels[self._place[number]] if accepted else None
        return Image(decision, reason, scalars, pixels, pixel_list, tables)


class Pipeline:
    """Runs kernels, one after the other, on images of one shape and type.

    `kernels`: entries as in a run file, `{"name": "csr", "threshold": 1}`, or Python functions that `rashpa.data.kernels.kernel.kernel` declares,
    alone or as `{"name": "python", "function": spots, "parameters": {"threshold": 20}}`. `calibration`: for kernels that need it. `unit`: "cpu", or
    an accelerator of this machine. `threads`: for unit cpu; 0: one for each processor. `stack`: the number of images that are processed together.
    `fused`: allow kernels to share passes over the pixels. `arrays`: by kernel, its declared inputs, in place of those made from the files that its
    parameters name.

    `masked`: the values of the images that are no counts, by default the masking of each array. Pixels that kernels have made know their masking; in
    any other array all numbers count except NaN. "delivered": as detectors mask, the maximum of unsigned types and all values below zero. "minimum":
    only the least value, as in converted photons. `special`: values of a detector with a meaning of their own; the masking is then "delivered". Raise
    ConfigError that names kernel and parameter.
    """

    def __init__(
        self,
        kernels: Sequence[Mapping[str, Any] | Callable[..., Any]],
        shape: tuple[int, ...],
        dtype: Any = np.uint16,
        *,
        calibration: CalibrationMaps | None = None,
        unit: str = "cpu",
        threads: int = 0,
        stack: int = 16,
        device: int | str = 0,
        trigger: str = "auto",
        fused: bool = True,
        special: Mapping[int, str] | None = None,
        masked: str | Masking | None = None,
        arrays: Mapping[str, Mapping[str, NDArray[Any]]] | None = None,
        modules: Sequence[tuple[int, int]] = ((0, 0),),
        module_shape: tuple[int, int] = (512, 1024),
    ) -> None:
        height, width = shape
        maps = None if calibration is None else _native_maps(calibration, modules, module_shape)
        self._taken = np.dtype(dtype)
        self._masked: Masking | None = None  # as each array says
        if masked is not None:
            try:
                self._masked = named(masked, dtype)
            except ValueError as error:
                raise _native.ConfigError(f"pipeline: {error}") from None
        elif special:
            self._masked = delivered(dtype)
        native_kernels = _kernels(kernels, maps, self._image(height, width, special or {}), arrays or {})
        self._make = cache(
            lambda masking: _native.Pipeline(
                native_kernels,
                width,
                height,
                np.dtype(dtype).name,
                unit=unit,
                threads=threads or (len(os.sched_getaffinity(0)) if unit == "cpu" else 1),
                stack=stack,
                device=str(device),
                trigger=trigger,
                fused=fused,
                special=[_native.SpecialValue(value, meaning) for value, meaning in (special or {}).items()],
                masked=masking.kind,
                largest_count=masking.largest_count,
            )
        )
        self._native: _native.Pipeline = self._make(self._masked or plain(dtype))

    def _image(self, height: int, width: int, special: Mapping[int, str]) -> given.Image:
        """Return the description of the images for the first kernel."""
        masking = self._masked or plain(self._taken)
        ends = [masking.largest_count] + [value - 1 for value in special if value > 0]
        largest = min((end for end in ends if end is not None), default=None)
        counts = counts_of(self._taken, masking._replace(largest_count=largest))
        return given.Image(height, width, counts=counts)

    def __call__(
        self,
        images: NDArray[Any],
        *,
        frame_number: ArrayLike | None = None,
        flags: ArrayLike | None = None,
    ) -> Found:
        """Process images [image][row][column], or one image [row][column], without a copy and without Python's lock. `flags`: those of the frame
        record; bit 0 marks dark images, bits 8 to 11 hold the storage cell."""
        images = np.asanyarray(images)
        images = images[np.newaxis] if images.ndim == 2 else images
        numbers = None if frame_number is None else _cast("frame_number", frame_number, np.uint64)
        bits = None if flags is None else _cast("flags", flags, np.uint32)
        as_said = self._masked is None and images.dtype == self._taken
        native = self._make(masking_of(images)) if as_said else self._native
        return Found(native.run(images, numbers, bits))

    @property
    def how(self) -> str:
        """Return the unit and its passes over the pixels, as text."""
        return self._native.how

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the type of the output pixels."""
        return np.dtype(self._native.pixel)


def _largest_of(values: NDArray[Any], counted: NDArray[Any]) -> Pixels:
    """Return the largest counts, with pixels masked where nothing was counted."""
    if values.dtype.kind == "f" or counted.all():
        return with_masking(values, plain(values.dtype))
    return with_masking(values, Masking("minimum" if values.dtype.kind == "i" else "maximum"))


def _native_maps(
    calibration: CalibrationMaps, modules: Sequence[tuple[int, int]], module_shape: tuple[int, int]
) -> _native.Calibration:
    """Return the maps in the form that kernels take, with the places of the modules."""
    rms = getattr(calibration, "rms", None)  # of the pedestal, where pedestals are to be followed
    height, width = module_shape
    return _native.Calibration(
        _planes("calibration.pedestal", calibration.pedestal),
        _planes("calibration.gain", calibration.gain),
        _cast("calibration.mask", calibration.mask, np.uint32),
        None if rms is None else _planes("calibration.rms", rms),
        width,
        height,
        [(number, 0, 0, width, height, x, y) for number, (x, y) in enumerate(modules)],
        list(getattr(calibration, "cells", ())),
    )


def _planes(what: str, values: ArrayLike) -> NDArray[Any]:
    """Return maps as float32 [plane][height][width], with the sets of storage cells one after the other."""
    maps = _cast(what, values, np.float32)
    return maps.reshape(-1, *maps.shape[-2:])


def _cast(what: str, values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return the same numbers as type `dtype`, unchanged when it is None. Raise ConfigError when a value would change."""
    array = np.asarray(values)
    if dtype is None:
        return np.ascontiguousarray(array)
    if array.dtype.kind not in "fiub":
        raise _native.ConfigError(f"{what}: it is of {array.dtype}; give numbers")
    try:
        return cast_exactly(array, np.dtype(dtype))
    except ValueError as error:
        raise _native.ConfigError(f"{what}: {error}; make it again") from None


def _kernels(
    kernels: Sequence[Mapping[str, Any] | Callable[..., Any]],
    maps: _native.Calibration | None,
    image: given.Image,
    given_by_kernel: Mapping[str, Mapping[str, NDArray[Any]]],
) -> list[_native.Kernel]:
    made = []
    for one in kernels:
        if not isinstance(one, Mapping):
            one = {"name": "python", "function": one}
        if one.get("name") == "python":
            made.append(_python_kernel(one))
            continue
        made.append(_kernel(one, maps, image, given_by_kernel))
        image = given.behind(image, kernel_declarations().get(str(one.get("name")), {}), one)
    return made


def _python_kernel(values: Mapping[str, Any]) -> _native.Kernel:
    """Return the native kernel for a Python function. Raise ConfigError."""
    function = values.get("function")
    if not callable(function):
        raise _native.ConfigError(
            f"pipeline: kernel python: function is {function!r}; give the function itself, which @rashpa.data.kernels.kernel.kernel(…) declares"
        )
    name = getattr(function, "__name__", type(function).__name__)
    what = f"python {name}"
    if unknown := set(values) - {"name", "function", "parameters"}:
        raise _native.ConfigError(f"pipeline: {what}: {min(unknown)}: no such key; there are function and parameters")
    try:
        declared, parameters = declared_of(what, function, values.get("parameters", {}))
    except PythonKernelError as error:
        raise _native.ConfigError(f"pipeline: {error}") from None
    if declared.on_device:
        raise _native.ConfigError(
            f"pipeline: {what}: it takes stacks on a device, which a receiver has; leave on_device out"
        )
    call = PythonCall(what, name, declared, function, parameters)
    _CALLS.add(call)
    return native_kernel(call, name, what, declared)


_CALLS: weakref.WeakSet[PythonCall] = weakref.WeakSet()


@atexit.register
def _let_go() -> None:
    """Release the functions at the end of the process. A script's function references the script's names, which reference the pipeline, which
    references the function."""
    for call in _CALLS:
        call.let_go()


def _without_beam(parameters: Mapping[str, Any], declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with a beam position of 0 for a kernel that requires one and has distances from a file instead."""
    asked = [one["name"] for one in declared.get("parameters", ()) if one["name"] in ("beam_x", "beam_y")]
    return dict.fromkeys(asked, 0.0) | dict(parameters)


def _kernel(
    values: Mapping[str, Any],
    maps: _native.Calibration | None,
    image: given.Image,
    given_by_kernel: Mapping[str, Mapping[str, NDArray[Any]]],
) -> _native.Kernel:
    parameters = dict(values)
    name = parameters.pop("name", None)
    if not isinstance(name, str):
        raise _native.ConfigError(f"pipeline: kernel {dict(values)!r} has no name")
    declared = kernel_declarations().get(name, {})
    known = {one["name"]: one.get("default") for one in declared.get("parameters", ())}
    if name in given_by_kernel:
        types = {one["name"]: one["type"] for one in declared.get("inputs", ())}
        arrays = {
            key: _cast(f"kernel {name}: {key}", array, types.get(key)) for key, array in given_by_kernel[name].items()
        }
        if "radius" in arrays:
            parameters = _without_beam(parameters, declared)
        return _native.Kernel(name, parameters, maps if declared.get("calibration") else None, arrays)
    try:
        arrays = given.given_arrays(name, known | parameters, image)
    except given.GivenError as error:
        raise _native.ConfigError(str(error)) from error
    if "radius" in arrays:
        parameters = _without_beam(parameters, declared)
    return _native.Kernel(name, parameters, maps if declared.get("calibration") else None, arrays)
