# SPDX-License-Identifier: Apache-2.0
"""Makes schema/telegram_parts.xsd, the XML elements of kernels, sinks and links, from the models of the run file. `tools/make_kernels.py` writes it.

Every number has bounds, every text a maximum length, every list a maximum number of entries. A field with a default is an optional attribute, so that
a new key does not break nodes that do not know it.
"""

import json
from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import quoteattr

from pydantic import BaseModel

from rashpa.control.runfile import engine_keys
from rashpa.control.telegrams.part_xml import KINDS, PartKind, Shape, plain_fields
from rashpa.control.telegrams.telegram import NAMESPACE

LONGEST = 4096
"""Characters of a text whose key says nothing else."""
MOST = 64
"""The most repetitions of an element, where its key sets no other limit."""
_LARGEST = "1.7976931348623157e308"
_HEAD = f"""<?xml version="1.0" encoding="UTF-8"?>
<!-- Made by tools/make_kernels.py from the models of the run file (python/rashpa/control/telegrams/part_schema.py); do not edit.
     Kernels, sinks and options of links, as telegram.xsd includes them: one element each, its parameters as attributes. -->
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns="{NAMESPACE}" targetNamespace="{NAMESPACE}"
           elementFormDefault="qualified">
"""


def schema_text() -> str:
    """Return the whole file."""
    text = f'<xs:restriction base="xs:string"><xs:maxLength value="{LONGEST}"/></xs:restriction>'
    lines = [f'  <xs:simpleType name="ParameterText">{text}</xs:simpleType>']
    lines += [line for kind in KINDS.values() for line in _kind(kind)]
    lines += [line for model in engine_keys.MODELS for line in _attribute_group(model)]
    return _HEAD + "\n".join(lines) + "\n</xs:schema>\n"


def _kind(kind: PartKind) -> Iterator[str]:
    yield f'  <xs:complexType name="{kind.element}">'
    yield "    <xs:choice>"
    for name, model in kind.by_name().items():
        yield f'      <xs:element name="{name}">'
        yield from _indented(_complex(model, kind.tag, model.__doc__), 8)
        yield "      </xs:element>"
    yield "    </xs:choice>"
    yield "  </xs:complexType>"


def _attribute_group(model: type[BaseModel]) -> Iterator[str]:
    """Yield the attributes for the keys of a table that are part of an element in telegram.xsd."""
    yield f'  <xs:attributeGroup name="{model.__name__}">'
    yield from _indented(_attributes(model, ""), 4)
    yield "  </xs:attributeGroup>"


def _attributes(model: type[BaseModel], tag: str) -> Iterator[str]:
    """Yield the keys with plain values as attributes; those with a default are optional."""
    described = model.model_json_schema()
    needed = described.get("required", [])
    for name, shape in plain_fields(model, tag):
        if shape.how == "attribute":
            use = ' use="required"' if name in needed else ""
            yield f'<xs:attribute name="{name}"{use}>'
            yield from _indented(_simple(_one_of(described["properties"][name], described)), 2)
            yield "</xs:attribute>"


def _indented(lines: Iterator[str], by: int) -> Iterator[str]:
    return (" " * by + line for line in lines)


def _complex(model: type[BaseModel], tag: str, doc: str | None) -> Iterator[str]:
    described = model.model_json_schema()
    needed = described.get("required", [])
    children: list[str] = []
    for name, shape in plain_fields(model, tag):
        if shape.how != "attribute":
            children += _child(name, shape, _one_of(described["properties"][name], described), needed=name in needed)
    yield "<xs:complexType>"
    if doc:
        yield f"  <xs:annotation><xs:documentation>{_escaped(doc)}</xs:documentation></xs:annotation>"
    if children:
        yield "  <xs:sequence>"
        yield from _indented(iter(children), 4)
        yield "  </xs:sequence>"
    yield from _indented(_attributes(model, tag), 2)
    yield "</xs:complexType>"


def _child(name: str, shape: Shape, what: dict[str, Any], *, needed: bool) -> Iterator[str]:
    """Yield the elements of a field that cannot be an attribute."""
    if shape.how == "named":
        yield from _named(what)
        return
    if shape.how == "child":
        least = "" if needed else ' minOccurs="0"'
        yield f'<xs:element name="{name}"{least}>'
        yield from _indented(_complex(shape.kind, "", shape.kind.__doc__), 2)
    else:
        yield f'<xs:element name="{name}" minOccurs="0" maxOccurs="{what.get("maxItems", MOST)}">'
        content = _complex(shape.kind, "", None) if shape.how == "children" else _simple(what["items"])
        yield from _indented(content, 2)
    yield "</xs:element>"


def _named(what: dict[str, Any]) -> Iterator[str]:
    """Yield the element for values with names that no model defines."""
    names = {"type": "string", **what.get("propertyNames", {})}
    (names["pattern"],) = what.get("patternProperties", {names.get("pattern"): None})
    yield f'<xs:element name="parameter" minOccurs="0" maxOccurs="{what["maxProperties"]}">'
    yield '  <xs:complexType><xs:simpleContent><xs:extension base="ParameterText">'
    yield '    <xs:attribute name="name" use="required">'
    yield from _indented(_simple(names), 6)
    yield "    </xs:attribute>"
    yield '    <xs:attribute name="type" use="required">'
    yield from _indented(_simple({"enum": ["flag", "integer", "number", "text"]}), 6)
    yield "    </xs:attribute>"
    yield "  </xs:extension></xs:simpleContent></xs:complexType>"
    yield "</xs:element>"


def _one_of(described: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """Return the description with references resolved and without null."""
    if "anyOf" in described:
        (described,) = [one for one in described["anyOf"] if one.get("type") != "null"]
    if "$ref" in described:
        found: dict[str, Any] = whole["$defs"][described["$ref"].rpartition("/")[2]]
        return found
    return described


def _simple(what: dict[str, Any]) -> Iterator[str]:
    """Yield the type of an attribute or of a text, with its bounds."""
    base, facets = _facets(what)
    if not facets:
        yield f'<xs:simpleType><xs:restriction base="{base}"/></xs:simpleType>'
        return
    inner = "".join(f"<xs:{facet} value={quoteattr(value)}/>" for facet, value in facets)
    yield f'<xs:simpleType><xs:restriction base="{base}">{inner}</xs:restriction></xs:simpleType>'


def _facets(what: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    choices = what.get("enum", [what["const"]] if "const" in what else [])
    if choices:
        base = "xs:integer" if isinstance(choices[0], int) else "xs:string"
        return base, [("enumeration", str(choice)) for choice in choices]
    match what["type"]:
        case "boolean":
            return "xs:boolean", []
        case "integer":
            return "xs:integer", [("minInclusive", str(what["minimum"])), ("maxInclusive", str(what["maximum"]))]
        case "number":
            return "xs:double", [_bound(what, "min", "imum", f"-{_LARGEST}"), _bound(what, "max", "imum", _LARGEST)]
    if "pattern" in what:
        return "xs:string", [("pattern", what["pattern"].removeprefix("^").removesuffix("$"))]
    return "xs:string", [("maxLength", str(what.get("maxLength", LONGEST)))]


def _bound(what: dict[str, Any], side: str, end: str, otherwise: str) -> tuple[str, str]:
    """Return one bound of a number; without one, the smallest or largest finite number."""
    if (beyond := what.get(f"exclusive{side.capitalize()}{end}")) is not None:
        return f"{side}Exclusive", json.dumps(beyond)
    value = what.get(f"{side}{end}")
    return f"{side}Inclusive", otherwise if value is None else json.dumps(value)


def _escaped(text: str) -> str:
    return " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
