# SPDX-License-Identifier: Apache-2.0
"""Defines the interface of engines to nodes: `native_engine` is the real one, `rashpa.testing.fake_engine` one without compiled code.

Constructors take all memory, sockets and files; they raise `EngineError` with a code of the Fault telegram. Any thread may call an engine. Each call
takes a bounded time; `wait` takes at most the time of its argument.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rashpa.control.telegrams.telegram import (
    Arm,
    Capabilities,
    Configure,
    Configured,
    DestinationStatus,
    Endpoint,
    Feed,
    Join,
    Resend,
    SetLimits,
    SourceStatus,
    Stop,
)
from rashpa.data.base.rashpa_error import RashpaError
from rashpa.node.engine.preview import Preview, Shown
from rashpa.node.logs.log import NativeMessage

Table = NDArray[np.uint8]


class EngineError(RashpaError, RuntimeError):
    """Reports a refusal of the engine; `code` is a code of the Fault telegram: config | resource | file | state | internal."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class Engine(Protocol):
    """Declares the methods of all engines, of emulators and receivers."""

    def configured(self, node: str) -> Configured:
        """Return the node's endpoints and, for a receiver, its placements, in the order of the Configure telegram."""
        ...

    def arm(self, order: Arm) -> None: ...
    def start(self) -> None: ...

    def pause(self, frame: int = 0) -> None:
        """Pause an emulator before frame `frame`. When a DTP has begun a later frame, all DTPs continue up to that frame."""
        ...

    def resume(self, rate_hz: float = 0.0) -> None:
        """Resume sending, at `rate_hz` unless it is 0."""
        ...

    def stop(self, order: Stop) -> None:
        """Stop sending (emulator), or expect no more images (receiver). `wait` returns True when all open images are closed."""
        ...

    def hold_deadlines(self, held: bool) -> None:
        """Suspend the deadlines of images (`held`), or enforce them again (receiver)."""
        ...

    def set_limits(self, order: SetLimits) -> None:
        """Change the limits of a veto from the next stack on (receiver); `status` then reports the change."""
        ...

    def trigger(self, frames: int) -> None:
        """Release `frames` further frames (emulator)."""
        ...

    def join(self, order: Join) -> tuple[Endpoint, ...]:
        """Add a member to a group (emulator); return the endpoints of its DTPs."""
        ...

    def deal(self, order: Resend | Feed) -> None:
        """Give up a member of a group and deal its images to others (Resend), or begin or stop giving images to a member (Feed) (emulator)."""
        ...

    def abort(self) -> None:
        """End the run at once; idempotent."""
        ...

    def wait(self, timeout_s: float) -> bool:
        """Wait at most `timeout_s` seconds; return True when the run has ended."""
        ...

    def status(self) -> SourceStatus | DestinationStatus: ...

    def table(self, name: str, key: str) -> Table:
        """Return a table with one byte for each image. An emulator has `fates` by DTP id, and `dealt` with eight bytes each: the frame numbers that a
        group's DTP was given. A receiver has `completeness` and `decisions` by buffer name. Raise KeyError for other names."""
        ...

    def preview(self, key: str, of: Shown = "accepted") -> Preview | None:
        """Return the latest copy of an accepted image of a buffer and request a new copy. With another `of`, return the first image of that kind in
        the run. Return None when there is none yet. Raise KeyError for an unknown buffer."""
        ...


class EngineFactory(Protocol):
    """Makes the engines of one node."""

    def capabilities(self, node: str, units: Sequence[str] = ()) -> Capabilities:
        """Return the capabilities of the node `node`, with the given units and their devices; without `units`, with all units."""
        ...

    def make(self, order: Configure) -> Engine:
        """Make an engine with everything that the order needs. Raise EngineError."""
        ...

    def prepared(self) -> float:
        """Return the share of the dataset, 0 to 1, that the engine being made has in memory. Any thread may call it."""
        ...

    def take_log(self) -> Iterable[NativeMessage]:
        """Return the log messages of native code since the last call. Any thread may call it."""
        ...
