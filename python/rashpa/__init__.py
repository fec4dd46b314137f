# SPDX-License-Identifier: Apache-2.0
"""An open RDMA-based acquisition system for 2D X-ray detectors: control plane, readers and tools around the native data plane.

`open` reads a stored run, `run` carries one out, `live` yields its accepted images while they come, and `feedback` yields a receiver's decisions.
`rashpa.kernel` has every kernel as a function on arrays, and `Pipeline` runs several in a row. All raise a `RashpaError` when they cannot do their work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

from rashpa.old_names import know as _know_old_names

if TYPE_CHECKING:
    from pathlib import Path

    from rashpa.control.books.outcome import Outcome
    from rashpa.data.base.rashpa_error import RashpaError
    from rashpa.data.kernels.pipeline import Found, Pipeline
    from rashpa.data.stored.live import Live
    from rashpa.data.stream.feedback import Feedback
    from rashpa.data.stream.live_stream import LiveStream

__all__ = ["Found", "Pipeline", "RashpaError", "feedback", "live", "open", "run"]


def open(file: Path | str) -> Any:  # noqa: A001 (rashpa.open, as with other formats)
    """Open a stored run by its `_master.h5` file and return a `Run`. A file that links to several masters gives one run for all members of a group
    (`JoinedRun`), or a mapping of buffer names to runs. Raise StoredRunError that names the fault."""
    from rashpa.data.stored.opened import opened

    return opened(file)


def run(config: Path | str | Mapping[str, Any]) -> Outcome:
    """Carry out a run file, or its tables as a dict, and return the result: `good`, `problem`, the books of all buffers."""
    from rashpa.control.run.run_to_end import run_to_end

    return run_to_end(config)


@overload
def live(source: Path, timeout_s: float | None = None) -> Live: ...
@overload
def live(source: str, timeout_s: float | None = None, *, pattern: str = "push") -> Live | LiveStream: ...
def live(source: Path | str, timeout_s: float | None = None, *, pattern: str = "push") -> Live | LiveStream:
    """Yield the accepted images of a run while it goes on, from the files of its receiver: `for image in rashpa.live("out/RUN_BUFFER_master.h5")`.
    Every image is yielded, also to a slow reader, and the receiver is not affected. Raise TimeoutError when none arrives in time, LiveError when the
    receiver has died.

    With "tcp://ADDRESS:PORT", yield images of a sender of DECTRIS Stream V2, such as the sink `stream2`. A slow reader misses images, and `missed`
    counts them. `pattern` is the sender's, "push" or "pub".
    """
    if isinstance(source, str) and source.startswith(("tcp://", "ipc://")):
        from rashpa.data.stream.live_stream import LiveStream

        return LiveStream(source, timeout_s, pattern=pattern)
    from rashpa.data.stored.live import open_live

    return open_live(source, timeout_s)


def feedback(
    source: Path | str, timeout_s: float | None = None, *, spin: bool = False, begin: str = "oldest", buffer: str = ""
) -> Feedback:
    """Yield images as a receiver decides them, until the run is over. `source`: the name or file of a ring, or tcp://ADDRESS:PORT."""
    from rashpa.data.stream.feedback import open_feedback

    return open_feedback(source, timeout_s, spin=spin, begin=begin, buffer=buffer)


def __getattr__(name: str) -> Any:
    # the native module is not there where only the manager runs, and a word about commands imports nothing
    if name in ("Found", "Pipeline"):
        from rashpa.data.kernels import pipeline

        return getattr(pipeline, name)
    if name == "RashpaError":
        from rashpa.data.base.rashpa_error import RashpaError

        return RashpaError
    if name == "__version__":
        from rashpa.control.nodes.version import software_version

        return software_version()
    raise AttributeError(f"module 'rashpa' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})


_know_old_names()
