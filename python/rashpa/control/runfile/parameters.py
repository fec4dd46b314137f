# SPDX-License-Identifier: Apache-2.0
"""Describes parameters of a kernel or a link, as its folder in src/rashpa declares them, and makes fields of the run file from them."""

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from rashpa.data.datasets.spec import PATH


@dataclass(frozen=True)
class Parameter:
    """Describes a parameter; bounds are as in src/rashpa/core/parameter.hpp."""

    name: str
    kind: Literal["flag", "integer", "number", "text", "choice"]
    doc: str = ""
    least: float | None = None
    above: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    allowed: tuple[int, ...] = ()
    taken_from: str = ""
    default: Any = None
    not_above: str = ""
    pixel_value: bool = False
    live: bool = False  # a limit of a veto, which may change while a run goes on
    file: bool = False  # a text that names a file, which the receiver reads when it is configured

    @property
    def needed(self) -> bool:
        return self.default is None and not self.taken_from


def made_of(kind: Any, values: dict[str, Any]) -> Any:
    """Return a declaration of type `kind` from JSON values, with lists as tuples."""
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


def _type_of(parameter: Parameter) -> Any:
    if parameter.kind == "choice":
        return Literal[parameter.choices]
    if parameter.allowed:
        return Literal[parameter.allowed]
    known: dict[str, Any] = {"flag": bool, "integer": int, "number": float, "text": str}
    return known[parameter.kind] | None if parameter.taken_from else known[parameter.kind]


def field_of(parameter: Parameter) -> tuple[Any, Any]:
    """Return type and field of a parameter, for a model of the run file."""

    def bound(value: float | None) -> Any:
        return float(value) if value is not None and parameter.kind == "number" else value

    facts: dict[str, Any] = {"ge": bound(parameter.least), "gt": bound(parameter.above), "le": bound(parameter.most)}
    facts = {name: value for name, value in facts.items() if value is not None}
    if parameter.doc:
        facts["description"] = parameter.doc
    if parameter.file:
        facts["json_schema_extra"] = PATH
    if not parameter.needed:
        facts["default"] = parameter.default
    return _type_of(parameter), Field(**facts)
