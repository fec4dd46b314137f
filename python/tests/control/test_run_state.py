# SPDX-License-Identifier: Apache-2.0
import pytest

from rashpa.control.telegrams.run_state import TRANSITIONS, RunState, StateError, check_transition


def test_the_regular_course_goes_from_idle_to_running() -> None:
    state = RunState.idle
    for order in ("Configure", "Arm", "Start", "Pause", "Resume"):
        state = check_transition("n", state, order).target
    assert state is RunState.running


def test_reset_leads_to_idle_from_everywhere() -> None:
    assert {check_transition("n", state, "Reset").target for state in RunState} == {RunState.idle}


@pytest.mark.parametrize(
    ("state", "order"),
    [
        (RunState.idle, "Start"),
        (RunState.idle, "Arm"),
        (RunState.configured, "Start"),
        (RunState.running, "Configure"),
        (RunState.running, "Resume"),
        (RunState.finished, "Start"),
        (RunState.fault, "Configure"),
    ],
)
def test_an_illegal_order_names_node_state_and_what_is_allowed(state: RunState, order: str) -> None:
    with pytest.raises(StateError, match=f"receiver is {state}; {order} is obeyed when"):
        check_transition("receiver", state, order)


def test_every_transition_has_a_deadline() -> None:
    assert all(transition.deadline_s > 0 for transition in TRANSITIONS.values())
