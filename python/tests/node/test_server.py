# SPDX-License-Identifier: Apache-2.0
import asyncio
import io
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from PIL import Image
from prometheus_client.parser import text_string_to_metric_families

from rashpa.control.runfile.kernels import declarations
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram_xml import MAX_BYTES, decode, encode
from rashpa.data.figures.view_bytes import MEDIA_TYPE, view_of_bytes
from rashpa.node.door.access import Access, Names
from rashpa.node.door.server import NodeApp
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.telegram_samples import telegram_samples

pytestmark = pytest.mark.whole

XML = {"content-type": "application/xml"}


def ask(
    work: Callable[[httpx.AsyncClient], Awaitable[None]], access: Access | None = None, configured: bool = True
) -> None:
    async def asked() -> None:
        node = Node("r", "receiver", FakeFactory("receiver"))
        if configured:
            await node.obey(telegram_samples()["configure_destination"])
        transport = httpx.ASGITransport(NodeApp(node, "1.2", access or Access()).starlette())
        async with httpx.AsyncClient(transport=transport, base_url="http://node") as client:
            await work(client)
        await node.close()

    asyncio.run(asked())


def test_telegrams_are_answered_with_telegrams_and_the_http_status_of_their_fault() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        answer = await client.post("/telegram", content=encode(telegram.GetStatus()), headers=XML)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/xml"
        status = decode(answer.content)
        assert isinstance(status, telegram.Status)
        assert status.state == "configured"
        for content, code in (
            (encode(telegram.Start()), 409),
            (b"<nonsense", 400),
            (b'<!DOCTYPE a [<!ENTITY x "y">]><a/>', 400),
            (b" " * (MAX_BYTES + 1), 413),
        ):
            refused = await client.post("/telegram", content=content, headers=XML)
            assert refused.status_code == code
            assert isinstance(decode(refused.content), telegram.Fault)
        assert (await client.get("/telegram")).status_code == 405

    ask(work)


def test_who_leaves_before_the_telegram_is_whole_is_no_error_of_the_node() -> None:
    app = NodeApp(Node("r", "receiver", FakeFactory("receiver")), "1.2").starlette()
    came = [{"type": "http.request", "body": b"<GetSt", "more_body": True}, {"type": "http.disconnect"}]
    sent: list[Any] = []

    async def receive() -> Any:
        return came.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/xml"), (b"host", b"127.0.0.1:1")]
    scope = {"type": "http", "method": "POST", "path": "/telegram", "headers": headers, "query_string": b""}
    scope |= {"client": ("127.0.0.1", 1), "server": ("127.0.0.1", 1), "scheme": "http", "http_version": "1.1"}
    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 400


def test_without_its_token_a_node_says_only_that_it_lives() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        for path in (
            "/status",
            "/capabilities",
            "/metrics",
            "/preview?buffer=full",
            "/view?buffer=full",
            "/books?table=decisions&buffer=full",
        ):
            assert (await client.get(path)).status_code == 401
            assert (await client.get(path, headers={"authorization": "Bearer wrong"})).status_code == 401
            assert (await client.get(path, headers={"authorization": "Bearer secret"})).status_code == 200
        assert (await client.post("/telegram", content=encode(telegram.Reset()))).status_code == 401
        assert (await client.get("/healthz")).json() == {"node": "r", "state": "configured"}

    ask(work, Access("secret"))


OPEN = (
    "/status",
    "/capabilities",
    "/metrics",
    "/preview?buffer=full",
    "/view?buffer=full",
    "/books?table=decisions&buffer=full",
)


@pytest.mark.parametrize(
    "kind",
    ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain", "text/xml", "", "application/xmlx"],
)
def test_a_form_of_a_web_page_is_no_telegram(kind: str) -> None:
    async def work(client: httpx.AsyncClient) -> None:
        headers = {"content-type": kind} if kind else {}
        refused = await client.post("/telegram", content=encode(telegram.Reset()), headers=headers)
        assert refused.status_code == 415
        fault = decode(refused.content)
        assert isinstance(fault, telegram.Fault)
        assert "a telegram has Content-Type: application/xml" in fault.text
        assert (await client.get("/healthz")).json()["state"] == "configured"

    ask(work)


def test_an_xml_type_with_a_character_set_is_taken() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        headers = {"content-type": "Application/XML; charset=utf-8"}
        assert (
            await client.post("/telegram", content=encode(telegram.GetStatus()), headers=headers)
        ).status_code == 200

    ask(work)


def test_what_a_page_in_a_browser_sends_is_refused() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        for origin in ("http://evil.example", "null", "http://127.0.0.1:4780"):
            for path in OPEN:
                assert (await client.get(path, headers={"origin": origin})).status_code == 403
            telegrams = await client.post(
                "/telegram", content=encode(telegram.GetStatus()), headers={**XML, "origin": origin}
            )
            assert telegrams.status_code == 403

    ask(work)


