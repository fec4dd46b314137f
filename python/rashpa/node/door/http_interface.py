# SPDX-License-Identifier: Apache-2.0
"""Describes the HTTP interface of a node in OpenAPI 3.1: the answer of `/openapi.json`, and the source of schema/node_http.json and
docs/reference/http.md."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from rashpa.control.nodes.node_load import Load
from rashpa.control.telegrams.telegram import VERSION, Capabilities, Status
from rashpa.control.telegrams.telegram_xml import CONTENT_TYPE, MAX_BYTES
from rashpa.data.figures.view_bytes import MEDIA_TYPE
from rashpa.node.door import audit
from rashpa.node.door.query import AFTER, BUFFER, DTP, LAST, OF, PLACES, TABLE, Parameter
from rashpa.node.door.request_limits import OWNERS, STRANGERS
from rashpa.node.logs import log

HTTP_OF_FAULT = {
    "telegram": 400,
    "denied": 401,
    "state": 409,
    "config": 422,
    "resource": 422,
    "file": 422,
    "deadline": 504,
    "internal": 500,
}
_JSON, _TEXT = "application/json", "text/plain"
_MEANINGS = {
    400: "The body is no telegram, or a parameter is wrong",
    401: "Without the node's bearer token",
    403: "From a page in a browser, or under a name that is not the node's",
    404: "There is no such table, buffer or image",
    409: "The node's state, or its owner, does not allow it",
    413: f"A body of more than {MAX_BYTES} bytes",
    415: f"A telegram of another type than {CONTENT_TYPE}",
    422: "The node cannot carry out the order",
    429: "Asked too often; Retry-After says when to ask again",
    500: "The node failed; its log says more",
    503: "The node is in fault",
    504: "The order did not end in its time",
}
_REFUSALS = (401, 403, 429)  # of every path that needs a token
_OF_TELEGRAMS = sorted({*HTTP_OF_FAULT.values(), *_REFUSALS, 413, 415})
_DESCRIPTION = (
    "These are the answers of a node (`rashpa emulator`, `rashpa receiver`). Everything but /healthz needs the node's token, when it has one, as "
    "`Authorization: Bearer …`. The answer to a refused request is a Fault telegram (schema/telegram.xsd). "
    f"An address may ask {OWNERS.per_s:g} times a second, {OWNERS.burst:g} at once; without the token, and for /healthz, "
    f"{STRANGERS.per_s:g} times, {STRANGERS.burst:g} at once."
)


@dataclass(frozen=True)
class Health:
    """Holds the answer of /healthz."""

    node: str
    state: str


@cache
def interface() -> dict[str, Any]:
    """Return the OpenAPI document, which is the same for all nodes of a version."""
    schemas: dict[str, Any] = {}

    def known(cls: type) -> dict[str, Any]:
        made = TypeAdapter(cls).json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
        schemas.update({name: _exact(part) for name, part in made.pop("$defs", {}).items()})
        schemas[cls.__name__] = _exact(made)
        return {"$ref": f"#/components/schemas/{cls.__name__}"}

    return {
        "openapi": "3.1.0",
        "info": {"title": "A node of rashpa", "version": str(VERSION), "description": _DESCRIPTION},
        "security": [{"token": []}],
        "paths": _paths(known),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": dict(sorted(schemas.items())),
        },
    }


def _paths(known: Callable[[type], dict[str, Any]]) -> dict[str, Any]:
    """Return the description of all paths. `known`: returns a reference to the schema of a type."""
    telegram_body = {"required": True, "content": {CONTENT_TYPE: {"schema": {"type": "string"}}}}
    return {
        "/telegram": {
            "post": {
                **_said("Give an order, or ask: a telegram, answered by a telegram."),
                "requestBody": telegram_body,
                "responses": {
                    "200": _content("Capabilities, Configured or Status", CONTENT_TYPE, {"type": "string"}),
                    **_faults(_OF_TELEGRAMS),
                },
            }
        },
        "/status": _get("State and counters, as the telegram Status.", _json(known(Status))),
        "/capabilities": _get("The node's abilities, as the telegram Capabilities.", _json(known(Capabilities))),
        "/load": _get("The load of the node's process on its machine.", _json(known(Load))),
        "/metrics": _get(
            "For Prometheus: docs/reference/metrics.md.", _content("Exposition format", _TEXT, {"type": "string"})
        ),
        "/log": _get("The newest entries of the log, the oldest first.", _json(_list_of(known(log.Entry))), [LAST], 400),
        "/audit": _get("The newest orders and refusals, the oldest first.", _json(_list_of(known(audit.Record))), [LAST], 400),
        "/books": _get(
            "A table of one byte an image.",
            _content("The table", "application/octet-stream", {"type": "string"}),
            [TABLE, BUFFER, DTP],
            400,
            404,
        ),
        "/preview": _get(
            "A recent accepted image.", _content("PNG", "image/png", {"type": "string"}), [BUFFER], 404
        ),
        "/view": _view(),
        "/openapi.json": _get("This document.", _json({"type": "object"})),
        "/healthz": {
            "get": {
                **_said("Whether the node lives and is not in fault; without a token."),
                "security": [],
                "responses": {
                    "200": _content("It does", _JSON, known(Health)),
                    "503": _content(_MEANINGS[503], _JSON, known(Health)),
                    **_faults([429]),
                },
            }
        },
    }  # fmt: skip


def _view() -> dict[str, Any]:
    """Describe the path that returns a part of an image as numbers."""
    described = _get(
        "A part of an image as numbers, which need no decoding: `RVW1`, the length of the rest in four bytes, JSON, arrays, each at a multiple of 8; "
        "little-endian. The JSON: index, frame, size, view, why the image was vetoed, lost lines as rectangles, the pipeline's columns, and type, shape and place of each of "
        "the `arrays`. `image`: the largest value of each block of `step` × `step` pixels as uint16, int16 or float32; 65535, -32768 or NaN where no pixel of it has a "
        "value. `absent`: of each such block, row after row, why: 1 masked, 2 saturated, 3 lost, 4 not written. `peaks`, `profile_…` where the pipeline makes them. Asks for a fresh copy: the next is newer.",
        _content("View", MEDIA_TYPE, {"type": "string"}),
        [BUFFER, OF, *PLACES, AFTER],
        400,
        404,
    )
    described["get"]["responses"]["204"] = {"description": "There is no other image than the one that is known"}
    return described


def _exact(schema: dict[str, Any]) -> dict[str, Any]:
    """Require all properties of an object and forbid others. Drop class docstrings, which describe Python classes and not the HTTP interface."""
    if schema.get("type") == "object":
        schema = {**schema, "required": list(schema["properties"]), "additionalProperties": False}
    schema.pop("description", None)
    return schema


def _said(summary: str) -> dict[str, Any]:
    return {"summary": summary}


def _content(text: str, kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, "content": {kind: {"schema": schema}}}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return _content("As it is now", _JSON, schema)


def _list_of(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": schema}


def _faults(statuses: list[int]) -> dict[str, Any]:
    return {str(status): _content(_MEANINGS[status], CONTENT_TYPE, {"type": "string"}) for status in statuses}


def _get(summary: str, good: dict[str, Any], parameters: Sequence[Parameter] = (), *others: int) -> dict[str, Any]:
    """Describe a GET request. `others`: statuses with a plain-text answer."""
    said = {str(status): _content(_MEANINGS[status], _TEXT, {"type": "string"}) for status in others}
    responses = {"200": good, **said, **_faults(list(_REFUSALS))}
    return {"get": {**_said(summary), "parameters": [one.described() for one in parameters], "responses": responses}}
