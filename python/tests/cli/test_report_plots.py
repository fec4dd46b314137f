# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import numpy as np
import pytest
from bokeh.models import VAreaStep

from rashpa.cli.report.report_plots import Frames, hit_plot, latency_plot, share_plot
from rashpa.control.plan.model import PlannedBuffer
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.telegrams.latency import BOUNDS_S
from rashpa.control.telegrams.telegram import Latency
from rashpa.testing.run_file import run_file

RUN = run_file(run={"name": "a", "frames": 10000}, receiver=None)


@pytest.fixture
def buffer(tmp_path: Path) -> PlannedBuffer:
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    return load_plan(path).buffers[0]


def test_shares_are_one_area_a_state_with_a_legend_beside_them(buffer: PlannedBuffer) -> None:
    table = np.where(np.arange(10_000) % 7, 1, 2).astype(np.uint8)
    plot = share_plot(buffer, table, ("open", "complete", "partial"), Frames(10_000))
    assert [type(one.glyph) for one in plot.renderers] == [VAreaStep, VAreaStep], "bars draw patterns of their own"
    assert plot.legend[0] in plot.above
    assert [item.label.value for item in plot.legend[0].items] == ["complete (8,571)", "partial (1,429)"]
    top = plot.renderers[-1].data_source.data["y2"]
    assert np.allclose(top, 100.0)
    assert plot.renderers[0].data_source.data["x"][-1] == 10_000


def test_no_hit_vanishes_and_limits_are_beside_the_curve(buffer: PlannedBuffer) -> None:
    values = np.zeros(10_000, np.uint32)
    values[1234] = 77
    plot = hit_plot(buffer, "bright_pixels", values, {"min_pixels": [(0, 40), (6000, 55)]}, Frames(10_000))
    assert max(plot.renderers[0].data_source.data["y2"]) == 77
    assert plot.legend[0] in plot.above
    assert plot.legend[0].items[0].label.value == "min pixels = 40, 55 from image 6,000"
    line = plot.renderers[1].data_source.data
    assert (line["x"].tolist(), line["y"].tolist()) == ([0, 6000, 6000, 10_000], [40, 40, 55, 55])


def test_a_histogram_counts_all_and_there_is_none_where_nobody_told_it() -> None:
    below = tuple(sum(bound > of for of in (3e-6, 5e-6, 40e-6)) for bound in BOUNDS_S)
    plot = latency_plot([Latency(stage="ready", count=3, p50=5.0, p99=40.0, max=40.0, sum=48.0, below=below)])
    assert sum(plot.renderers[0].data_source.data["y"]) == 3
    assert latency_plot([Latency(stage="ready", count=3, p50=5.0, p99=40.0, max=40.0)]) is None
