# SPDX-License-Identifier: Apache-2.0
"""Converts telegrams from XML bytes to frozen dataclasses and back. Both directions are validated.

Bytes are not trusted: UTF-8 only, within the limits of `telegram_limits`, no DOCTYPE and hence no entities, and nothing is loaded from elsewhere.
"""

import contextlib
import dataclasses
import re
import types
import typing
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from lxml import etree

from rashpa.control.runfile.schemas import schema_path
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.part_xml import KINDS, element_of, keys_of, part_of
from rashpa.control.telegrams.schema_words import said_of_schema
from rashpa.control.telegrams.telegram import NAMESPACE, VERSION, Telegram
from rashpa.control.telegrams.telegram_limits import MAX_BYTES, TelegramError, check_limits, root_of

CONTENT_TYPE = "application/xml"
_CHUNK_BYTES = 4096
_SHORT_BYTES = 1 << 15  # of a document whose faults are all told: with every one, lxml counts the siblings before
_MOST_SAID = 16

_ROOTS: dict[str, type] = {cls.__name__: cls for cls in get_args(Telegram)}
_NAMES: Any = {None: NAMESPACE}  # the default namespace
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@cache
def _schema() -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(str(schema_path("telegram.xsd"))))


@cache
def _parts(cls: type) -> tuple[tuple[str, Any, str], ...]:
    """Return the fields of a class in order: name, type, and form in XML: attribute | list | keys | child | children | part | parts."""
    hints = get_type_hints(cls)
    parts: list[tuple[str, Any, str]] = []
    for item in dataclasses.fields(cls):
        kind = hints[item.name]
        if telegram.PART in item.metadata:
            found = KINDS[item.metadata[telegram.PART]]
            parts.append((item.name, found, "parts" if get_origin(kind) is tuple else "part"))
            continue
        if telegram.KEYS in item.metadata:
            parts.append((item.name, item.metadata[telegram.KEYS], "keys"))
            continue
        if get_origin(kind) in (types.UnionType, typing.Union):
            kind = next(argument for argument in get_args(kind) if argument is not type(None))
        if get_origin(kind) is tuple:
            inner = get_args(kind)[0]
            parts.append((item.name, inner, "children" if dataclasses.is_dataclass(inner) else "list"))
        else:
            parts.append((item.name, kind, "child" if dataclasses.is_dataclass(kind) else "attribute"))
    return tuple(parts)


def _text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = repr(value)
        return {"inf": "INF", "-inf": "-INF", "nan": "NaN"}.get(text, text)
    return _NOT_XML.sub("\ufffd", str(value))


def _element_of(part: Any) -> Any:
    element: Any = etree.Element(f"{{{NAMESPACE}}}{type(part).__name__}", {}, _NAMES)
    kind: Any = type(part)
    for name, inner, how in _parts(kind):
        value = getattr(part, name)
        if how == "attribute":
            element.set(name, _text_of(value))
        elif how == "list":
            element.set(name, " ".join(_text_of(entry) for entry in value))
        elif how == "keys":
            for key, one in value.model_dump(mode="json").items():
                element.set(key, _text_of(one))
        elif how in ("part", "parts"):
            values = value if how == "parts" else (value,)
            element.extend(element_of(entry, inner, NAMESPACE, _text_of) for entry in values)
        elif how == "children":
            element.extend(_element_of(child) for child in value)
        elif value is not None:
            element.append(_element_of(value))
    return element


def _value_of(text: str, kind: Any) -> Any:
    if kind is bool:
        return text.strip() in ("true", "1")
    return kind(text)


def _part_of(element: Any, cls: type) -> Any:
    """Return the part in an element that the schema has checked. Absent fields have their default. Raise TelegramError with all faults of the parts
    in it."""
    values: dict[str, Any] = {}
    faults: list[TelegramError] = []
    for name, kind, how in _parts(cls):
        if how in ("attribute", "list"):
            text = element.get(name)
            if text is not None:  # the schema has said which may be absent: those with a default
                whole = how == "attribute"
                values[name] = _value_of(text, kind) if whole else tuple(_value_of(one, kind) for one in text.split())
        elif how == "keys":
            values[name] = keys_of(element, kind)
        else:
            of_model = how in ("part", "parts")
            tag = kind.element if of_model else kind.__name__
            found = []
            for child in element.iterchildren(f"{{{NAMESPACE}}}{tag}"):
                try:
                    found.append(part_of(child, kind) if of_model else _part_of(child, kind))
                except TelegramError as error:
                    faults.append(error)
            if how in ("parts", "children"):
                values[name] = tuple(found)
            elif found:
                values[name] = found[0]
    if faults:
        raise TelegramError("\n".join(map(str, faults)), faults[0].code)
    return cls(**values)


