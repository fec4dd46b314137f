# SPDX-License-Identifier: Apache-2.0
"""Defines the states of a node and the orders that move it between them. Every transition has a deadline."""

from dataclasses import dataclass
from enum import StrEnum

from rashpa.data.base.rashpa_error import RashpaError


class RunState(StrEnum):
    """Names the states of a node: idle → configured → armed → running ⇄ paused → finished. Any state can change to fault; Reset leads back to idle."""

    idle = "idle"
    configured = "configured"
    armed = "armed"
    running = "running"
    paused = "paused"
    finished = "finished"
    fault = "fault"


@dataclass(frozen=True)
class Transition:
    """Describes a transition from any of `sources` to `target`. A node that has not completed it after `deadline_s` seconds is in fault."""

    sources: frozenset[RunState]
    target: RunState
    deadline_s: float


def _transition(sources: tuple[RunState, ...], target: RunState, deadline_s: float) -> Transition:
    return Transition(frozenset(sources), target, deadline_s)


_S = RunState
TRANSITIONS: dict[str, Transition] = {
    # of a node without an owner; the resources of an earlier run are given back
    "Claim": _transition((_S.idle, _S.finished, _S.fault), _S.idle, 10.0),
    # making or reading the dataset and touching all memory takes its time
    "Configure": _transition((_S.idle,), _S.configured, 300.0),
    "Arm": _transition((_S.configured,), _S.armed, 5.0),
    "Start": _transition((_S.armed,), _S.running, 5.0),
    "Pause": _transition((_S.running, _S.paused), _S.paused, 5.0),  # again: at another frame
    "Resume": _transition((_S.paused,), _S.running, 5.0),
    # after Stop a node is finished when its engine says so; it stays running until then
    "Stop": _transition((_S.running, _S.paused, _S.finished), _S.running, 5.0),
    "Trigger": _transition((_S.running,), _S.running, 5.0),
    # these leave the state as it is
    "HoldDeadlines": _transition((_S.running, _S.finished), _S.running, 5.0),
    "SetLimits": _transition((_S.armed, _S.running), _S.running, 10.0),
    "Join": _transition((_S.running, _S.paused), _S.running, 10.0),
    "Resend": _transition((_S.running, _S.paused, _S.finished), _S.running, 5.0),
    "Feed": _transition((_S.running, _S.paused, _S.finished), _S.running, 5.0),
    "Abort": _transition((_S.configured, _S.armed, _S.running, _S.paused, _S.finished), _S.finished, 10.0),
    "Reset": _transition(tuple(_S), _S.idle, 10.0),
}


class StateError(RashpaError, RuntimeError):
    """Refuses an order that the present state does not allow."""


def check_transition(node: str, state: RunState, order: str) -> Transition:
    """Return the transition of an order. Raise StateError that names node, state, and the states that allow the order."""
    transition = TRANSITIONS[order]
    if state not in transition.sources:
        allowed = ", ".join(known for known in RunState if known in transition.sources)
        hint = "; send Reset first" if order != "Reset" and state in (_S.fault, _S.finished) else ""
        raise StateError(f"{node} is {state}; {order} is obeyed when {allowed}{hint}")
    return transition
