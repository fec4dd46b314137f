# SPDX-License-Identifier: Apache-2.0
"""A key of the run file is declared once in Python: telegram and native configuration take it by its name, and none is forgotten on the way."""

import dataclasses
from typing import Any

import pytest

from rashpa.control.orders.same_fields import PLAIN, plain_fields, same_fields
from rashpa.control.runfile.buffer_section import Buffer
from rashpa.control.runfile.section import Section
from rashpa.control.telegrams import telegram

# Keys that reach a node in another form, or are of the plan alone.
OTHERWISE = {
    Buffer: {"receiver", "group", "region", "bands", "dtp", "device", "devices", "card", "kernel", "feedback", "sink"},
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Part:
    number: int
    word: str = ""
    card: str = "none"
    parts: tuple[int, ...] = ()
    absent: str | None = None


class _Section:
    number, word, card, parts, absent, more = 3, "w", "sim", (1,), None, 5


def test_plain_values_of_one_name_are_taken_and_nothing_else() -> None:
    part = _Part(**same_fields(_Section(), _Part, but=("card",)))
    assert part == _Part(number=3, word="w")
    assert dict(plain_fields(part)) == {"number": 3, "word": "w", "card": "none"}


@pytest.mark.parametrize(("section", "part"), [(Buffer, telegram.Buffer)])
def test_every_key_of_a_section_is_in_its_telegram_or_known_to_be_elsewhere(
    section: type[Section], part: type[Any]
) -> None:
    named = {field.name for field in dataclasses.fields(part)}
    assert set(section.model_fields) - named - OTHERWISE[section] == set()


def test_buffers_of_a_telegram_reach_the_native_configuration() -> None:
    native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    from rashpa.node.engine.native_receiver import NOT_NATIVE

    plain = {field.name for field in dataclasses.fields(telegram.Buffer) if field.type in (bool, int, float, str)}
    assert plain - NOT_NATIVE == {name for name in plain if hasattr(native.BufferConfig, name)}
    assert all(issubclass(kind, PLAIN) for kind in (bool, int, float, str))
