# SPDX-License-Identifier: Apache-2.0
"""OpenAPI describes a node's HTTP interface correctly: it has the same paths, and every answer agrees with the description.

schemathesis makes `HTTP_EXAMPLES` requests (25) for each path with a body or parameters, always the same ones.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree
from schemathesis.checks import CHECKS, load_all_checks
from starlette.routing import Route

from rashpa.control.orders.grant import Grant
from rashpa.control.runfile.schemas import schema_path
from rashpa.control.telegrams import telegram, telegram_xml
from rashpa.control.telegrams.telegram_xml import CONTENT_TYPE, MAX_BYTES
from rashpa.node.door.http_interface import HTTP_OF_FAULT, interface
from rashpa.node.door.server import NodeApp
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.telegram_samples import telegram_samples

pytestmark = pytest.mark.whole

EXAMPLES = int(os.environ.get("HTTP_EXAMPLES", "25"))
CONFIGURE = telegram_xml.encode(telegram_samples()["configure_destination"])
GOOD = [telegram_xml.encode(sample) for sample in telegram_samples().values()]
PATHS = sorted((path, method.upper()) for path, operations in interface()["paths"].items() for method in operations)
HEADERS = {"Authorization": "Bearer secret"}
GIVEN = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


def test_the_paths_are_those_that_the_node_has() -> None:
    app = NodeApp(Node("r", "receiver", FakeFactory("receiver")), "test").starlette()
    routes = {
        (route.path, method) for route in app.routes if isinstance(route, Route) for method in route.methods or ()
    }
    assert routes - {(path, "HEAD") for path, _ in routes} == set(PATHS)


def test_every_code_of_a_fault_has_its_http_status() -> None:
    space = {"xs": "http://www.w3.org/2001/XMLSchema"}
    root = etree.parse(str(schema_path("telegram.xsd")))
    codes: Any = root.xpath("//xs:simpleType[@name='FaultCode']//xs:enumeration/@value", namespaces=space)
    assert set(codes) == set(HTTP_OF_FAULT)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Run a configured node with the token `secret` as a process, so that requests take the whole path; yield its URL."""
    command = [sys.executable, "-m", "rashpa.testing.fake_node", "receiver", "r"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(Grant("secret").line())
        process.stdin.flush()
        url = json.loads(process.stdout.readline())["url"]
        configured = httpx.post(f"{url}/telegram", content=CONFIGURE, headers={**HEADERS, "content-type": CONTENT_TYPE})
        assert configured.status_code == 200
        yield url
        # some order may have begun a run that goes on without its manager
        reset = telegram_xml.encode(telegram.Reset(force=True))
        httpx.post(f"{url}/telegram", content=reset, headers={**HEADERS, "content-type": CONTENT_TYPE}, timeout=60.0)
        process.stdin.close()
        process.wait(120)


@st.composite
def telegrams(draw: st.DrawFn) -> bytes:
    """Return valid telegrams, and telegrams with a piece removed, inserted or doubled."""
    data = draw(st.sampled_from(GOOD))
    for _ in range(draw(st.integers(0, 2))):
        first, last = sorted(draw(st.tuples(st.integers(0, len(data)), st.integers(0, len(data)))))
        data = data[:first] + draw(st.sampled_from([b"", data[first:last] * 2, b"\xff", b"<", b"&#0;"])) + data[last:]
    return data


schemathesis.openapi.media_type(CONTENT_TYPE, telegrams())
load_all_checks()
# what is good data of a telegram, or which buffers and DTPs there are now, OpenAPI cannot say; who asks often without a token is answered 429
UNKNOWN: list[Any] = [
    CHECKS.get_one(name) for name in ("negative_data_rejection", "positive_data_acceptance", "ignored_auth")
]


@pytest.mark.parametrize(("path", "method"), PATHS)
def test_a_path_that_needs_the_token_says_so_without_it(path: str, method: str, url: str) -> None:
    free = interface()["paths"][path][method.lower()].get("security") == []
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic secret"}, {"Authorization": ""}):
        assert httpx.request(method, f"{url}{path}", headers=headers).status_code == (200 if free else 401)


@pytest.fixture(scope="module")
def schema(url: str) -> schemathesis.BaseSchema:
    return schemathesis.openapi.from_url(f"{url}/openapi.json", headers=HEADERS)


# the last is that which changes the node's state
@pytest.mark.parametrize(("path", "method"), PATHS)
def test_whatever_is_asked_is_answered_as_it_is_described(
    path: str, method: str, schema: schemathesis.BaseSchema
) -> None:
    operation = schema[path][method]
    described = interface()["paths"][path][method.lower()]
    asks = EXAMPLES if described.get("parameters") or method == "POST" else 3
    seen: set[int] = set()

    @settings(GIVEN, max_examples=asks)
    @given(case=operation.as_strategy(), way=st.sampled_from(["as drawn", "of a buffer", "plain"]))
    def ask(case: schemathesis.Case[Any], way: str) -> None:
        if way != "as drawn" and path in ("/books", "/preview", "/view"):
            if way == "plain":  # other parameters, which are drawn, fit seldom
                case.query.clear()
            case.query["buffer"] = "full"
        unknown = UNKNOWN if method == "POST" else UNKNOWN[1:]
        answer = case.call_and_validate(headers=HEADERS, excluded_checks=unknown)
        seen.add(answer.status_code)

    ask()
    assert 200 in seen


def test_a_body_that_is_too_long_is_answered_and_not_just_cut_off(url: str) -> None:
    for size in (MAX_BYTES + 1, 4 * MAX_BYTES):
        answer = httpx.post(f"{url}/telegram", content=b" " * size, headers={**HEADERS, "content-type": CONTENT_TYPE})
        assert answer.status_code == 413
        fault = telegram_xml.decode(answer.content)
        assert isinstance(fault, telegram.Fault)
        assert fault.text == "r: a telegram has at most 4194304 bytes"
