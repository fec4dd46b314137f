# SPDX-License-Identifier: Apache-2.0
"""Roles and sessions: two tokens, and the rights of a browser that has sent one."""

import json
from pathlib import Path

import pytest

from rashpa.dashboard.audit import NAME, Audit
from rashpa.dashboard.keys import LIFETIME_S, Keys


class _Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_each_token_gives_its_role_and_no_other_one_any() -> None:
    keys = Keys("orders")
    assert keys.role_of("orders") == ("operator", "")
    assert keys.role_of(keys.to_look) == ("viewer", "")
    for wrong in ("", "order", "orders ", keys.way, "ordérs"):
        role, why = keys.role_of(wrong)
        assert role is None
        assert "not the token" in why


def test_a_session_ends_and_its_orders_with_it() -> None:
    clock = _Clock()
    keys = Keys("orders", clock=clock)
    operator, viewer = keys.open_session("operator"), keys.open_session("viewer")
    assert keys.session(operator.secret) == operator
    assert (operator.may_order, viewer.may_order) == (True, False)
    assert keys.session("guessed") is None
    clock.now += LIFETIME_S
    assert keys.session(operator.secret) is None
    assert not operator.may_order, "of a page that is still open, too"


def test_sessions_are_limited_and_the_oldest_ends() -> None:
    keys = Keys("orders")
    first = keys.open_session("operator")
    for _ in range(1024):
        last = keys.open_session("viewer")
    assert keys.session(first.secret) is None
    assert keys.session(last.secret) is not None


def test_orders_are_recorded_in_lines_and_nothing_follows_a_link(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    audit = Audit(tmp_path / "reports")
    audit.add("stop", "operator", "10.0.0.7\n")
    audit.add("start", "operator", "::1")
    lines = (tmp_path / "reports" / NAME).read_text().splitlines()
    assert [json.loads(line)["order"] for line in lines] == ["stop", "start"]
    assert json.loads(lines[0])["address"] == "10.0.0.7\n"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / NAME).symlink_to(tmp_path / "elsewhere")
    Audit(tmp_path / "other").add("stop", "operator", "::1")
    assert not (tmp_path / "elsewhere").exists()
    assert len(caplog.messages) == 3, "the log has all of them"
