# SPDX-License-Identifier: Apache-2.0
"""Counts the requests to a node by result, for its metrics. Only the event loop's thread uses the counts."""

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

from rashpa.control.telegrams.telegram import Fault, Telegram

ORDER_BOUNDS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0)
"""The bounds of the histogram of orders, in seconds: an answer within a millisecond is usual, a Configure that makes a dataset takes minutes."""


@dataclass
class Durations:
    """Counts durations: `counts[i]` is the number of durations up to bound i of ORDER_BOUNDS_S and above the bound before it. The last count has the
    longer ones. `sum_s` is the sum of all."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(ORDER_BOUNDS_S) + 1))
    sum_s: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(ORDER_BOUNDS_S, seconds)] += 1
        self.sum_s += seconds


class RequestCounts:
    """Counts requests since the node started."""

    def __init__(self) -> None:
        self.answers: Counter[tuple[str, str]] = Counter()  # order, answer
        self.durations: dict[str, Durations] = {}  # by order
        self.refused: Counter[int] = Counter()  # by HTTP status

    def answered(self, order: Telegram, answer: Telegram, seconds: float) -> None:
        name = type(order).__name__
        self.answers[name, answer.code if isinstance(answer, Fault) else type(answer).__name__] += 1
        self.durations.setdefault(name, Durations()).add(seconds)
