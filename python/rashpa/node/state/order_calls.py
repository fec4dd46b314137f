# SPDX-License-Identifier: Apache-2.0
"""Maps each order to its call of the engine, and refuses orders that only the other role takes."""

from collections.abc import Callable

from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Telegram
from rashpa.data.base.rashpa_error import RashpaError
from rashpa.node.engine.engine import Engine


class OrderError(RashpaError, RuntimeError):
    """Refuses a telegram; the answer is a Fault telegram."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def check_role(node: str, role: str, order: Telegram) -> None:
    """Raise OrderError for an order that only the other role can obey."""
    name = type(order).__name__
    if role == "receiver" and isinstance(order, telegram.Pause | telegram.Resume | telegram.Trigger):
        raise OrderError("state", f"{node} is a receiver: it takes what comes; send {name} to the emulator")
    if role == "receiver" and isinstance(order, telegram.Join | telegram.Resend | telegram.Feed):
        raise OrderError("state", f"{node} is a receiver: images are dealt by the emulator; send {name} there")
    if role == "emulator" and isinstance(order, telegram.SetLimits):
        raise OrderError("state", f"{node} is an emulator: it vetoes no image; send {name} to the receiver")
    if role == "emulator" and isinstance(order, telegram.HoldDeadlines):
        raise OrderError("state", f"{node} is an emulator: it waits for no image; send {name} to the receiver")


def call_of(order: Telegram, engine: Engine) -> Callable[[], object]:
    """Return the call of the engine that carries out an order; the call may take long."""
    match order:
        case telegram.Arm():
            return lambda: engine.arm(order)
        case telegram.Start():
            return engine.start
        case telegram.Pause():
            return lambda: engine.pause(order.frame)
        case telegram.Resume():
            return lambda: engine.resume(order.rate_hz)
        case telegram.Trigger():
            return lambda: engine.trigger(order.frames)
        case telegram.Stop():
            return lambda: engine.stop(order)
        case telegram.Resend() | telegram.Feed():
            return lambda: engine.deal(order)
        case telegram.HoldDeadlines():
            return lambda: engine.hold_deadlines(order.held)
        case telegram.SetLimits():
            return lambda: engine.set_limits(order)
        case _:
            return engine.abort
