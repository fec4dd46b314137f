# SPDX-License-Identifier: Apache-2.0
"""Numbers that Python kernels return: kept unchanged, or refused with a reason; a number is never truncated."""

import gc
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
from rashpa import _native
from rashpa.data.kernels.kernel import Axis, Column, PythonKernel, kernel
from rashpa.node.engine.python_kernel import LoadedKernel

PIXELS = np.zeros((2, 3), np.uint16)
TYPES = ("uint32", "uint64", "int64", "float64")


def loaded(given: Any, **declared: Any) -> LoadedKernel:
    return LoadedKernel("a test", "test", PythonKernel(("uint16",), **declared), lambda pixels: given, {})


@pytest.mark.parametrize(
    ("kind", "value", "bits"),
    [
        ("uint32", 2**32 - 1, 2**32 - 1),
        ("uint32", np.uint64(7), 7),
        ("uint32", np.array(7), 7),
        ("uint32", 7.0, 7),
        ("uint32", True, 1),
        ("uint64", 2**64 - 1, 2**64 - 1),
        ("int64", -(2**63), 2**63),
        ("int64", np.int8(-1), 2**64 - 1),
        ("float64", 1, 0x3FF0000000000000),
        ("float64", np.float32(0.5), 0x3FE0000000000000),
        ("float64", float("inf"), 0x7FF0000000000000),
        ("float64", np.ma.array(1.0, mask=False), 0x3FF0000000000000),
    ],
)
def test_numbers_that_fit(kind: Any, value: Any, bits: int) -> None:
    scalars, *_ = loaded({"n": value}, columns=(Column("n", kind),))(PIXELS)
    assert scalars.tolist() == [bits]


