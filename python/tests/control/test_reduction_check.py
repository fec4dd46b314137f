# SPDX-License-Identifier: Apache-2.0
"""Tests that a reduction which contradicts the rest of its run file is refused, with the remedy."""

from pathlib import Path

import pytest

from rashpa.control.plan.checks.reduction_check import reduction_problems
from rashpa.control.runfile.run_file_reader import read_run_file

FILE = """\
[run]
name = "r"
frames = 2
[detector]
width = 8
height = 4
pixel = "{pixel}"
masked = "{masked}"
{detector}
[dataset]
kind = "pattern"
width = 8
height = 4
pixel = "{pixel}"
[[buffer]]
name = "b"
[buffer.reduction]
{reduction}
[[buffer.sink]]
kind = "null"
"""


def problems(folder: Path, reduction: str, pixel: str = "uint16", masked: str = "delivered", detector: str = "") -> str:
    path = folder / "r.toml"
    path.write_text(FILE.format(reduction=reduction, pixel=pixel, masked=masked, detector=detector), encoding="utf-8")
    file, source = read_run_file(path)
    return "\n".join(reduction_problems(file, file.buffer[0], ("buffer", 0), source))


@pytest.mark.parametrize(
    ("pixel", "masked", "most"),
    [("uint8", "delivered", 254), ("int16", "delivered", 32767), ("int16", "minimum", 32767)],
)
def test_a_threshold_above_the_largest_count_is_refused(tmp_path: Path, pixel: str, masked: str, most: int) -> None:
    assert problems(tmp_path, f"threshold = {most}.0", pixel, masked) == ""
    assert f"largest count of {pixel} pixels, {most};" in problems(tmp_path, f"threshold = {most + 1}.0", pixel, masked)


def test_float_pixels_have_no_largest_count(tmp_path: Path) -> None:
    assert problems(tmp_path, "threshold = 1e9", "float32") == ""


def test_special_values_lower_the_largest_count(tmp_path: Path) -> None:
    special = 'special = [{ value = 1000, meaning = "saturated" }]'
    assert "largest count of uint16 pixels, 999;" in problems(tmp_path, "threshold = 1000.0", detector=special)


def test_a_detector_that_sends_by_itself_reduces_nothing(tmp_path: Path) -> None:
    text = problems(tmp_path, "bin_x = 2", detector='[detector.control]\nkind = "none"')
    assert "buffer[0].reduction: the detector sends by itself, and no emulator reduces its images;" in text
