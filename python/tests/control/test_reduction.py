# SPDX-License-Identifier: Apache-2.0
"""Tests sizes and places of binned rectangles, and the names of offset files."""

from pathlib import Path

from rashpa.control.plan.rectangle import Rectangle
from rashpa.control.plan.reduction import binned, bins_of, fits, offset_files, offset_name
from rashpa.control.runfile.run_file import Buffer


def buffer(**reduction: object) -> Buffer:
    return Buffer.model_validate({"name": "b", "sink": [{"kind": "null"}], "reduction": reduction or None})


def test_a_rectangle_that_bins_divide_has_as_many_bins() -> None:
    assert fits(Rectangle(4, 6, 8, 9), (2, 3))
    assert binned(Rectangle(4, 6, 8, 9), (2, 3)) == Rectangle(2, 2, 4, 3)


def test_a_rectangle_across_bins_is_covered_by_all_of_them() -> None:
    assert not fits(Rectangle(3, 0, 2, 4), (2, 2))
    assert binned(Rectangle(3, 0, 2, 4), (2, 2)) == Rectangle(1, 0, 2, 2)
    assert binned(Rectangle(3, 5, 1, 1), (4, 4)) == Rectangle(0, 1, 1, 1)


def test_a_buffer_without_a_reduction_has_bins_of_one_pixel_and_no_offset() -> None:
    assert bins_of(buffer()) == (1, 1)
    assert bins_of(buffer(bin_y=8)) == (1, 8)
    assert offset_name(buffer(), 0, None) == ""
    assert list(offset_files([buffer(), buffer(bin_x=2)], Path("/runs"))) == []


def test_offsets_are_found_beside_the_run_file_or_stay_as_a_remote_node_reads_them() -> None:
    subtracting = buffer(offset=["a.npy", "/data/b.npz:dark"])
    assert offset_name(subtracting, 0, None) == "a.npy"
    assert offset_name(subtracting, 0, Path("/runs")) == "/runs/a.npy"
    assert list(offset_files([subtracting], Path("/runs"))) == [Path("/runs/a.npy"), Path("/data/b.npz")]
