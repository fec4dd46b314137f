# SPDX-License-Identifier: Apache-2.0
"""Objects that stay open until they are closed, and images that they yield until then."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from types import TracebackType
from typing import Generic, Self, TypeVar

T = TypeVar("T")


class Closed(ABC):
    """Closes itself at the end of its `with` block, however that ends."""

    @abstractmethod
    def close(self) -> None:
        """Give back all resources. A second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Coming(Closed, Iterator[T], Generic[T]):
    """Yields items as they come, until no more can come. An iteration waits `timeout_s` seconds for the next; None: without a limit."""

    def __init__(self, timeout_s: float | None) -> None:
        self._timeout_s = timeout_s

    @abstractmethod
    def take(self, timeout_s: float | None = None) -> T | None:
        """Return the next item; None when no more can come. Raise TimeoutError when none came within `timeout_s`."""

    def __next__(self) -> T:
        one = self.take(self._timeout_s)
        if one is None:
            raise StopIteration
        return one
