# SPDX-License-Identifier: Apache-2.0
"""Defines base classes of objects that must be closed, and of those that yield items until then."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from types import TracebackType
from typing import Generic, Self, TypeVar

T = TypeVar("T")


class Closed(ABC):
    """Closes itself at the end of its `with` block, also after an exception."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources. A second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Coming(Closed, Iterator[T], Generic[T]):
    """Yields items as they arrive, until no more can arrive. An iteration waits at most `timeout_s` seconds for the next item; None: without a limit."""

    def __init__(self, timeout_s: float | None) -> None:
        self._timeout_s = timeout_s

    @abstractmethod
    def take(self, timeout_s: float | None = None) -> T | None:
        """Return the next item, None when no more can arrive. Raise TimeoutError when none arrives within `timeout_s`."""

    def __next__(self) -> T:
        one = self.take(self._timeout_s)
        if one is None:
            raise StopIteration
        return one
