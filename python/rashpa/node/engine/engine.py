# SPDX-License-Identifier: Apache-2.0
"""The interface of engines to nodes: `native_engine` is the real one, `rashpa.testing.fake_engine` one without compiled code.

Constructors take all memory, sockets and files; they raise `EngineError` with a code of the Fault telegram. Any thread may call; each call is bounded in
time, `wait` by its argument.
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
    """Reports a refusal of the engine; `code` is that of a Fault telegram: config | resource | file | state | internal."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class Engine(Protocol):
    """Declares the common part of emulator and receiver."""

    def configured(self, node: str) -> Configured:
        """Return endpoints and, of a receiver, placements, in the order of the Configure telegram."""
        ...

    def arm(self, order: Arm) -> None: ...
    def start(self) -> None: ...

    def pause(self, frame: int = 0) -> None:
        """Begin no frame from that number on (emulator). When a DTP has begun a later frame, all go on up to the foremost one."""
        ...

    def resume(self, rate_hz: float = 0.0) -> None:
        """Go on, with another rate where one is given."""
        ...

    def stop(self, order: Stop) -> None:
        """Stop sending (emulator), or expect no more images (receiver); `wait` returns True when open images are closed."""
        ...

    def hold_deadlines(self, held: bool) -> None:
        """Hold the deadlines of images, or let them pass again (receiver)."""
        ...

    def set_limits(self, order: SetLimits) -> None:
        """Give a veto other limits from the next stack on (receiver); `status` has the change."""
        ...

    def trigger(self, frames: int) -> None:
        """Release a number of further frames (emulator)."""
        ...

    def join(self, order: Join) -> tuple[Endpoint, ...]:
        """Add a member to a group (emulator); return the endpoints of its DTPs."""
        ...

    def deal(self, order: Resend | Feed) -> None:
        """Give up a member of a group, or feed it or not (emulator)."""
        ...

    def abort(self) -> None:
        """End at once; idempotent."""
        ...

    def wait(self, timeout_s: float) -> bool:
        """Return True when everything is done."""
        ...

    def status(self) -> SourceStatus | DestinationStatus: ...

    def table(self, name: str, key: str) -> Table:
        """Return one byte per image. Emulator: `fates` by DTP id; `dealt`, eight bytes each, the frame numbers that the DTP of a group was given. Receiver:
        `completeness`, `decisions` by buffer name. Raise KeyError for other names."""
        ...

    def preview(self, key: str, of: Shown = "accepted") -> Preview | None:
        """Return the latest copy of an accepted image of a buffer and request a fresh one, or return the first image of the run that is `of`; None when there
        is none yet. Raise KeyError when there is no such buffer."""
        ...


class EngineFactory(Protocol):
    """Makes the engine of one node."""

    def capabilities(self, node: str, units: Sequence[str] = ()) -> Capabilities:
        """Return the capabilities of the node `node`, with the units of these names and their devices; without names, with all."""
        ...

    def make(self, order: Configure) -> Engine:
        """Take everything that the order needs, or raise EngineError."""
        ...

    def prepared(self) -> float:
        """Return the share of the dataset in memory of the engine that is being made. Any thread may call it."""
        ...

    def take_log(self) -> Iterable[NativeMessage]:
        """Return the messages of native code since the last call. Any thread may call it."""
        ...
