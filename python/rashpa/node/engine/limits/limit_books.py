# SPDX-License-Identifier: Apache-2.0
"""Holds the limits of the vetoes of one buffer, which may change during a run, and records each change."""

import json
import threading
import time
from collections.abc import Callable, Sequence

from rashpa.control.runfile.kernels import Kernel, live_keys, parameters_of, step_of
from rashpa.control.telegrams.telegram import LimitChange, SetLimits
from rashpa.node.engine.engine import EngineError

MOST_CHANGES = 1000
"""Values that a buffer may change in a run: status and file have all of them."""


class LimitBooks:
    """Holds the kernels of a buffer with their current limits. `kernels`: the kernels at the start."""

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self._kernels = list(kernels)
        self._changes: tuple[LimitChange, ...] = ()
        self._changing = threading.Lock()

    @property
    def changes(self) -> tuple[LimitChange, ...]:
        """Return all changes, in order. Any thread may call it."""
        return self._changes

    def change(self, order: SetLimits, give: Callable[[Kernel], int]) -> None:
        """Carry out an order. `give` passes the kernel's limits to the engine, and returns the index of the first image that has them. Raise
        EngineError."""
        with self._changing:
            pairs = self._differences(order)
            first = give(order.kernel)
            step, now = step_of(order.kernel), time.time_ns()
            self._changes += tuple(
                LimitChange(
                    time_ns=now,
                    number=order.number,
                    step=step,
                    key=key,
                    old=json.dumps(old),
                    new=json.dumps(new),
                    first_image=first,
                    by=order.by,
                )
                for key, old, new in pairs
            )
            self._kernels[order.number] = order.kernel

    def _differences(self, order: SetLimits) -> list[tuple[str, object, object]]:
        """Return key, old and new value of each changed parameter. Raise EngineError when a parameter may not change, or when none has changed."""
        if order.number >= len(self._kernels):
            raise EngineError(
                "config", f"number: the buffer has {len(self._kernels)} kernels; use a number from 0 to below that"
            )
        before = self._kernels[order.number]
        if before.name != order.kernel.name:
            raise EngineError(
                "config",
                f"number: kernel {order.number} is {before.name}, not {order.kernel.name}; name the same kernel",
            )
        old, new = parameters_of(before), parameters_of(order.kernel)
        changed = [(key, old[key], new[key]) for key in new if new[key] != old.get(key)]
        live = live_keys(before)
        fixed = [key for key, _, _ in changed if key not in live]
        if fixed:
            raise EngineError(
                "config",
                f"{fixed[0]}: kernel {before.name} keeps it from its start to its end; change {' or '.join(live) or 'another kernel'}",
            )
        if not changed:
            raise EngineError("config", f"kernel {before.name} has these limits already; give others")
        if len(self._changes) + len(changed) > MOST_CHANGES:
            raise EngineError(
                "resource", f"the buffer has changed {MOST_CHANGES} limits, which is the most; start another run"
            )
        return changed
