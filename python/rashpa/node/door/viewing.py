# SPDX-License-Identifier: Apache-2.0
"""Works for viewers of images: one task at a time, on a thread of low priority."""

import asyncio
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from rashpa.node.door.query import AFTER, BUFFER, OF, PLACES
from rashpa.node.engine.preview import Preview, Shown, View

_PATIENCE_S = 1.0
_LOOK_S = 0.01
_NICE = 19
_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(frozen=True)
class Asked:
    """Holds a request for a view. `of`: the kind of image; `after`: the index of the image that the viewer already has, None without one."""

    buffer: str
    view: View
    after: int | None
    of: Shown = "accepted"


def asked_of(query: Mapping[str, str]) -> Asked:
    """Parse a request. Raise ValueError for a number that is wrong or out of range, and for a kind of image that no receiver keeps."""
    view = View(*(place.read(query) or 0 for place in PLACES))
    return Asked(BUFFER.read(query), view, AFTER.read(query), OF.read(query))


class Viewing:
    """Does the work for the viewers of one node. Its thread starts with the first task."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "viewing", _yield_to_others)

    async def do(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run `work` after all earlier tasks and return its result."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: work(*args, **kwargs))

    async def newer(self, look: Callable[[], Preview | None], after: int | None) -> Preview | None:
        """Return the first image with an index other than `after`, None when none comes within a second. Raise KeyError when the buffer is unknown,
        or when it has no image and `after` is None."""
        ends = asyncio.get_running_loop().time() + _PATIENCE_S
        while True:
            found = look()
            if found is None and after is None:
                raise KeyError("no such image yet")
            if found is not None and found.index != after:
                return found
            found = None  # its memory is wanted for the next
            if asyncio.get_running_loop().time() > ends:
                return None
            await asyncio.sleep(_LOOK_S)


def _yield_to_others() -> None:
    """Lower the priority of this thread, because the data path needs every processor more than viewers do."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
