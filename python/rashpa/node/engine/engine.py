# SPDX-License-Identifier: Apache-2.0
"""What a node needs of an engine: `native_engine` is the real one, `rashpa.testing.fake_engine` one without compiled code.

Constructors take all memory, sockets and files; they raise `EngineError` with a code of the Fault telegram. Calls may come from any thread and are
bounded, `wait` by its argument.
"""

from collections.abc import Iterable
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
    SourceStatus,
    Stop,
)
from rashpa.node.engine.preview import Preview, Shown
from rashpa.node.logs.log import NativeMessage

Table = NDArray[np.uint8]


class EngineError(RuntimeError):
    """The engine refuses; `code` is that of a Fault telegram: config | resource | file | state | internal."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class Engine(Protocol):
    """What emulator and receiver have in common."""

    def configured(self, node: str) -> Configured:
        """Endpoints and, of a receiver, placements, in the order of the Configure telegram."""
        ...

    def arm(self, order: Arm) -> None: ...
    def start(self) -> None: ...

    def pause(self, frame: int = 0) -> None:
        """Emulator: begins no frame from that number on, nor one behind the foremost that a DTP has begun; to there all go on."""
        ...

    def resume(self, rate_hz: float = 0.0) -> None:
        """Goes on, with another rate where one is given."""
        ...

    def stop(self, order: Stop) -> None:
        """Emulator: stops sending. Receiver: nothing more will come; `wait` becomes True when what is open is closed."""
        ...

    def hold_deadlines(self, held: bool) -> None:
        """Receiver: whether no deadline of an image passes."""
        ...

    def trigger(self, frames: int) -> None:
        """Emulator: lets so many more frames be taken."""
        ...

    def join(self, order: Join) -> tuple[Endpoint, ...]:
        """Emulator: one more member of a group; where its DTPs send from."""
        ...

    def deal(self, order: Resend | Feed) -> None:
        """Emulator: gives up a member of a group, or feeds it or not."""
        ...

    def abort(self) -> None:
        """Ends at once; idempotent."""
        ...

    def wait(self, timeout_s: float) -> bool:
        """True when everything is done."""
        ...

    def status(self) -> SourceStatus | DestinationStatus: ...

    def table(self, name: str, key: str) -> Table:
        """Per image one byte. Emulator: `fates` by DTP id; `dealt`, eight bytes each, the frame numbers that
        the DTP of a group was given. Receiver: `completeness`, `decisions` by buffer name. KeyError otherwise."""
        ...

    def preview(self, key: str, of: Shown = "accepted") -> Preview | None:
        """Of a buffer the latest copy of an accepted image, and asks for a fresh one, or the first image of the run that is `of`; None when there is none yet.
        KeyError when there is no such buffer."""
        ...


class EngineFactory(Protocol):
    """Makes the engine of one node."""

    def capabilities(self, node: str) -> Capabilities: ...

    def make(self, order: Configure) -> Engine:
        """Takes everything that the order needs, or raises EngineError."""
        ...

    def prepared(self) -> float:
        """Of the engine that is made now, the share of its dataset that lies in memory. Any thread."""
        ...

    def take_log(self) -> Iterable[NativeMessage]:
        """What native code has said since the last time. Any thread."""
        ...
