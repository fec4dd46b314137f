# SPDX-License-Identifier: Apache-2.0
import os

import pytest

from rashpa.control.orders.grant import Grant
from rashpa.control.runfile.token import TokenError, checked_token, new_token, token_of_environment


@pytest.mark.parametrize("token", ["", " ", "\t\n", "\u00a0"])
def test_a_blank_token_is_refused(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RASHPA_TOKEN", token)
    with pytest.raises(TokenError, match="RASHPA_TOKEN of the environment is blank"):
        token_of_environment()


@pytest.mark.parametrize("token", ["a b", "a\n", "gr\u00fc\u00df", "x\0"])
def test_a_token_that_cannot_stand_in_a_header_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(TokenError, match="white space or other than ASCII") as caught:
        checked_token(token, "it")
    assert token.strip() not in str(caught.value).split()


def test_programs_that_are_started_do_not_inherit_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RASHPA_TOKEN", "secret")
    assert token_of_environment() == "secret"
    assert "RASHPA_TOKEN" not in os.environ
    assert token_of_environment() == ""


def test_a_grant_comes_back_as_it_was() -> None:
    grant = Grant(new_token(), ("/data", "/more data"), ("/out",))
    assert Grant.of_line(grant.line()) == grant


@pytest.mark.parametrize("line", [b"", b"\n", b"{}", b"[]", b'{"token": " ", "read": [], "write": []}', b"\xff"])
def test_what_is_no_grant_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        Grant.of_line(line)
