# SPDX-License-Identifier: Apache-2.0
"""Makes the Bokeh plot of an image and its overlays: models without data, which image.js fills in the browser."""

from typing import Any

import numpy as np
from bokeh.models import BoxZoomTool, ColorBar, ColumnDataSource, HoverTool, LinearColorMapper, LogColorMapper, Range1d
from bokeh.palettes import Cividis256, Greys256, Inferno256, Magma256, Turbo256, Viridis256
from bokeh.plotting import figure

from rashpa.dashboard.style import MARKED, OVER

MAPS = {
    "viridis": Viridis256,
    "cividis": Cividis256,
    "inferno": Inferno256,
    "magma": Magma256,
    "turbo": Turbo256,
    "grey": Greys256,
    "inverted grey": Greys256[::-1],
}


class ImagePlot:
    """Holds `plot`, and below it `curve` when the pipeline makes one."""

    def __init__(self) -> None:
        self.plot = figure(
            width=560,
            height=520,
            match_aspect=True,
            x_range=Range1d(0, 1),
            y_range=Range1d(1, 0),
            tools="pan,wheel_zoom,box_zoom,reset,save",
            active_scroll="wheel_zoom",
            toolbar_location="above",
        )
        self.plot.toolbar.logo = None
        self.plot.select_one(BoxZoomTool).match_aspect = True
        self.plot.grid.visible = False
        self.plot.background_fill_color = "#d8dce1"
        self.data = self._add_image()
        self._add_lost()
        self._add_peaks()
        self._add_rings()
        self.curve = self._make_curve()

    def _add_image(self) -> ColumnDataSource:
        source = ColumnDataSource(
            {
                "image": [np.zeros((1, 1), np.uint32)],
                "value": [np.zeros(1, np.float32)],
                "x": [0],
                "y": [0],
                "dw": [1],
                "dh": [1],
                "number": [0],
            },
            name="image_data",
        )
        image = self.plot.image_rgba("image", x="x", y="y", dw="dw", dh="dh", source=source)
        scales = {"log": LogColorMapper(low=0.5, high=10), "linear": LinearColorMapper(low=0, high=10)}
        for name, scale in scales.items():
            scale.name, scale.palette, scale.nan_color = f"scale_{name}", MAPS["viridis"], MARKED
        for name, scale in scales.items():
            bar = ColorBar(color_mapper=scale, width=10, padding=4, name=f"bar_{name}", visible=name == "log")
            self.plot.add_layout(bar, "right")
        tips = [("column, row", "$x{0}, $y{0}"), ("value", "@value")]
        self.plot.add_tools(HoverTool(renderers=[image], tooltips=tips))
        return source

    def _add_lost(self) -> None:
        source = ColumnDataSource({"left": [], "right": [], "top": [], "bottom": []}, name="lost")
        self.plot.quad(
            source=source,
            name="of_lost",
            fill_color=None,
            line_color=OVER,
            hatch_pattern="right_diagonal_line",
            hatch_color=OVER,
            hatch_scale=8,
        )

    def _add_peaks(self) -> None:
        source = ColumnDataSource({"x": [], "y": []}, name="peaks")
        self.plot.scatter(
            "x",
            "y",
            name="of_peaks",
            source=source,
            marker="square",
            size=13,
            fill_color=None,
            line_color=OVER,
            line_width=1.5,
        )

    def _add_rings(self) -> None:
        source = ColumnDataSource({"x": [], "y": [], "radius": [], "top": [], "text": []}, name="rings")
        # white on dark, and seen on bright colours, too
        shade = self.plot.circle(
            "x",
            "y",
            radius="radius",
            source=source,
            fill_color=None,
            line_color="black",
            line_width=3,
            line_alpha=0.35,
        )
        ring = self.plot.circle(
            "x",
            "y",
            radius="radius",
            source=source,
            fill_color=None,
            line_color="white",
            line_dash="dashed",
            line_alpha=0.8,
        )
        names = self.plot.text(
            "x",
            "top",
            text="text",
            source=source,
            text_color="white",
            text_font_size="11px",
            text_baseline="bottom",
            text_align="center",
            background_fill_color="black",
            background_fill_alpha=0.5,
        )
        beam = ColumnDataSource({"x": [], "y": []}, name="beam")
        ground = self.plot.scatter("x", "y", source=beam, marker="cross", size=20, line_color="black", line_width=5)
        cross = self.plot.scatter("x", "y", source=beam, marker="cross", size=18, line_color="white", line_width=2)
        for number, one in enumerate((shade, ring, names, ground, cross)):
            one.name = f"of_rings_{number}"

    def _make_curve(self) -> Any:
        curve = figure(
            height=170, sizing_mode="stretch_width", tools="xpan,xwheel_zoom,reset,save", visible=False, name="curve"
        )
        curve.toolbar.logo = None
        curve.xaxis.name, curve.yaxis.name = "curve_x", "curve_y"
        source = ColumnDataSource({"x": [], "y": [], "mean": []}, name="profile")
        curve.line("x", "y", source=source, color="#0072b2", legend_label="this image")
        curve.line(
            "x",
            "mean",
            source=source,
            color="#d55e00",
            line_dash="dashed",
            line_width=2,
            legend_label="mean of those shown",
        )
        return curve
