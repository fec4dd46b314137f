# SPDX-License-Identifier: Apache-2.0
"""The engine's call for each order, and orders that only one role accepts."""

import pytest

from rashpa.control.runfile.kernels import MODELS
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Telegram
from rashpa.node.state.order_calls import OrderError, call_of, check_role

VETO = next(model for model in MODELS if "keep" in model.model_fields)
SET_LIMITS = telegram.SetLimits(
    buffer="full", number=0, kernel=VETO.model_validate({"name": "veto", "keep": "n > 1", "reason": "few"})
)


@pytest.mark.parametrize(
    ("role", "order"),
    [
        ("receiver", telegram.Pause()),
        ("receiver", telegram.Resume()),
        ("receiver", telegram.Trigger(frames=1)),
        ("receiver", telegram.Resend(group="farm", member="a", image=0)),
        ("receiver", telegram.Feed(group="farm", member="a", fed=True)),
        ("emulator", telegram.HoldDeadlines(held=True)),
        ("emulator", SET_LIMITS),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
def test_what_one_role_can_do_is_refused_by_the_other(role: str, order: Telegram) -> None:
    with pytest.raises(OrderError, match=f"n is an? {role}"):
        check_role("n", role, order)
    check_role("n", "emulator" if role == "receiver" else "receiver", order)


def test_each_order_means_one_call_of_the_engine() -> None:
    called: list[tuple[str, tuple[object, ...]]] = []

    class Engine:
        def __getattr__(self, name: str) -> object:
            return lambda *values: called.append((name, values))

    arm, stop, feed = telegram.Arm(), telegram.Stop(), telegram.Feed(group="farm", member="a", fed=True)
    orders = [
        (arm, ("arm", (arm,))),
        (telegram.Start(), ("start", ())),
        (telegram.Pause(frame=3), ("pause", (3,))),
        (telegram.Resume(rate_hz=2.0), ("resume", (2.0,))),
        (telegram.Trigger(frames=5), ("trigger", (5,))),
        (stop, ("stop", (stop,))),
        (feed, ("deal", (feed,))),
        (telegram.HoldDeadlines(held=True), ("hold_deadlines", (True,))),
        (SET_LIMITS, ("set_limits", (SET_LIMITS,))),
        (telegram.Abort(), ("abort", ())),
    ]
    for order, expected in orders:
        call_of(order, Engine())()  # type: ignore[arg-type]
        assert called.pop() == expected
