# SPDX-License-Identifier: Apache-2.0
"""Converts parts of telegrams that are tables of the run file to XML elements and back, in one way that follows from their models.

The element has the part's name (`bragg_count`, `hdf5`, `roce`), inside an element for its kind (`Kernel`, `Sink`, `LinkOptions`). A plain field is an
attribute. A field that holds a model is a child element with the field's name; a list of models or texts has one child element for each entry. A
field that is None or has its default may be absent. Values that no model defines (parameters of foreign kernels) are children `parameter`, each with
name and type.

schema/telegram_parts.xsd describes the same (`part_schema`).
"""

import re
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin

from lxml import etree
from pydantic import BaseModel, ValidationError

from rashpa.control.runfile import links
from rashpa.control.telegrams.part_orders import KERNELS, SINKS
from rashpa.control.telegrams.telegram_limits import TelegramError
from rashpa.data.base.value_words import faults_of, shown_of

_TYPES: Mapping[str, type] = {"flag": bool, "integer": int, "number": float, "text": str}
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)  # Python would take 1_0, and nan
_MOST = 2**63  # integers of native parameters
_DEMANDS = {"flag": "true or false", "integer": "a whole number of 64 bits", "number": "a number", "text": "a text"}
_NAMES = {kind: name for name, kind in _TYPES.items()}


@dataclass(frozen=True)
class PartKind:
    """Describes a kind of part: the element around it, the field that holds its name, its models."""

    element: str
    tag: str
    models: tuple[type[BaseModel], ...]

    def by_name(self) -> dict[str, type[BaseModel]]:
        """Return the models by the names of their elements."""
        return _by_name(self)


KINDS = {
    kind.element: kind
    for kind in (
        PartKind("Kernel", "name", KERNELS),
        PartKind("Sink", "kind", SINKS),
        PartKind("LinkOptions", "kind", links.MODELS),
    )
}


@cache
def _by_name(kind: PartKind) -> dict[str, type[BaseModel]]:
    return {name_of(model, kind.tag): model for model in kind.models}


def name_of(model: type[BaseModel], tag: str) -> str:
    """Return the name of a model's element; `tag`: the field with the name."""
    (name,) = get_args(model.model_fields[tag].annotation)
    return str(name)


@dataclass(frozen=True)
class Shape:
    """Describes how a field is written: as attribute, as child, as several children, as texts, or as named values. `kind`: the type of the value, or
    the model."""

    how: Literal["attribute", "child", "children", "texts", "named"]
    kind: type


def shape_of(annotation: Any) -> Shape:
    """Return the shape of a field's annotation, optional or not."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return shape_of(arguments[0])
    if origin is Literal:
        return Shape("attribute", type(arguments[0]))
    if origin in (typing.Union, types.UnionType):
        (inner,) = [argument for argument in arguments if argument is not type(None)]
        return shape_of(inner)
    if origin is dict:
        return Shape("named", str)
    if origin is list:
        inner_shape = shape_of(arguments[0])
        return Shape("children" if inner_shape.how == "child" else "texts", inner_shape.kind)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return Shape("child", annotation)
    return Shape("attribute", annotation)


def plain_fields(model: type[BaseModel], tag: str) -> Iterator[tuple[str, Shape]]:
    """Yield the fields of a part's model with their shapes, except the field that holds its name."""
    for name, item in model.model_fields.items():
        if name != tag:
            yield name, shape_of(item.annotation)


# ---- to XML ----------------------------------------------------------------------------------------------------------------------


def element_of(part: BaseModel, kind: PartKind, space: str, text_of: typing.Callable[[Any], str]) -> Any:
    """Return the element that contains the part. `text_of`: formats a plain value."""
    outer = etree.Element(f"{{{space}}}{kind.element}", {}, None)
    outer.append(_inner(part, getattr(part, kind.tag), kind.tag, space, text_of))
    return outer