@pytest.mark.parametrize(
    ("host", "loopback", "status"),
    [
        ("127.0.0.1:4780", True, 200),
        ("127.3.2.1", True, 200),
        ("localhost:9", True, 200),
        ("[::1]:4780", True, 200),
        ("detector", True, 200),
        ("DETECTOR:80", True, 200),
        ("evil.example:4780", True, 403),
        ("127.0.0.1.evil.example", True, 403),
        ("0.0.0.0:4780", True, 403),
        ("192.168.1.5:4780", True, 403),
        ("192.168.1.5:4780", False, 200),
        ("evil.example", False, 403),
        ("[", True, 403),
    ],
)
def test_a_request_under_a_foreign_name_is_refused(host: str, loopback: bool, status: int) -> None:
    async def work(client: httpx.AsyncClient) -> None:
        for path in OPEN:
            assert (await client.get(path, headers={"host": host})).status_code == status
        telegrams = await client.post("/telegram", content=encode(telegram.GetStatus()), headers={**XML, "host": host})
        assert telegrams.status_code == status

    ask(work, Access(names=Names(["detector"], loopback)))


def test_status_and_capabilities_are_json_too() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        status = (await client.get("/status")).json()
        assert status["destination"]["buffers"][0]["books"]["expected"] == 2400
        assert (await client.get("/capabilities")).json()["kernels"] == list(declarations())

    ask(work)


def test_metrics_have_the_names_of_the_field() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        text = (await client.get("/metrics")).text
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
        frames = {
            tuple(sample.labels[key] for key in ("state", "module", "buffer", "dtp")): sample.value
            for sample in samples
            if sample.name == "rashpa_frames_total"
        }
        assert frames["expected", "", "full", ""] == 2400
        assert ("complete", "1", "full", "2") in frames
        of_buffers = [sample for sample in samples if "buffer" in sample.labels]
        assert {sample.name for sample in of_buffers} >= {"rashpa_frames_total", "rashpa_bytes_stored_total"}
        assert {sample.labels["receiver"] for sample in of_buffers} == {"whole"}
        names = {sample.name for sample in samples}
        assert {"rashpa_bytes_received_total", "rashpa_stack_ready_seconds_bucket", "rashpa_build_info"} <= names
        build = next(sample for sample in samples if sample.name == "rashpa_build_info")
        assert set(build.labels) == {"version", "commit"}
        assert build.labels["version"] == "1.2"

    ask(work)


def test_an_idle_node_has_metrics_but_no_images_and_no_books() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        assert 'rashpa_state{role="receiver",state="idle"} 1.0' in (await client.get("/metrics")).text
        assert (await client.get("/preview?buffer=full")).status_code == 404
        assert (await client.get("/books?table=completeness&buffer=full")).status_code == 404

    ask(work, configured=False)


def test_a_preview_is_a_png_of_the_buffers_size() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        answer = await client.get("/preview?buffer=full")
        assert answer.headers["content-type"] == "image/png"
        assert Image.open(io.BytesIO(answer.content)).size == (1024, 512)
        assert (await client.get("/preview?buffer=nothing")).status_code == 404

    ask(work)


def test_a_view_is_numbers_and_nothing_when_there_is_no_other_image() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        answer = await client.get("/view?buffer=full&x=1&y=2&width=2&height=1")
        assert answer.headers["content-type"] == MEDIA_TYPE
        _, arrays = view_of_bytes(answer.content)
        assert arrays["image"].tolist() == [[2 * 1024 + 1, 2 * 1024 + 2]]
        assert (await client.get("/view?buffer=full&after=0")).status_code == 204
        assert (await client.get("/view?buffer=nothing")).status_code == 404
        assert (await client.get("/view?buffer=full&of=accepted")).status_code == 200
        assert (await client.get("/view?buffer=full&of=vetoed")).status_code == 404  # none was
        for wrong in (
            "of=missing",
            "x=-1",
            "step=0",
            "step=257",
            "y=1e3",
            "x=1024",
            "after=-1",
            "width=99999999999999999999",
        ):
            assert (await client.get(f"/view?buffer=full&{wrong}")).status_code == 400, wrong

    ask(work)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("table=completeness&buffer=full", 200),
        ("table=completeness&buffer=absent", 404),
        ("table=fates&dtp=2", 404),
        ("table=secrets&buffer=full", 400),
        ("", 400),
    ],
)
def test_books_are_one_byte_an_image(query: str, code: int) -> None:
    async def work(client: httpx.AsyncClient) -> None:
        answer = await client.get(f"/books?{query}")
        assert answer.status_code == code
        if code == 200:
            assert answer.content == bytes(2400)

    ask(work)
