# SPDX-License-Identifier: Apache-2.0
"""Compares rules of vetoes with Python's own expressions, on every unit."""

from typing import Any

import numpy as np
import pytest
from tests.oracles import rules
from tests.oracles.units import on_every_unit

from rashpa.data.kernels.pipeline import Pipeline

ORACLES_OF = ("veto",)
RULES = (
    "bright_pixels >= 3",
    "bright_pixels > 3 and total_counts < 40 or masked_in_total == 2",
    "bright_pixels > 3 and (total_counts < 40 or masked_in_total == 2)",
    "not bright_pixels < 3",
    "not (bright_pixels < 3 or total_counts != 40)",
    "total_counts / bright_pixels > 2.5",  # also of no bright pixels: infinite, or no number
    "total_counts / bright_pixels != total_counts / bright_pixels",
    "-total_counts + 2 * bright_pixels - masked_in_total / 4 <= -1e1",
    "total_counts - (3 - 2 - 1) >= .5",
    "part_mean > 1.5",  # no number where the part has no pixels
    "not part_mean > 1.5",
    "part_mean == 2",
)


@on_every_unit
@pytest.mark.parametrize("rule", RULES)
def test_rules(unit: str, rule: str) -> None:
    random = np.random.default_rng(1)
    images = random.poisson(0.3, (40, 4, 9)).astype(np.uint8)
    images[:4] = 0
    images[random.random(images.shape) < 0.05] = 200
    images[5:8, 1, 2:4] = 200
    kernels: list[dict[str, Any]] = [
        {"name": "bragg_count", "threshold": 2, "min_pixels": 0},
        {"name": "total_counts"},
        {"name": "roi_stats", "regions": "part=2,1,2,1"},
        {"name": "veto", "keep": rule, "reason": "unfit"},
    ]
    found = Pipeline(kernels, (4, 9), np.uint8, unit=unit, special={200: "gap"})(images)
    for number, image in enumerate(images):
        good = image[image < 200].tolist()
        part = [one for one in image[1, 2:4].tolist() if one < 200]
        columns = {
            "bright_pixels": sum(1 for one in good if one >= 2),
            "total_counts": sum(good),
            "masked_in_total": image.size - len(good),
            "part_mean": sum(part) / len(part) if part else np.nan,
        }
        assert (found[number].reason == "") == rules.holds(rule, columns), columns
