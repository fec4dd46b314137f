# SPDX-License-Identifier: Apache-2.0
"""Python functions for whole stacks on a device, with arrays that only pretend to be on one; a GPU test runs them."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from rashpa.data.kernels.device_images import CUDA, DeviceImages
from rashpa.data.kernels.kernel import ATTRIBUTE, Column, PythonKernel, kernel
from rashpa.node.engine.device_kernel import NONE, DeviceFunction, current_stream
from rashpa.node.host.printed import PrintsAs

COUNT, HEIGHT, WIDTH, STRIDE, STREAM = 4, 8, 16, 1024, 77


@dataclass
class Array:
    """An array of another library."""

    typestr: str = "<f8"
    shape: tuple[int, ...] = (COUNT,)
    strides: tuple[int, ...] | None = None
    address: int = 4096

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.typestr,
            "strides": self.strides,
            "data": (self.address, False),
            "version": 3,
        }


@dataclass
class Dlpack:
    made: list[str] = field(default_factory=list)

    def __dlpack__(self) -> str:
        self.made.append("capsule")
        return "capsule"

    def __dlpack_device__(self) -> tuple[int, int]:
        return (CUDA, 1)


def called(function: Any, **parameters: Any) -> Any:
    declared: PythonKernel = getattr(function, ATTRIBUTE)
    assert declared.on_device
    return DeviceFunction(declared, function, parameters, PrintsAs("python f"))(
        Dlpack(), 0x1000, COUNT, HEIGHT, WIDTH, STRIDE, "int16", STREAM
    )


def test_images_are_seen_where_they_are() -> None:
    dlpack = Dlpack()
    images = DeviceImages(dlpack, 0x1000, (COUNT, HEIGHT, WIDTH), STRIDE, "int16", STREAM)
    assert images.__cuda_array_interface__ == {
        "shape": (COUNT, HEIGHT, WIDTH),
        "strides": (STRIDE, 2 * WIDTH, 2),
        "typestr": "<i2",
        "data": (0x1000, False),
        "version": 3,
        "stream": None,
    }
    assert images.__dlpack__(stream=1, max_version=(1, 0)) == "capsule"
    assert images.__dlpack_device__() == (CUDA, 1)
    assert (len(images), images.stream, repr(images)) == (COUNT, STREAM, "<4 × 8 × 16 pixels int16 on a CUDA device>")


def test_numbers_and_verdicts_are_told_by_their_places() -> None:
    @kernel(takes=["int16"], columns=[Column("a", "uint32"), Column("b")], reasons=["dim"], on_device=True)
    def both(images: DeviceImages, *, shift: int = 0) -> Any:
        assert images.shape == (COUNT, HEIGHT, WIDTH)
        return {"a": Array("<u4", strides=(8,), address=100 + shift), "b": Array("<f4")}, Array("|b1")

    columns, verdicts, kept = called(both, shift=5)
    assert columns == [(105, 8, "<u4"), (4096, 4, "<f4")]
    assert verdicts == (4096, 1, "|b1")
    assert kept[1].typestr == "|b1", "it stays until the stream is through"


def test_one_thing_alone_is_returned_as_it_is() -> None:
    @kernel(takes=["int16"], columns=[Column("a")], on_device=True)
    def numbers(images: DeviceImages) -> Any:
        return {"a": Array()}

    @kernel(takes=["int16"], reasons=["dim"], on_device=True)
    def verdicts(images: DeviceImages) -> Any:
        return Array("<i8")

    assert called(numbers)[:2] == ([(4096, 8, "<f8")], NONE)
    assert called(verdicts)[:2] == ([], (4096, 8, "<i8"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (3, "must return a dict with a"),
        ({}, "it gives no a"),
        ({"a": Array("<i8"), "more": Array("<i8")}, "it gives more, which its @kernel does not declare in columns"),
        ({"a": 3}, "a: an array on the device with a number for each image, not <class 'int'>"),
        ({"a": Array(shape=(COUNT, 1))}, r"a: an array of 4, a number for each image, not of \[4, 1\]"),
        ({"a": Array(shape=(3,))}, r"not of \[3\]"),
        ({"a": Array("<f8")}, "a: numbers of type <f8, which its column cannot hold"),
        ({"a": Array("<c8")}, "<c8"),
    ],
)
def test_what_is_no_answer_is_refused(given: Any, said: str) -> None:
    @kernel(takes=["int16"], columns=[Column("a", "uint32")], on_device=True)
    def wrong(images: DeviceImages) -> Any:
        return given

    with pytest.raises((TypeError, ValueError), match=said):
        called(wrong)


def test_half_precision_is_no_column() -> None:
    @kernel(takes=["int16"], columns=[Column("a")], on_device=True)
    def half(images: DeviceImages) -> Any:
        return {"a": Array("<f2")}

    with pytest.raises(TypeError, match="<f2"):
        called(half)


def test_streams_of_libraries_that_are_not_there_are_left_alone() -> None:
    with current_stream(STREAM) as entered:
        assert entered is not None