WRONG: list[tuple[Any, str]] = [
    (1 + 2j, "complex"),
    (np.complex64(1), "complex"),
    (np.ma.masked, "masked"),
    (np.ma.array(3, mask=True), "masked"),
    ("3", "which is|holds what is not"),
    (b"3", "holds what is not"),
    (None, "holds what is not"),
    (Decimal("1.5"), "holds what is not"),
    (Fraction(3, 2), "holds what is not"),
    (np.array([3]), r"an array of \[1\]"),
    ([1, 2], r"an array of \[2\]"),
    (np.datetime64("2026-01-01"), "holds what is not"),
    (np.longdouble("1e4000"), "is not"),
]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(("value", "words"), WRONG)
def test_what_is_no_number_of_a_column_is_refused_in_words(kind: Any, value: Any, words: str) -> None:
    with pytest.raises(ValueError, match=f"^n .*({words})"):
        loaded({"n": value}, columns=(Column("n", kind),))(PIXELS)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("uint32", 2**32),
        ("uint32", -1),
        ("uint64", 2**64),
        ("int64", 2**63),
        ("uint32", 2.5),
        ("int64", float("nan")),
        ("uint32", np.longdouble("1.5")),
        ("int64", np.float64("inf")),
    ],
)
def test_numbers_that_do_not_fit_are_refused(kind: Any, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^n is .*, which is not {kind}"):
        loaded({"n": value}, columns=(Column("n", kind),))(PIXELS)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("value", [10**400, -(10**400), 10**5000], ids=["large", "negative", "huge"])
def test_a_number_beyond_all_bounds_is_refused_in_words(kind: Any, value: int) -> None:
    with pytest.raises(ValueError, match=rf"^n is a number of \d+ bits, which is not {kind}$"):
        loaded({"n": value}, columns=(Column("n", kind),))(PIXELS)


class Wordless:
    """An object without any text."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("nothing")

    def __repr__(self) -> str:
        raise RuntimeError("nothing")


def test_what_becomes_no_array_is_named_with_its_column() -> None:
    with pytest.raises(ValueError, match=r"^n is no array of numbers: a Wordless \(RuntimeError\('nothing'\)\)"):
        loaded({"n": Wordless()}, columns=(Column("n", "uint32"),))(PIXELS)
    with pytest.raises(ValueError, match=r"^n is no array of numbers: \[1, \[2\]\]"):
        loaded({"n": [1, [2]]}, table=(Column("n", "uint32"),), table_rows=9)(PIXELS)
    with pytest.raises(TypeError, match="it must return a dict with n, not a Wordless"):
        loaded(Wordless(), columns=(Column("n", "uint32"),))(PIXELS)


def test_one_type_of_pixels_is_not_taken_letter_by_letter() -> None:
    with pytest.raises(TypeError, match=r'takes=\["uint16"\]'):
        kernel(takes="uint16")


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        ("float64", np.array([1 + 1j]), "complex"),
        ("float64", np.ma.array([1.0, 2.0], mask=[False, True]), "masked"),
        ("int64", np.ma.array([1, 2], mask=[False, True]), "masked"),
        ("float64", ["1", "2"], "is not float64"),
        ("float64", [None, 1], "is not float64"),
        ("uint32", [2**32], "is not uint32"),
        ("uint32", [1.0], "is not uint32"),
        ("float64", np.zeros((2, 2)), r"an array of \[2, 2\]"),
        ("float64", 3.0, "an array with one axis"),
    ],
)
def test_columns_of_a_table_and_arrays_of_a_profile(kind: Any, values: Any, words: str) -> None:
    with pytest.raises(ValueError, match=f"^n .*{words}"):
        loaded({"n": values}, table=(Column("n", kind),), table_rows=9)(PIXELS)
    if kind == "float64" and np.shape(values) == (2,):
        with pytest.raises(ValueError, match=f"^n .*{words}"):
            loaded({"n": values}, profile=(Column("n"),), axes=(Axis("q", [0, 1]),))(PIXELS)


def test_empty_tables_and_whole_arrays_are_taken() -> None:
    _, _, rows, _ = loaded({"n": []}, table=(Column("n", "uint32"),), table_rows=9)(PIXELS)
    assert rows.shape == (0, 1)
    *_, profile = loaded({"I": [1, 2]}, profile=(Column("I"),), axes=(Axis("q", [0, 1]),))(PIXELS)
    assert profile.tolist() == [[1.0, 2.0]]


def configured(function: Any, pixels: tuple[str, ...] = ("uint16", "uint8")) -> Any:
    return _native.python_kernel(
        function, "spots", "a test", list(pixels), [("n", "uint64", "", "")], [], [], 0, [], [], False
    )


def answer(number: int) -> Any:
    return np.array([number], np.uint64), 0, np.zeros((0, 0), np.uint64), np.zeros(0)


def test_units_of_other_shapes_are_given_their_own_images() -> None:
    seen = []

    def function(pixels: NDArray[Any]) -> Any:
        seen.append((pixels.shape, pixels.dtype.name, int(pixels.sum())))
        return answer(seen[-1][2])

    kernel = configured(function)
    first = _native.Pipeline([kernel], 40, 30, "uint16", stack=1)
    second = _native.Pipeline([kernel], 32, 16, "uint8", stack=2, threads=2)
    assert second.run(np.full((2, 16, 32), 1, np.uint8), None, None).columns["n"].tolist() == [512, 512]
    assert first.run(np.full((1, 30, 40), 2, np.uint16), None, None).columns["n"].tolist() == [2400]
    assert seen == [((16, 32), "uint8", 512), ((16, 32), "uint8", 512), ((30, 40), "uint16", 2400)]


def test_an_image_that_is_kept_stays_what_it_was() -> None:
    kept: list[NDArray[Any]] = []

    def function(pixels: NDArray[Any]) -> Any:
        assert not pixels.flags.writeable
        if len(kept) < 2:
            kept.append(pixels[1:] if kept else pixels)
        return answer(int(pixels[0, 0]))

    pipeline = _native.Pipeline([configured(function)], 300, 200, "uint16", stack=2)
    images = np.full((6, 200, 300), np.arange(1, 7, dtype=np.uint16)[:, None, None])
    assert pipeline.run(images, None, None).columns["n"].tolist() == [1, 2, 3, 4, 5, 6]
    images[:] = 99
    del pipeline, images
    gc.collect()
    assert [one.min() for one in kept] == [one.max() for one in kept] == [1, 2]


def test_a_function_that_writes_all_the_same_changes_no_image() -> None:
    import ctypes

    def function(pixels: NDArray[Any]) -> Any:
        ctypes.memset(pixels.ctypes.data, 0, pixels.nbytes)
        return answer(1)

    images = np.full((3, 20, 30), 7, np.uint16)
    found = _native.Pipeline([configured(function)], 30, 20, "uint16", stack=1).run(images, None, None)
    assert (images == 7).all()
    np.testing.assert_array_equal(found.pixels, 7)


@pytest.mark.parametrize(
    ("part", "declared"),
    [
        ("columns", {"columns": (Column("n", "uint32"),)}),
        ("table", {"table": (Column("n", "uint32"),), "table_rows": 9}),
        ("profile", {"profile": (Column("n", "float64"),), "axes": (Axis("q", [0.0, 1.0, 2.0]),)}),
    ],
)
def test_what_is_not_declared_is_never_dropped_in_silence(part: str, declared: Any) -> None:
    value = 1 if part == "columns" else np.arange(3.0 if part == "profile" else 3)
    loaded({"n": value}, **declared)(PIXELS)
    with pytest.raises(
        ValueError, match=f"it gives more, which its @kernel does not declare in {part}; declare it there"
    ):
        loaded({"n": value, "more": value}, **declared)(PIXELS)
