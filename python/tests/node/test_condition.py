# SPDX-License-Identifier: Apache-2.0
"""The condition of a node, and its parts in the node's log."""

import pytest

from rashpa.control.telegrams.run_state import RunState
from rashpa.node.logs.log import NodeLog
from rashpa.node.state.condition import Condition

_MOST = 64
_LONGEST = 1000


@pytest.fixture
def log() -> NodeLog:
    return NodeLog()


@pytest.fixture
def condition(log: NodeLog) -> Condition:
    return Condition("r", log.logger)


def test_a_fault_is_state_message_notification_and_one_error_of_the_run(condition: Condition, log: NodeLog) -> None:
    condition.run = 7
    condition.enter_fault("r: the disk is full")
    assert (condition.state, condition.message) == (RunState.fault, "r: the disk is full")
    assert [(one.node, one.what, one.text) for one in condition.notifications] == [
        ("r", "fault", "r: the disk is full")
    ]
    assert [(entry["level"], entry["text"], entry["run"]) for entry in log.newest(5)] == [
        ("error", "r: the disk is full", 7)
    ]


def test_the_first_notifications_are_kept_and_long_texts_cut(condition: Condition) -> None:
    for number in range(_MOST + 5):
        condition.notify("overrun", f"{number} " + "x" * _LONGEST)
    assert len(condition.notifications) == _MOST
    assert condition.notifications[0].text.startswith("0 x")
    assert {len(one.text) for one in condition.notifications} == {_LONGEST}


def test_the_next_run_begins_without_what_an_earlier_one_has_left(condition: Condition) -> None:
    condition.enter_fault("r: the disk is full")
    condition.clear()
    assert (condition.message, condition.notifications) == ("", ())
