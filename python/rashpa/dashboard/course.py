# SPDX-License-Identifier: Apache-2.0
"""The history of a run as curves of rates and hits, from the first open page on. Its size is bounded: old points are thinned out."""

from dataclasses import dataclass, field

from rashpa.dashboard.scene import Scene

_MOST = 600


@dataclass
class Curve:
    """Holds the points of one buffer. `image`: images that have arrived; `rate`: images a second since the point before."""

    time_s: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)
    image: list[int] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)

    def hits(self) -> tuple[list[float], list[float]]:
        """Return image numbers, and the percentage of accepted images since the point before."""
        images, shares = [], []
        for n in range(1, len(self.image)):
            arrived = self.image[n] - self.image[n - 1]
            if arrived > 0:
                images.append((self.image[n] + self.image[n - 1]) / 2)
                shares.append(min(100.0, 100.0 * (self.accepted[n] - self.accepted[n - 1]) / arrived))
        return images, shares

    def thin(self) -> None:
        """Drop every second point when there are too many; the last point stays."""
        for values in (self.time_s, self.rate, self.image, self.accepted):
            del values[-3:0:-2]


class Course:
    """Holds the curves of one run."""

    def __init__(self) -> None:
        self.curves: dict[tuple[str, str], Curve] = {}
        self.changes = 0
        self._began = 0.0

    def add(self, scene: Scene) -> None:
        """Add the newest values of each buffer."""
        self.changes += 1
        self._began = self._began or scene.time_s
        for buffer in scene.buffers:
            curve = self.curves.setdefault(buffer.key, Curve())
            books = buffer.status.books
            if curve.image and books.arrived < curve.image[-1]:  # another run of the same nodes
                self.curves[buffer.key] = curve = Curve()
            now_s = scene.time_s - self._began
            passed_s = now_s - curve.time_s[-1] if curve.time_s else 0.0
            rate = (books.arrived - curve.image[-1]) / passed_s if passed_s > 0 else buffer.progress.images_per_s
            curve.time_s.append(now_s)
            curve.rate.append(max(0.0, rate))
            curve.image.append(books.arrived)
            curve.accepted.append(books.accepted)
            if len(curve.time_s) > _MOST:
                curve.thin()
