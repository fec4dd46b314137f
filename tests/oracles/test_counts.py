# SPDX-License-Identifier: Apache-2.0
"""Compares kernels that count and add pixels with loops over integers, on every unit."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.oracles import counts
from tests.oracles.units import INTEGERS, LARGEST_THRESHOLD, drawn, on_every_unit, shapes_of

from rashpa.data.kernels.pipeline import Pipeline

ORACLES_OF = ("bragg_count", "csr", "total_counts", "roi_stats", "accumulate")
cases = pytest.mark.parametrize("dtype", INTEGERS)
NOT_COUNTED = -(2**63)


def reasons(found: Any) -> list[str]:
    """Return the veto reason of each image, empty for an accepted one."""
    return [image.reason for image in found]


@on_every_unit
@cases
def test_bright_pixels(unit: str, dtype: str) -> None:
    for shape in shapes_of(unit):
        images = drawn(1, shape, dtype)
        for threshold in (1, 99, min(images.gap - 1, LARGEST_THRESHOLD)):
            bright = [
                counts.bragg_count(image, good, threshold, 0)[0]
                for image, good in zip(images.pixels, images.good, strict=True)
            ]
            for least, most in ((0, 4294967295), (sorted(bright)[3], sorted(bright)[5]), (1, max(1, max(bright) - 1))):
                wanted = [
                    counts.bragg_count(image, good, threshold, least, most)
                    for image, good in zip(images.pixels, images.good, strict=True)
                ]
                kernel = {"name": "bragg_count", "threshold": threshold, "min_pixels": least, "max_pixels": most}
                found = images.through([kernel], unit)
                assert found.columns["bright_pixels"].tolist() == [one[0] for one in wanted]
                assert reasons(found) == [one[1] for one in wanted]


@on_every_unit
@cases
def test_lists(unit: str, dtype: str) -> None:
    for shape in shapes_of(unit):
        images = drawn(2, shape, dtype)
        for threshold in (1, 99, min(images.gap - 1, LARGEST_THRESHOLD)):
            found = images.through([{"name": "csr", "threshold": threshold, "capacity": 1.0}], unit)
            for number, (image, good) in enumerate(zip(images.pixels, images.good, strict=True)):
                listed = found[number].list
                assert listed is not None
                assert (listed.index.tolist(), listed.value.tolist()) == counts.csr(image, good, threshold)


@on_every_unit
def test_a_list_is_never_cut_short(unit: str) -> None:
    images = drawn(3, (37, 29), "uint16")
    need = [len(counts.csr(image, good, 1)[0]) for image, good in zip(images.pixels, images.good, strict=True)]
    room = sorted(need)[3]
    found = images.through([{"name": "csr", "threshold": 1, "capacity": room / (37 * 29)}], unit)
    assert [image.decision == "errored" for image in found] == [one > room for one in need]


@on_every_unit
@cases
def test_totals(unit: str, dtype: str) -> None:
    for shape in shapes_of(unit):
        images = drawn(4, shape, dtype)
        both = list(zip(images.pixels, images.good, strict=True))
        sums = sorted(counts.total_counts(image, good)[0] for image, good in both)
        masked = sorted(counts.total_counts(image, good)[1] for image, good in both)
        for limits in (
            {},
            {"min_counts": sums[2], "max_counts": sums[5]},
            {"min_counts": sums[2] + 1, "max_counts": max(sums[5] - 1, sums[2] + 1)},
            {"max_masked": masked[3] / images.pixels[0].size},
            {"max_masked": 0},
        ):
            wanted = [counts.total_counts(image, good, **limits) for image, good in both]
            found = images.through([{"name": "total_counts", **limits}], unit)
            assert found.columns["total_counts"].tolist() == [one[0] for one in wanted]
            assert found.columns["masked_in_total"].tolist() == [one[1] for one in wanted]
            assert reasons(found) == [one[2] for one in wanted], limits


@on_every_unit
@cases
def test_regions(unit: str, dtype: str) -> None:
    images = drawn(5, (37, 29), dtype)
    regions = {"all": (0, 0, 29, 37), "one": (28, 36, 1, 1), "row": (0, 3, 29, 1), "odd": (5, 7, 11, 3)}
    text = "; ".join(f"{name}={','.join(map(str, place))}" for name, place in regions.items())
    found = images.through([{"name": "roi_stats", "regions": text}], unit).columns
    for number, (image, good) in enumerate(zip(images.pixels, images.good, strict=True)):
        for name, place in regions.items():
            wanted = counts.roi_stats(image, good, *place)
            for quantity in ("sum", "min", "max", "pixels"):
                assert found[f"{name}_{quantity}"][number] == wanted.get(quantity, NOT_COUNTED)
            np.testing.assert_equal(float(found[f"{name}_mean"][number]), wanted["mean"])


@on_every_unit
@cases
def test_accumulated(unit: str, dtype: str) -> None:
    for shape in shapes_of(unit):
        images = drawn(6, shape, dtype, count=11)
        kernel = {"name": "accumulate", "variance": True, "window": 8}
        found = images.through([kernel], unit, stack=4).accumulated["accumulate"]
        assert found["images"].tolist() == [8, 3]
        nothing = np.iinfo(found["max"].dtype)
        for window, part in enumerate((slice(0, 8), slice(8, 11))):
            for place in np.ndindex(*shape):
                values = images.pixels[part][:, *place][images.good[part][:, *place]].tolist()
                wanted = counts.accumulate([Fraction(one) for one in values])
                at = (window, *place)
                for quantity in ("sum", "counted"):
                    assert found[quantity][at] == wanted[quantity]
                assert found["max"][at] == wanted.get("max", nothing.min if nothing.min < 0 else nothing.max)
                for quantity in ("mean", "variance"):
                    np.testing.assert_allclose(found[quantity][at], wanted[quantity], rtol=1e-15, atol=0)


@on_every_unit
def test_reals_are_accumulated(unit: str) -> None:
    random = np.random.default_rng(7)
    images = random.normal(5, 3, (9, 5, 13)).astype(np.float32)
    images[random.random(images.shape) < 0.2] = np.nan
    images[:, 0, 0] = np.nan
    images[1:, 0, 1] = np.nan
    made = Pipeline([{"name": "accumulate", "variance": True}], (5, 13), np.float32, unit=unit, stack=4)
    found = made(images).accumulated["accumulate"]
    for place in np.ndindex(5, 13):
        wanted = counts.accumulate([Fraction(float(one)) for one in images[:, *place] if not np.isnan(one)])
        for quantity in ("sum", "mean", "variance", "counted"):
            np.testing.assert_allclose(found[quantity][0, *place], wanted[quantity], rtol=1e-9, err_msg=str(place))
        np.testing.assert_equal(float(found["max"][0, *place]), wanted.get("max", np.nan))