def _validate(element: Any, code: str) -> None:
    schema = _schema()
    if not schema.validate(element):
        log: Any = schema.error_log
        raise _refused(log[0], code)


def _refused(entry: Any, code: str) -> TelegramError:
    """Return the error for `entry` of lxml's log, with line, element and attribute. `code`: the code for a well-formed document with an impossible
    content."""
    if entry.domain != etree.ErrorDomains.SCHEMASV:
        return TelegramError(entry.message.replace("{" + NAMESPACE + "}", ""))
    line = f"line {entry.line}: " if entry.line else ""
    return TelegramError(line + said_of_schema(entry.message), code)


def encode(message: Telegram) -> bytes:
    """Return the telegram as an XML document. Raise TelegramError when a value is outside the schema."""
    element = _element_of(message)
    element.set("version", str(VERSION))
    try:
        _validate(element, "config")
    except TelegramError as error:
        raise TelegramError(f"{type(message).__name__} cannot be sent: {error}") from None
    return bytes(etree.tostring(element, xml_declaration=True, encoding="UTF-8", pretty_print=True))


def decode(data: bytes) -> Telegram:
    """Return the telegram in untrusted bytes. Raise only TelegramError. The time is proportional to the number of bytes."""
    check_limits(data)
    root, version = root_of(data)
    if version != str(VERSION):
        raise TelegramError(
            f"version {version!r} of telegrams is not known here, where version {VERSION} is spoken; install the same rashpa for manager and nodes"
        )
    element = _validated(data, "config" if root == "Configure" else "telegram")
    name = etree.QName(element).localname
    if name not in _ROOTS:
        raise TelegramError(f"{name} is a part of telegrams, not one of them")
    try:
        return typing.cast(Telegram, _part_of(element, _ROOTS[name]))
    except TelegramError:
        raise
    except (ValueError, TypeError, OverflowError) as error:
        raise TelegramError(f"{name}: {error}") from None


def _validated(data: bytes, code: str) -> Any:
    """Return the document's root. Raise TelegramError with `code` when the schema refuses it. The schema checks while the parser reads, and the first
    fault stops both. Validating a complete tree would not stop, and would count all earlier siblings for every error."""
    # resolve_entities stays as it is: with False, lxml's feed takes documents that are cut short for whole ones; without DOCTYPE there is no entity
    parser = etree.XMLParser(
        schema=_schema(),
        encoding="utf-8",
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    log: Any = parser.feed_error_log
    try:
        for first in range(0, len(data), _CHUNK_BYTES):
            parser.feed(data[first : first + _CHUNK_BYTES])
            log = parser.feed_error_log
            if len(log):
                break
        else:
            element = parser.close()
            _validate(element, code)  # once more as a whole, now that there are no errors to be counted
            return element
    except etree.LxmlError as error:
        log = parser.feed_error_log  # the exception's own log has what others have met before
        if not len(log):
            raise TelegramError(str(error).replace("{" + NAMESPACE + "}", "")) from None
    finally:
        with contextlib.suppress(etree.LxmlError):
            parser.close()  # a parser that is dropped before its end keeps what it has built for ever
    raise _with_others(_refused(log[0], code), data) from None


def _with_others(first: TelegramError, data: bytes) -> TelegramError:
    """Return the error with the other faults of a short document, so that its author can correct all at once. `first`: the fault that the schema
    found first."""
    if len(data) > _SHORT_BYTES or first.code == "telegram":
        return first
    parser = etree.XMLParser(no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True)
    schema = _schema()
    try:
        schema.validate(etree.fromstring(data, parser))
    except etree.LxmlError:
        return first
    log: Any = schema.error_log
    texts: dict[str, str] = {}  # by place: the validator has two faults where a bound is not kept
    for text in (str(_refused(entry, first.code)) for entry in log):
        texts.setdefault(text.partition(": it is ")[0], text)
    said = list(texts.values())
    if not any(text.endswith(str(first)) for text in said):
        said.insert(0, str(first))
    if len(said) > _MOST_SAID:
        said = [*said[:_MOST_SAID], f"and {len(said) - _MOST_SAID} more"]
    return TelegramError("\n".join(said), first.code)


__all__ = ["CONTENT_TYPE", "MAX_BYTES", "TelegramError", "decode", "encode", "telegram"]
