# SPDX-License-Identifier: Apache-2.0
from rashpa.data.base.plain_text import BIDIRECTIONAL, turned_marked


def test_each_control_that_turns_text_gets_a_sign_and_nothing_else_changes() -> None:
    for mark in map(chr, BIDIRECTIONAL):
        assert turned_marked(f"µ {mark}evil") == "µ \ufffdevil"
    usual = "images: 300 × 400, 日本\n"
    assert turned_marked(usual) is usual
