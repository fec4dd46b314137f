# SPDX-License-Identifier: Apache-2.0
"""Users' functions are checked before they are called, and so is each result: no number silently loses a bit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.data.kernels.kernel import Axis, Column, kernel
from rashpa.data.kernels.python_call import PythonCall, PythonKernelError, called, declared_of, place_of

PIXELS = np.zeros((2, 2), np.uint16)


def answer(given: Any, columns: list[Column], **parts: Any) -> Any:
    """Return the checked answer of a kernel that returns `given`."""

    @kernel(takes=["uint16"], columns=columns, **parts)
    def found(pixels: Any) -> Any:
        return given

    declared, values = declared_of("python a:f", found, {})
    return PythonCall("python a:f", "f", declared, found, values)(PIXELS)


@pytest.mark.parametrize(
    ("kind", "value", "bits"),
    [
        ("uint32", 4294967295, 4294967295),
        ("uint32", np.float64(3.0), 3),
        ("uint64", 2**64 - 1, 2**64 - 1),
        ("int64", -1, 2**64 - 1),
        ("int64", -(2**63), 2**63),
        ("float64", 1.0, 0x3FF0000000000000),
        ("float64", 2**53 + 1, 0x4340000000000000),
    ],
)
def test_a_number_is_kept_as_its_64_bits(kind: Any, value: Any, bits: int) -> None:
    scalars, verdict, rows, profile = answer({"n": value}, [Column("n", kind)])
    assert [int(one) for one in scalars] == [bits]
    assert (verdict, rows.size, profile.size) == (0, 0, 0)


@pytest.mark.parametrize(
    ("kind", "value", "says"),
    [
        ("uint32", -1, "n is -1, which is not uint32"),
        ("uint32", 2**32, "n is 4294967296, which is not uint32"),
        ("int64", 2**63, "n is 9223372036854775808, which is not int64"),
        ("uint64", 1.5, "n is 1.5, which is not uint64"),
        ("uint64", float("nan"), "n is nan, which is not uint64"),
        ("float64", 10**400, "n is a number of 1329 bits, which is not float64"),
        ("uint32", "7", "n holds what is not uint32"),
        ("uint32", 1j, "n holds what is not uint32"),
        ("uint32", [1, 2], "n is an array of [2], and a number is due"),
        ("float64", np.ma.masked, "n has masked values, which would get lost"),
    ],
)
def test_a_number_that_its_column_cannot_hold_is_refused(kind: Any, value: Any, says: str) -> None:
    with pytest.raises(ValueError) as refused:
        answer({"n": value}, [Column("n", kind)])
    assert str(refused.value).startswith(says)


def test_reasons_are_their_numbers_from_1() -> None:
    columns, reasons = [Column("n", "uint32")], ["dim", "bright"]
    assert [answer(({"n": 1}, reason), columns, reasons=reasons)[1] for reason in (None, "dim", "bright")] == [0, 1, 2]
    with pytest.raises(ValueError, match=r"^'other' is none of its reasons \(dim, bright\)$"):
        answer(({"n": 1}, "other"), columns, reasons=reasons)


def test_rows_of_a_table_are_kept_column_by_column() -> None:
    table = [Column("x"), Column("count", "uint32")]
    _, _, rows, _ = answer({"x": [0.5, 1.0], "count": [1, 2]}, [], table=table, table_rows=4)
    assert rows.view(np.float64)[:, 0].tolist() == [0.5, 1.0]
    assert rows[:, 1].tolist() == [1, 2]
    for given, says in (
        ({"x": [1.0], "count": [1, 2]}, "the columns of its table must be arrays of one length"),
        ({"x": [1.0], "count": [2**32]}, "count holds what is not uint32"),
        ({"x": [1.0]}, "it gives no count; return it, or declare no such column"),
    ):
        with pytest.raises(ValueError) as refused:
            answer(given, [], table=table, table_rows=4)
        assert str(refused.value) == says


def test_a_profile_has_the_shape_of_its_axes() -> None:
    parts: Any = {"profile": [Column("mean")], "axes": [Axis("r", [0.5, 1.5, 2.5])]}
    assert answer({"mean": [1, 2, 3]}, [], **parts)[3].tolist() == [[1.0, 2.0, 3.0]]
    with pytest.raises(ValueError, match=r"^mean of its profile has the shape \[2\]; its axes have \[3\] bins$"):
        answer({"mean": [1, 2]}, [], **parts)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"columns": [Column("n", "uint16")]}, "a:f: column n: it has no type 'uint16'; use uint32 or uint64 or int64 or float64"),  # type: ignore[arg-type]
        ({"columns": ["n"]}, "a:f: column: 'n' is none; write Column(name, type)"),
        (
            {"columns": [], "profile": [Column("n", "uint32")], "axes": [Axis("r", [0.5])]},
            "a:f: array of the profile n: it has no type 'uint32'; use float64",
        ),
    ],
)  # fmt: skip
def test_a_wrong_declaration_is_refused_in_words(parts: dict[str, Any], says: str) -> None:
    declare: Any = kernel(takes=["uint16"], **parts)
    with pytest.raises(PythonKernelError) as refused:
        declared_of("a:f", declare(lambda pixels: {}), {})
    assert str(refused.value) == says


def test_parameters_have_the_types_of_their_defaults() -> None:
    @kernel(takes=["uint16"], columns=[Column("n")])
    def found(pixels: Any, *, least: int = 1, share: float = 0.5) -> Any:
        return {"n": least * share}

    assert declared_of("a:f", found, {"share": 2})[1] == {"least": 1, "share": 2.0}
    for given, says in (
        ({"most": 1}, "a:f: most: there is no such parameter; choose one of least, share"),
        ({"least": 1.5}, "a:f: least: 1.5 is not of type int, as its default is"),
    ):
        with pytest.raises(PythonKernelError) as refused:
            declared_of("a:f", found, given)
        assert str(refused.value) == says


def test_an_error_of_the_function_names_its_place() -> None:
    def wrong() -> None:
        raise KeyError("spots")

    with pytest.raises(RuntimeError, match=r"^'spots' \(test_python_call.py, line \d+\)$") as raised:
        called(wrong)
    assert type(raised.value).__name__ == "KeyError"
    assert place_of(SyntaxError("bad", ("/home/me/a.py", 7, 1, "x"))) == "a.py, line 7"
    declared: Callable[..., Any] = kernel(takes=["uint16"], columns=[Column("n")])(lambda pixels: {"n": 1})
    call = PythonCall("a:f", "f", declared_of("a:f", declared, {})[0], declared, {})
    call.let_go()
    with pytest.raises(RuntimeError, match="the function was let go"):
        call(PIXELS)