def _inner(part: BaseModel, name: str, tag: str, space: str, text_of: typing.Callable[[Any], str]) -> Any:
    element = etree.Element(f"{{{space}}}{name}", {}, None)
    for key, shape in plain_fields(type(part), tag):
        value = getattr(part, key)
        if value is None:
            continue
        if shape.how == "attribute":
            element.set(key, text_of(value))
        elif shape.how == "child":
            element.append(_inner(value, key, "", space, text_of))
        elif shape.how == "children":
            element.extend(_inner(entry, key, "", space, text_of) for entry in value)
        elif shape.how == "texts":
            for entry in value:
                etree.SubElement(element, f"{{{space}}}{key}", {}, None).text = text_of(entry)
        else:
            for parameter, entry in value.items():
                described = {"name": parameter, "type": _NAMES[type(entry)]}
                etree.SubElement(element, f"{{{space}}}parameter", described, None).text = text_of(entry)
    return element


# ---- from XML --------------------------------------------------------------------------------------------------------------------


def part_of(outer: Any, kind: PartKind) -> BaseModel:
    """Return the part in its element, which the schema has checked. Raise TelegramError that names the element and its fault."""
    (inner,) = outer
    name = etree.QName(inner).localname
    model = kind.by_name()[name]
    values = _values_of(inner, model, kind.tag)
    values[kind.tag] = name
    return _made(model, values, name)


def keys_of(element: Any, model: type[BaseModel]) -> BaseModel:
    """Return the keys that are attributes of an element, which the schema has checked; absent keys have their default."""
    shapes = plain_fields(model, "")
    values = {key: value_of(element.get(key), shape.kind) for key, shape in shapes if element.get(key) is not None}
    return _made(model, values, etree.QName(element).localname)


def _made(model: type[BaseModel], values: dict[str, Any], name: str) -> BaseModel:
    """Return the model with the values. Raise TelegramError that names the element `name` and its keys."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise TelegramError("\n".join(faults_of(error, within=name)), "config") from None


def _values_of(element: Any, model: type[BaseModel], tag: str) -> dict[str, Any]:
    space = etree.QName(element).namespace
    values: dict[str, Any] = {}
    for key, shape in plain_fields(model, tag):
        found = list(element.iterchildren(f"{{{space}}}{key}"))
        if shape.how == "attribute":
            text = element.get(key)
            if text is not None:
                values[key] = value_of(text, shape.kind)
        elif shape.how == "child" and found:
            values[key] = _values_of(found[0], shape.kind, "")
        elif shape.how == "children":
            values[key] = [_values_of(child, shape.kind, "") for child in found]
        elif shape.how == "texts":
            values[key] = [value_of(child.text or "", shape.kind) for child in found]
        elif shape.how == "named":
            values[key] = _named(element, space)
    return values


def _named(parent: Any, space: str | None) -> dict[str, Any]:
    values: dict[str, Any] = {}
    where = etree.QName(parent).localname
    for element in parent.iterchildren(f"{{{space}}}parameter"):
        name, kind, text = element.get("name"), element.get("type"), element.text or ""
        if name in values:
            raise TelegramError(f"{where}.{name}: it is given twice; give one", "config")
        try:
            if kind in ("integer", "number") and not _NUMBER.fullmatch(text.strip()):
                raise ValueError
            values[name] = value_of(text, _TYPES[kind])
            if kind == "integer" and not -_MOST <= values[name] < _MOST:
                raise ValueError
        except ValueError:
            raise TelegramError(
                f"{where}.{name}: it is {shown_of(text)}; it must be {_DEMANDS[kind]}", "config"
            ) from None
    return values


def value_of(text: str, kind: type) -> Any:
    """Return a plain value from its text. Raise ValueError when the text is invalid."""
    if kind is bool:
        if text.strip() not in ("true", "false", "0", "1"):
            raise ValueError(f"{text[:40]!r} is neither true nor false")
        return text.strip() in ("true", "1")
    return kind(text)
