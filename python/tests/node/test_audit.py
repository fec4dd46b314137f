# SPDX-License-Identifier: Apache-2.0
import asyncio
import json
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram_xml import MAX_BYTES, encode
from rashpa.node.door.access import Access
from rashpa.node.door.audit import AGAIN_S, MOST, Audit, Record, audit_into
from rashpa.node.door.server import NodeApp
from rashpa.node.logs.serve_error import ServeError
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.telegram_samples import telegram_samples

FAULT = telegram.Fault(node="r", state="idle", code="denied", text="no")
SECRETS = ("theownerssecret", "thetoken")


def ask(audit: Audit, work: Callable[[httpx.AsyncClient], Awaitable[None]], token: str = "thetoken") -> None:
    async def asked() -> None:
        node = Node("r", "receiver", FakeFactory("receiver"))
        transport = httpx.ASGITransport(
            NodeApp(node, "test", Access("thetoken"), audit).starlette(), client=("10.1.2.3", 9)
        )
        headers = {"content-type": "application/xml", "authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://node", headers=headers) as client:
            await work(client)
        await node.close()

    asyncio.run(asked())


async def send(client: httpx.AsyncClient, order: Any) -> None:
    await client.post("/telegram", content=encode(order))


def test_orders_are_recorded_with_who_when_what_and_the_answer_and_without_secrets(tmp_path: Path) -> None:
    file = tmp_path / "audit.log"
    audit = Audit(audit_into(file))

    async def work(client: httpx.AsyncClient) -> None:
        await send(client, telegram.Claim(holder="run a of bob", owner="theownerssecret"))
        await send(client, telegram.GetStatus(owner="theownerssecret"))
        configure = telegram_samples()["configure_destination"]
        assert isinstance(configure, telegram.Configure)
        await send(client, telegram.Start(owner="another"))
        await send(client, telegram.Reset(force=True))
        kept = (await client.get("/audit?last=5")).json()
        assert kept == audit.newest(5)

    ask(audit, work)
    records = [json.loads(line) for line in file.read_text().splitlines()]
    assert records == audit.newest(MOST)
    shown = [(one["order"], one["owner"], one["forced"], one["holder"], one["answer"], one["code"]) for one in records]
    assert shown == [
        ("Claim", True, False, "run a of bob", "Status", ""),
        ("Start", False, False, "run a of bob", "Fault", "state"),
        ("Reset", False, True, "run a of bob", "Status", ""),
    ]
    assert {one["peer"] for one in records} == {"10.1.2.3"}
    assert records[1]["text"].startswith("r belongs to run a of bob; Start of others is refused")
    assert [one["status"] for one in records] == [200, 409, 200]
    assert all(len(one["sha256"]) == 64 and one["bytes"] > 50 for one in records)
    assert not any(secret in file.read_text() for secret in (*SECRETS, "another"))
    assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0


def test_a_run_stands_in_the_record_of_its_configure() -> None:
    audit = Audit()

    async def work(client: httpx.AsyncClient) -> None:
        await send(client, telegram_samples()["configure_destination"])

    ask(audit, work)
    (record,) = audit.newest(MOST)
    assert (record["order"], record["answer"], record["run"]) == ("Configure", "Configured", "first_light, number 7")


@pytest.mark.parametrize(
    ("content", "kind", "token", "status", "code"),
    [
        (b"<Reset", "application/xml", "thetoken", 400, "telegram"),
        (b" " * (MAX_BYTES + 1), "application/xml", "thetoken", 413, "telegram"),
        (b"<Reset/>", "text/plain", "thetoken", 415, "denied"),
        (b"<Reset/>", "application/xml", "wrong", 401, "denied"),
    ],
)
def test_what_is_refused_is_recorded_without_what_a_stranger_chose(
    content: bytes, kind: str, token: str, status: int, code: str
) -> None:
    audit = Audit()

    async def work(client: httpx.AsyncClient) -> None:
        for number in range(3):
            answer = await client.post(
                "/telegram", content=content, headers={"content-type": kind, "x-made-up": str(number)}
            )
            assert answer.status_code == status

    ask(audit, work, token)
    (record,) = audit.newest(MOST)
    assert (record["peer"], record["order"], record["status"], record["code"], record["times"]) == (
        "10.1.2.3", "/telegram", status, code, 1,
    )  # fmt: skip
    assert record["text"] == ""


def test_the_same_refusal_is_recorded_once_a_minute_with_how_many_there_were() -> None:
    now = [0.0]
    copied: list[Record] = []
    audit = Audit(copied.append, lambda: now[0])
    for _ in range(600):
        now[0] += AGAIN_S / 240  # 0.25 s, which adds up exactly
        audit.refused("10.0.0.1", "/status", FAULT, 401)
    audit.refused("10.0.0.2", "/status", FAULT, 401)
    assert [(record.peer, record.times) for record in copied] == [
        ("10.0.0.1", 1), ("10.0.0.1", 240), ("10.0.0.1", 240), ("10.0.0.2", 1),
    ]  # fmt: skip


def test_strangers_in_any_number_are_remembered_in_bounded_memory() -> None:
    audit = Audit()
    for number in range(5000):
        audit.refused(f"10.0.{number // 250}.{number % 250}", "/status", FAULT, 401)
    assert len(audit.newest(10**6)) == MOST
    assert len(audit._refused) <= 256


def test_an_audit_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(ServeError, match=r"audit file .*audit\.log: Not a directory; give a file in a folder"):
        audit_into(tmp_path / "taken" / "audit.log")
