# SPDX-License-Identifier: Apache-2.0
"""Compares the units that a plan lists for a pipeline with those for which a run is accepted."""

import re
from pathlib import Path

import pytest

from rashpa.cli.plan.plan import lines_of
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.pipeline import UNITS
from rashpa.control.runfile.run_file_reader import RunFileError

RUN = """\
[run]
name = "plan"
frames = 100
[detector]
width = 1024
height = 512
pixel = "uint16"
energy_kev = 12.4
beam_center_x = 1
beam_center_y = 1
[dataset]
kind = "{dataset}"
modules = 1
frames = 4
[[buffer]]
name = "full"
slots = 40
stack = 10
unit = "{unit}"
{card}
kernel = [{kernels}]
sink = [{{ kind = "null" }}]
"""
BRAGG = '{ name = "bragg_count", threshold = 5, min_pixels = 4 }'
PIPELINES = {
    "no kernel": ("pattern", ""),
    "counts alone": ("pattern", BRAGG),
    "a list alone": ("pattern", '{ name = "csr" }'),
    "photons": ("jungfrau", '{ name = "jungfrau" }'),
    "keV": ("jungfrau", '{ name = "jungfrau", output = "kev" }'),
    "assembled": ("jungfrau", '{ name = "jungfrau", borders = "shared" }'),
    "photons, counts": ("jungfrau", f'{{ name = "jungfrau" }}, {BRAGG}'),
    "photons, counts, list": ("jungfrau", f'{{ name = "jungfrau" }}, {BRAGG}, {{ name = "csr" }}'),
    "photons, sum": ("jungfrau", '{ name = "jungfrau" }, { name = "total_counts" }'),
    "regions": ("pattern", '{ name = "roi_stats", regions = "a=0,0,9,9" }'),
    "peaks": ("pattern", '{ name = "peakfinder8" }'),
}


def run_file(folder: Path, unit: str, what: str) -> Path:
    dataset, kernels = PIPELINES[what]
    path = folder / f"{unit}.toml"
    card = 'card = "sim"' if unit == "fpga" else ""
    path.write_text(RUN.format(dataset=dataset, unit=unit, card=card, kernels=kernels), encoding="utf-8")
    return path


@pytest.mark.parametrize("what", PIPELINES)
def test_a_plan_says_of_each_unit_what_a_run_would(tmp_path: Path, what: str) -> None:
    plan = load_plan(run_file(tmp_path, "cpu", what))
    said = dict(re.findall(r"(?m)^  [* ] unit (\w+): (.*)", "\n".join(lines_of(plan, plan.buffers[0]))))
    assert set(said) == set(UNITS)
    for unit in UNITS:
        refused = ""
        try:
            load_plan(run_file(tmp_path, unit, what))
        except RunFileError as error:
            refused = str(error)
        can = said[unit] == said["cpu"]
        assert can == (not refused), f"plan: unit {unit}: {said[unit]}; run: {refused or 'taken'}"
        assert can or said[unit] in refused, "and it says why in the same words"
