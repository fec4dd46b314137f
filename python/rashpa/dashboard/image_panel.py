# SPDX-License-Identifier: Apache-2.0
"""The image of a page: its choices, and the data that the browser needs to fetch and draw it by itself (image.js)."""

import json
from dataclasses import asdict
from typing import Any

from bokeh.models import CheckboxButtonGroup, Column, Row, Select, Toggle

from rashpa.control.plan.run_plan import Plan
from rashpa.dashboard.image_plot import LEAST, MAPS, MOST, ImagePlot
from rashpa.dashboard.rings import beam_of
from rashpa.dashboard.scene import Scene

_OVERLAYS = ("peaks", "rings", "lost lines")
_IMAGES = [
    ("accepted", "newest accepted"),
    ("sum", "sum of those shown"),
    ("vetoed", "first vetoed"),
    ("partial", "first partial"),
]
_WRAPPED = {"flex-wrap": "wrap"}


class ImagePanel:
    """Holds the image of one page. `way`: the path of views."""

    def __init__(self, way: str) -> None:
        self._way = way
        self._plot = ImagePlot()
        self.buffer = Select(title="buffer", options=[], width=150, name="buffer")
        what = Select(title="image", options=_IMAGES, value="accepted", width=160, name="what")
        colours = Select(title="colours", options=list(MAPS), value="viridis", width=110, name="colours")
        colours.tags = [{name: list(palette) for name, palette in MAPS.items()}]
        scale = Select(title="scale", options=["log", "linear"], value="log", width=90, name="scale")
        overlays = CheckboxButtonGroup(labels=list(_OVERLAYS), active=[0, 1, 2], name="overlays")
        overlays.on_change("active", self._show_overlays)
        hold = Toggle(label="hold", name="hold")
        self.root = Column(
            Row(self.buffer, what, colours, scale, styles=_WRAPPED, sizing_mode="stretch_width"),
            Row(overlays, hold, styles=_WRAPPED, sizing_mode="stretch_width"),
            self._plot.plot,
            name="image",
            sizing_mode="stretch_width",
        )
        self.curve = self._plot.curve
        self._told = ""
        self._beams: tuple[Plan, dict[str, Any]] | None = None

    def prepare(self, plan: Plan | None) -> None:
        """Give the first buffer's image its place, so that the page does not move when it comes."""
        if plan is not None and plan.buffers:
            first = plan.buffers[0]
            self._plot.plot.aspect_ratio = min(MOST, max(LEAST, first.width / first.height))

    def update(self, scene: Scene) -> None:
        """Update the list of buffers and whether there is an image. Call it with the document's lock."""
        keys = [buffer.key for buffer in scene.buffers]
        several = len({node for node, _ in keys}) > 1
        options = [(f"{node}\n{name}", f"{node}: {name}" if several else name) for node, name in keys]
        if options and options != self.buffer.options:
            self.buffer.options = options
            if self.buffer.value not in [value for value, _ in options]:
                self.buffer.value = options[0][0]
        told = json.dumps(
            {
                "way": self._way,
                "going": scene.going,
                "beams": self._beams_of(scene.plan) if scene.plan is not None else {},
            }
        )
        if told != self._told:
            self._told = told
            self._plot.plot.tags = [told]

    def _beams_of(self, plan: Plan) -> dict[str, Any]:
        """Return the beams by buffer, for images as large as planned: a kernel that changes their shape moves the beam."""
        if self._beams is None or self._beams[0] is not plan:
            found = {}
            for buffer in plan.buffers:
                size = (buffer.width, buffer.height)
                beam = beam_of(plan, buffer.section.name, size)
                if beam is not None:
                    found[buffer.section.name] = {"size": size, **asdict(beam)}
            self._beams = plan, found
        return self._beams[1]

    def _show_overlays(self, attr: str, old: list[int], new: list[int]) -> None:  # noqa: ARG002  as Bokeh calls it
        self._plot.set_overlays(*(n in new for n in range(len(_OVERLAYS))))
