# SPDX-License-Identifier: Apache-2.0
import asyncio

import httpx
import pytest

from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.nodes.node_url import NodeUrlError, node_url, tls_trouble

_FAILED = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: {} (_ssl.c:992)"


@pytest.mark.parametrize("url", ["http://127.0.0.1:4781", "https://node:1"])
def test_a_url_is_taken_as_it_is(url: str) -> None:
    assert node_url(url) == url


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("foo", "foo is no URL of a node; a node prints its own"),
        ("ftp://node", "no URL of a node"),
        ("node:4781", "write http://node:4781, or https://node:4781 where it has a certificate"),
        ("[::1]:4781", "write http://[::1]:4781"),
    ],
)
def test_other_texts_are_refused_with_the_url_that_may_be_meant(text: str, says: str) -> None:
    with pytest.raises(NodeUrlError) as caught:
        node_url(text)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("said", "authority", "words"),
    [
        (_FAILED.format("self-signed certificate"), "", "give its file: nodes.authority of the run file, or --authority FILE"),
        (_FAILED.format("self-signed certificate"), "other.pem", "has a certificate that other.pem does not vouch for (self-signed certificate)"),
        (_FAILED.format("Hostname mismatch, certificate is not valid for 'b'."), "", "has a certificate for another name"),
        (_FAILED.format("certificate has expired"), "", "not valid now (certificate has expired)"),
        ("[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:992)", "", "speaks no TLS; write http://node:1"),
        ("All connection attempts failed", "", ""),
    ],
)  # fmt: skip
def test_errors_of_tls_have_words_of_their_own(said: str, authority: str, words: str) -> None:
    found = tls_trouble("https://node:1", said, authority)
    assert words in found
    assert bool(found) == bool(words)


def _fails(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError(_FAILED.format("self-signed certificate"), request=request)


def test_the_client_says_them() -> None:
    async def asked() -> None:
        client = NodeClient("receiver", "https://node:1", transport=httpx.MockTransport(_fails))
        try:
            await client.status()
        finally:
            await client.close()

    with pytest.raises(
        NodeError, match="receiver at https://node:1 has a certificate that this machine does not trust"
    ):
        asyncio.run(asked())


@pytest.mark.parametrize(
    ("token", "says"), [("", "needs its bearer token; set"), ("x", "token, and another one was given; set")]
)
def test_a_wrong_token_reads_other_than_none(token: str, says: str) -> None:
    async def asked() -> None:
        client = NodeClient(
            "receiver", "http://node:1", token, transport=httpx.MockTransport(lambda _: httpx.Response(401))
        )
        try:
            await client.load()
        finally:
            await client.close()

    with pytest.raises(NodeError, match=says):
        asyncio.run(asked())
