# SPDX-License-Identifier: Apache-2.0
"""Holds the image of a page: the data with which the browser fetches and draws it itself (image.js). Its tools work in the browser."""

import json
from dataclasses import asdict
from typing import Any

from rashpa.control.plan.model import Plan
from rashpa.dashboard.image_plot import MAPS, ImagePlot
from rashpa.dashboard.rings import beam_of
from rashpa.dashboard.scene import Scene
from rashpa.dashboard.style import ABSENT_COLOURS


class ImagePanel:
    """Holds the image of one page. `way`: the secret part of addresses that only pages know."""

    def __init__(self, way: str) -> None:
        self._ways = {"way": f"views/{way}", "decisions": f"decisions/{way}"}
        self._image = ImagePlot()
        palettes = {name: list(palette) for name, palette in MAPS.items()}
        self._image.data.tags = [palettes, ABSENT_COLOURS]
        self.plot, self.curve = self._image.plot, self._image.curve
        self._told = ""
        self._beams: tuple[Plan, dict[str, Any]] | None = None

    def update(self, scene: Scene) -> None:
        """Update the list of buffers, and whether there is an image. Call it with the document's lock."""
        keys = [buffer.key for buffer in scene.buffers]
        several = len({node for node, _ in keys}) > 1
        told = json.dumps(
            {
                **self._ways,
                "going": scene.going,
                "buffers": [[f"{node}\n{name}", f"{node}: {name}" if several else name] for node, name in keys],
                "series": scene.plan.file.run.number if scene.plan is not None else None,
                "scan": _scan_of(scene.plan) if scene.plan is not None else None,
                "beams": self._beams_of(scene.plan) if scene.plan is not None else {},
            }
        )
        if told != self._told:
            self._told = told
            self.plot.tags = [told]

    def _beams_of(self, plan: Plan) -> dict[str, Any]:
        """Return the place of the beam in the images of each buffer. It is valid for images of the planned size, since a kernel that changes the
        shape moves the beam."""
        if self._beams is None or self._beams[0] is not plan:
            found = {}
            for buffer in plan.buffers:
                size = (buffer.width, buffer.height)
                beam = beam_of(plan, buffer.section.name, size)
                if beam is not None:
                    found[buffer.section.name] = {"size": size, **asdict(beam)}
            self._beams = plan, found
        return self._beams[1]


def _scan_of(plan: Plan) -> dict[str, Any] | None:
    """Return the grid of the run's scan, and the frames of each buffer's images. A group's member is left out, because it only has the frames that it
    was dealt."""
    run = plan.file.run
    if run.scan is None:
        return None
    dealt = {name for group in plan.groups for name in group.buffers}
    sections = [buffer.section for buffer in plan.buffers if buffer.section.name not in dealt]
    rows, columns = run.scan
    of = {section.name: (section.every, section.phase) for section in sections}
    return {"rows": rows, "columns": columns, "order": run.scan_order, "of": of}
