# SPDX-License-Identifier: Apache-2.0
"""Checks rules of the kernel `veto` without compiled code. It accepts and refuses the same texts and columns, with the same errors, as
src/rashpa/kernel/veto/rule.cpp. `cases.txt` in that folder has the test cases of both."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from rashpa.control.runfile.kernels import Column
from rashpa.data.base.rashpa_error import RashpaError

MOST_TEXT = 1000
MOST_DEPTH = 32
_BOUNDS = {
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "float64": (-math.inf, math.inf),
}
_TOKEN = re.compile(
    r"[ \n\t]*(?:(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<sign><=|>=|==|!=|[<>+\-*/()])|(?P<end>$)|(?P<other>.))",
    re.ASCII | re.DOTALL,
)
_COMPARING = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
"""Each comparison, and its form with exchanged sides."""


class RuleError(RashpaError, ValueError):
    """Names the fault of a rule and the remedy."""


def check_rule(text: str, columns: Sequence[Column] | None) -> None:
    """Raise RuleError for a wrong rule. `columns`: columns that the rule may use, None when they are not known here."""
    _Check(text, columns).all()


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    first: int
    last: int


@dataclass(frozen=True)
class _Value:
    text: str
    condition: bool = False
    column: Column | None = None  # it is nothing but a column
    constant: float | None = None  # it is nothing but a number


class _Check:
    """Checks a rule by recursive descent, as the native parser does."""

    def __init__(self, text: str, columns: Sequence[Column] | None) -> None:
        if not text:
            _fail("it is empty; write a condition, as n_peaks >= 15")
        if len(text.encode()) > MOST_TEXT:
            _fail(f"it has {len(text.encode())} characters; write {MOST_TEXT} or fewer")
        self._text = text
        self._columns = None if columns is None else {column.name: column for column in columns}
        self._names_column = False
        self._token = self._read(0)

    def all(self) -> None:
        self._condition(self._either(0), "the rule")
        if self._token.kind != "end":
            _fail(f"{self._shown()} where the rule should end; end it, or go on with and, or")
        if not self._names_column:
            _fail("it names no column; compare a column with a number, as n_peaks >= 15")

    def _read(self, at: int) -> _Token:
        found = _TOKEN.match(self._text, at)
        if found is None:
            _fail("it cannot be read")  # does not happen: "other" takes whatever is left
        kind = str(found.lastgroup)
        token = _Token(kind, found[kind], found.start(kind), found.end(kind))
        after = self._text[token.last : token.last + 1]
        if kind == "number" and (re.match(r"[A-Za-z_.]", after) or math.isinf(float(token.text))):
            _fail(f'the text from "{token.text}" on is no number; write one such as 15 or 0.5')
        if token.text == ".":
            _fail('the text from "." on is no number; write one such as 15 or 0.5')
        if kind == "other":
            what = f'"{token.text}"' if " " <= token.text <= "~" else "a character that is not ASCII"
            _fail(f"{what} means nothing here; write < <= > >= == != + - * / ( ) and, or, not")
        return token

    def _shown(self) -> str:
        return "it ends" if self._token.kind == "end" else f'it has "{self._token.text}"'

    def _accept(self, text: str) -> bool:
        if self._token.kind == "end" or self._token.text != text:
            return False
        self._token = self._read(self._token.last)
        return True

    def _since(self, first: int) -> str:
        return self._text[first : self._token.first].rstrip(" \n\t")

    @staticmethod
    def _number(value: _Value, beside: str) -> None:
        if value.condition:
            _fail(f'"{value.text}" is a condition, and {beside} needs a number; write one there')

    @staticmethod
    def _condition(value: _Value, beside: str) -> None:
        if not value.condition:
            _fail(f'"{value.text}" is a number, and {beside} needs a condition; write one there, as n_peaks >= 15')

    def _either(self, depth: int) -> _Value:
        if depth > MOST_DEPTH:
            _fail(f"it is deeper than {MOST_DEPTH} parentheses; write fewer")
        first, left = self._token.first, self._both(depth)
        while self._accept("or"):
            self._condition(left, "or")
            self._condition(self._both(depth), "or")
            left = _Value(self._since(first), condition=True)
        return left

    def _both(self, depth: int) -> _Value:
        first, left = self._token.first, self._opposite(depth)
        while self._accept("and"):
            self._condition(left, "and")
            self._condition(self._opposite(depth), "and")
            left = _Value(self._since(first), condition=True)
        return left

    def _opposite(self, depth: int) -> _Value:
        first, turned = self._token.first, False
        while self._accept("not"):
            turned = True
        value = self._comparison(depth)
        if not turned:
            return value
        self._condition(value, "not")
        return _Value(self._since(first), condition=True)

    def _comparison(self, depth: int) -> _Value:
        first, left = self._token.first, self._sum(depth)
        sign = self._token.text
        if sign not in _COMPARING or not self._accept(sign):
            return left
        self._number(left, sign)
        right = self._sum(depth)
        self._number(right, sign)
        made = _Value(self._since(first), condition=True)
        if left.column and right.constant is not None:
            _refuse_constant(left.column, sign, right.constant, made.text)
        elif right.column and left.constant is not None:
            _refuse_constant(right.column, _COMPARING[sign], left.constant, made.text)
        if self._token.text in _COMPARING:
            _fail(f'"{made.text} {self._token.text} …" compares twice; write two comparisons with and')
        return made

    def _sum(self, depth: int) -> _Value:
        first, left = self._token.first, self._product(depth)
        while (sign := self._token.text) in ("+", "-"):
            self._accept(sign)
            self._number(left, sign)
            self._number(self._product(depth), sign)
            left = _Value(self._since(first))
        return left

    def _product(self, depth: int) -> _Value:
        first, left = self._token.first, self._factor(depth)
        while (sign := self._token.text) in ("*", "/"):
            self._accept(sign)
            self._number(left, sign)
            self._number(self._factor(depth), sign)
            left = _Value(self._since(first))
        return left

    def _factor(self, depth: int) -> _Value:
        first, turns = self._token.first, 0
        while self._accept("-"):
            turns += 1
        value = self._primary(depth)
        if not turns:
            return value
        self._number(value, "-")
        return _Value(self._since(first), constant=None if value.constant is None else value.constant * (-1) ** turns)

    def _primary(self, depth: int) -> _Value:
        token = self._token
        if self._accept("("):
            value = self._either(depth + 1)
            if not self._accept(")"):
                _fail(f"{self._shown()} where ) is missing; close the parenthesis")
            return value
        if token.kind == "number":
            self._accept(token.text)
            return _Value(token.text, constant=float(token.text))
        if token.kind == "name" and token.text not in ("and", "or", "not"):
            self._accept(token.text)
            self._names_column = True
            return _Value(token.text, column=self._column(token.text))
        return _fail(f"{self._shown()} where a column or a number is missing; write one")

    def _column(self, name: str) -> Column | None:
        if self._columns is None:
            return None
        if name not in self._columns:
            known = f"there are {', '.join(self._columns)}" if self._columns else "put it behind one that makes columns"
            _fail(f"no step before it makes the column {name}; {known}")
        return self._columns[name]


def _fail(what: str) -> NoReturn:
    raise RuleError(what)


def _refuse_constant(column: Column, sign: str, number: float, text: str) -> None:
    """Refuse a comparison that has the same result for every value of the column."""
    least, most = _BOUNDS[column.type]
    whole = column.type != "float64"
    if sign in ("==", "!="):
        same = number < least or number > most or (whole and number != math.floor(number))
        known = (sign == "!=") if same else None
    elif sign in ("<", ">="):
        known = (sign == ">=") if least >= number else (sign == "<") if most < number else None
    else:
        known = (sign == "<=") if most <= number else (sign == ">") if least > number else None
    if known is not None:
        what = "true" if known else "false"
        _fail(
            f'"{text}" is always {what}: {column.name} is {column.type}, {least} to {most}; compare it with a value in this range'
        )
