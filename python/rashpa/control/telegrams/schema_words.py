# SPDX-License-Identifier: Apache-2.0
"""Rewrites the faults that the schema finds in a telegram as `element.attribute: it is …; it must be …`, in place of the validator's text."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from lxml import etree

from rashpa.control.runfile.schemas import schema_path
from rashpa.control.telegrams.telegram import NAMESPACE
from rashpa.data.base.value_words import PATTERNS, one_of, shown_of

_XS = "{http://www.w3.org/2001/XMLSchema}"
_NAMESPACES = re.compile(r"\{[^}']*:[^}']*\}|\{-?\d+\}(?=\w)")  # {urn:…}; {-1} stands where there is none
_FACET = re.compile(r"\[facet '\w+'\] ")
_PLACE = re.compile(r"Element '(?P<element>[^']*)'(?:, attribute '(?P<attribute>[^']*)')?: (?P<said>.*)", re.DOTALL)
_VALUE = r"(?:The value )?'(?P<value>.*)' "
_LENGTH = r"The value (?:'.*' )?has a length of '(?P<length>\d+)'; "
_WHOLE = {
    "unsignedByte": f"0 … {2**8 - 1}",
    "unsignedShort": f"0 … {2**16 - 1}",
    "unsignedInt": f"0 … {2**32 - 1}",
    "unsignedLong": f"0 … {2**64 - 1}",
    "int": f"{-(2**31)} … {2**31 - 1}",
    "long": f"{-(2**63)} … {2**63 - 1}",
    "nonNegativeInteger": "0 or more",
    "positiveInteger": "1 or more",
    "integer": "",
}
"""The schema's types of whole numbers, with their values."""
_OTHERS = {"boolean": "true or false", "date": "a date such as 2026-11-27", "double": "a number", "decimal": "a number"}
_MOST_SAID, _HEAD, _TAIL = 4000, 500, 2000  # characters: a stranger's value may have millions


def said_of_schema(message: str) -> str:
    """Return a message of libxml2's validator in our words: the place, its fault and the remedy. An unknown message keeps its text after the place."""
    if len(message) > _MOST_SAID:
        message = f"{message[:_HEAD]}…{message[-_TAIL:]}"
    text = _FACET.sub("", _NAMESPACES.sub("", message)).strip()
    place = _PLACE.fullmatch(text)
    if place is None:
        return text
    element, attribute, said = place["element"], place["attribute"], place["said"]
    for pattern, words in _WORDS.items():
        if found := re.fullmatch(pattern, said, re.DOTALL):
            key = attribute or found.groupdict().get("name")
            return f"{element}{f'.{key}' if key else ''}: {words(found, key or element)}"
    return f"{element}{f'.{attribute}' if attribute else ''}: {said[0].lower()}{said[1:]}"


def _demand(kind: str, name: str) -> str:
    """Return the requirement of a plain schema type. For a type without a name, look up the types of the attribute `name`."""
    kinds = {kind} & {*_WHOLE, *_OTHERS} or _bases(name)
    if kinds and not kinds <= set(_WHOLE):
        return f"it must be {next((words for one, words in _OTHERS.items() if one in kinds), 'a value of schema/telegram.xsd')}"
    values = {_WHOLE[one] for one in kinds}
    return "it must be a whole number" + (f", {values.pop()}" if values != {""} and len(values) == 1 else "")


@cache
def _bases(name: str) -> frozenset[str]:
    """Return the plain types of attributes, elements or types with this name in the schemas of telegrams."""
    found: set[str] = set()
    for one in _named().get(name, ()):
        parts = [part.get("base") or part.get("itemType") for part in one.iter(f"{_XS}restriction", f"{_XS}list")]
        for base in filter(None, [one.get("type"), *parts]):
            prefix, _, plain = base.rpartition(":")
            found |= {plain} if prefix == "xs" else _bases(plain) if plain != name else set()
    return frozenset(found)


@cache
def _named() -> dict[str, list[Any]]:
    named: dict[str, list[Any]] = {}
    for file in ("telegram.xsd", "telegram_parts.xsd"):
        for one in etree.parse(str(schema_path(file))).iterfind(f".//{_XS}*[@name]"):
            if one.tag in (f"{_XS}attribute", f"{_XS}simpleType"):
                named.setdefault(str(one.get("name")), []).append(one)
    return named


def _listed(text: str) -> list[str]:
    return [one.strip().strip("'") for one in text.split(",")]


def _expected(text: str) -> str:
    """Return the element names in the validator's list."""
    return ", ".join(one for one in re.split(r"[\s,]+", text) if one)


def _bound(words: str) -> Callable[[re.Match[str], str], str]:
    return lambda found, _: f"it is {shown_of(found['value'])}; it must be {words} {found['bound']}"


def _length(words: str) -> Callable[[re.Match[str], str], str]:
    return lambda found, _: f"it has {found['length']} characters; it must have {words} {found['bound']}"


_WORDS: Mapping[str, Callable[[re.Match[str], str], str]] = {
    rf"{_VALUE}is not a valid value of the (?:local )?(?:atomic|list|union) type(?: '(?:xs:)?(?P<kind>\w+)')?\.": (
        lambda found, name: f"it is {shown_of(found['value'])}; {_demand(found['kind'] or '', name)}"
    ),
    rf"{_VALUE}is not an element of the set \{{(?P<set>.*)\}}\.": (
        lambda found, _: f"it is {shown_of(found['value'])}; {one_of(_listed(found['set']), found['value'])}"
    ),
    rf"{_VALUE}is not accepted by the pattern '(?P<pattern>.*)'\.": (
        lambda found, _: (
            f"it is {shown_of(found['value'])}; it must be "
            + PATTERNS.get(f"^{found['pattern']}$", f"of the form {found['pattern']}")
        )
    ),
    rf"{_VALUE}is less than the minimum value allowed \('(?P<bound>.*)'\)\.": _bound("at least"),
    rf"{_VALUE}is greater than the maximum value allowed \('(?P<bound>.*)'\)\.": _bound("at most"),
    rf"{_VALUE}must be greater than '(?P<bound>.*)'\.": _bound("more than"),
    rf"{_VALUE}must be less than '(?P<bound>.*)'\.": _bound("less than"),
    rf"{_LENGTH}this underruns the allowed minimum length of '(?P<bound>\d+)'\.": _length("at least"),
    rf"{_LENGTH}this exceeds the allowed maximum length of '(?P<bound>\d+)'\.": _length("at most"),
    r"The attribute '(?P<name>[^']*)' is not allowed\.": lambda *_: "no such attribute; leave it out",
    r"The attribute '(?P<name>[^']*)' is required but missing\.": lambda *_: "it is needed and not there; give it",
    r"This element is not expected\. Expected is (?:one of )?\( (?P<names>.*) \)\.": (
        lambda found, _: f"it has no place here; the next one is {_expected(found['names'])}"
    ),
    r"This element is not expected\.": lambda *_: "it has no place here; leave it out",
    r"Missing child element\(s\)\. Expected is (?:one of )?\( (?P<names>.*) \)\.": (
        lambda found, _: f"an element in it is missing; add {_expected(found['names'])}"
    ),
    r"(?:Element|Character) content is not allowed, because the content type is empty\.": (
        lambda *_: "it has an element or a text inside; leave it out"
    ),
    r"Character content .* is not allowed.*": lambda *_: "it has text between its elements; leave the text out",
    r"No matching global declaration available for the validation root\.": (
        lambda *_: f"it is no telegram of rashpa; send one of docs/reference/telegrams.md, in the namespace {NAMESPACE}"
    ),
}
"""The validator's messages, without their place, and our words for each."""
