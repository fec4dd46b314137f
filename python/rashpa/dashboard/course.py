# SPDX-License-Identifier: Apache-2.0
"""Records rates and hits of a run as curves, since the first page was opened. Their size is bounded: older points are thinned out."""

from dataclasses import dataclass, field

from rashpa.control.nodes.pace import Pace
from rashpa.control.nodes.standstill import Standstill
from rashpa.dashboard.scene import BufferScene, Scene

_MOST = 600
_LEAST_S = 0.2  # between two points, by the node's clock: images come by stacks


@dataclass
class Curve:
    """Holds the curve of one buffer. `time_s`: seconds of its node's clock since the run began there; `image`: images that have arrived. `rate`:
    images/s since the previous point; `pace`: decisions/s over the last seconds."""

    time_s: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)
    image: list[int] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)
    pace: Pace = field(default_factory=Pace)

    def hits(self) -> tuple[list[float], list[float]]:
        """Return image numbers, and for each point the percentage of accepted images since the previous one."""
        images, shares = [], []
        for n in range(1, len(self.image)):
            arrived = self.image[n] - self.image[n - 1]
            if arrived > 0:
                images.append((self.image[n] + self.image[n - 1]) / 2)
                shares.append(min(100.0, 100.0 * (self.accepted[n] - self.accepted[n - 1]) / arrived))
        return images, shares

    def thin(self) -> None:
        """Remove every second point when there are too many; the last point stays."""
        for values in (self.time_s, self.rate, self.image, self.accepted):
            del values[-3:0:-2]


class Course:
    """Holds the curves of one run."""

    def __init__(self) -> None:
        self.curves: dict[tuple[str, str], Curve] = {}
        self.changes = 0
        self.standing: tuple[str, ...] = ()
        self._standstill = Standstill()

    def add(self, scene: Scene) -> None:
        """Add the newest values of each buffer. Afterwards, `standing` has a sentence for each place where images do not move."""
        self.changes += 1
        known = [node.status for node in scene.nodes if node.status is not None and not node.problem]
        self.standing = tuple(text for status in known for text in self._standstill.look(status))
        for buffer in scene.buffers:
            self._add(buffer)

    def _add(self, buffer: BufferScene) -> None:
        curve = self.curves.setdefault(buffer.key, Curve())
        books, now_s = buffer.status.books, buffer.elapsed_s
        if curve.image and (
            books.arrived < curve.image[-1] or now_s < curve.time_s[-1]
        ):  # another run of the same node
            self.curves[buffer.key] = curve = Curve()
        curve.pace.look(now_s, books.decided, buffer.status.bytes_stored)
        began_s, before = (curve.time_s[-1], curve.image[-1]) if curve.image else (0.0, 0)
        if now_s - began_s < _LEAST_S:
            return
        curve.time_s.append(now_s)
        curve.rate.append((books.arrived - before) / (now_s - began_s))
        curve.image.append(books.arrived)
        curve.accepted.append(books.accepted)
        if len(curve.time_s) > _MOST:
            curve.thin()
