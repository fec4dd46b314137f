# SPDX-License-Identifier: Apache-2.0
"""Selections of virtual datasets map rows of the virtual dataset to boxes of a source."""

import h5py
import numpy as np
import pytest

from rashpa.data.files.hdf5.selection import (
    Axes,
    Mapping,
    SelectionError,
    axes_of,
    everything,
    is_unlimited,
    size_of,
    slices,
    whole,
)


def space(shape: tuple[int, ...], *slabs: tuple[tuple[int, ...], ...]) -> h5py.h5s.SpaceID:
    """Return a selection; slabs: start, count, stride, block."""
    made = h5py.h5s.create_simple(shape)
    made.select_none()
    for start, count, stride, block in slabs:
        made.select_hyperslab(start, count, stride, block, h5py.h5s.SELECT_OR)
    return made


def lists(axes: Axes | None) -> list[list[int]]:
    assert axes is not None
    return [one.tolist() for one in axes.indices]


def test_boxes_are_their_ends() -> None:
    box = ((1, 3), (0, 4))
    assert whole((2, 5)) == ((0, 2), (0, 5))
    assert size_of(box) == (2, 4)
    assert slices(box) == (slice(1, 3), slice(0, 4))


def test_all_of_a_space_and_nothing_of_it() -> None:
    made = h5py.h5s.create_simple((2, 3))
    assert lists(axes_of(made)) == [[0, 1], [0, 1, 2]] == lists(everything((2, 3)))
    made.select_none()
    assert axes_of(made) is None


def test_a_regular_selection_is_steps_of_blocks() -> None:
    made = h5py.h5s.create_simple((10, 6))
    made.select_hyperslab((1, 0), (2, 3), (4, 2), (2, 2))
    assert lists(axes_of(made)) == [[1, 2, 5, 6], [0, 1, 2, 3, 4, 5]]


def test_a_union_is_a_product_or_refused() -> None:
    one, other = ((0, 0), (1, 1), (1, 1), (2, 3)), ((4, 0), (1, 1), (1, 1), (1, 3))
    assert lists(axes_of(space((6, 3), one, other))) == [[0, 1, 4], [0, 1, 2]]
    corner = ((4, 1), (1, 1), (1, 1), (1, 2))
    with pytest.raises(SelectionError, match="no product of rows and columns"):
        axes_of(space((6, 3), one, corner))


def test_points_and_endless_or_huge_selections_are_refused() -> None:
    made = h5py.h5s.create_simple((3, 3))
    made.select_elements(np.array([[0, 0], [2, 2]]))
    with pytest.raises(SelectionError, match="single points"):
        axes_of(made)
    endless = h5py.h5s.create_simple((4,), (h5py.h5s.UNLIMITED,))
    endless.select_hyperslab((0,), (h5py.h5s.UNLIMITED,), (1,), (1,))
    assert is_unlimited(endless.get_regular_hyperslab()[2][0]) and not is_unlimited(4)
    with pytest.raises(SelectionError, match="no fixed number of images"):
        axes_of(endless)
    huge = h5py.h5s.create_simple((1 << 40,))
    huge.select_hyperslab((0,), (1 << 30,), (2,), (1,))
    with pytest.raises(SelectionError, match="too many indices"):
        axes_of(huge)
    with pytest.raises(SelectionError, match="too many indices"):
        everything((1 << 40,))


def test_rows_that_follow_one_another_in_both_are_one_piece() -> None:
    target = Axes((np.array([0, 2, 3, 7]), np.arange(2)))
    mapping = Mapping(target)
    mapping.lead_to(Axes((np.array([10, 11, 12, 20]), np.arange(2))))
    assert mapping.pixels == 2
    assert [(piece.rows.tolist(), piece.box) for piece in mapping.pieces(0, 8)] == [
        ([0, 2, 3], ((10, 13), (0, 2))),
        ([7], ((20, 21), (0, 2))),
    ]
    assert [piece.box[0] for piece in mapping.pieces(3, 8)] == [(12, 13), (20, 21)]
    assert mapping.pieces(4, 7) == []
    assert mapping.has(7, 8) and not mapping.has(4, 7)


def test_sizes_that_do_not_fit_are_refused() -> None:
    mapping = Mapping(everything((4, 6)))
    with pytest.raises(SelectionError, match="parts of different sizes"):
        mapping.lead_to(everything((4, 5)))
    with pytest.raises(SelectionError, match="no whole images"):
        mapping.lead_to(everything((3, 8)))


def test_a_source_may_have_another_number_of_images_than_it_had() -> None:
    mapping = Mapping(everything((2, 3)))
    mapping.lead_to_all((5, 3))
    assert [piece.box for piece in mapping.pieces(0, 2)] == [((0, 2), (0, 3))]


def test_values_come_to_their_rows_and_columns() -> None:
    mapping = Mapping(Axes((np.array([1, 3]), np.array([0, 2]))))
    mapping.lead_to(Axes((np.array([5, 7]), np.array([1, 2]))))
    into = np.full((3, 3), -1)  # rows 1 … 3, columns 0 … 2 of the whole
    for piece, values in zip(mapping.pieces(1, 4), ([[10, 11]], [[20, 21]]), strict=True):
        mapping.place(piece, np.array(values), into, 1, ((0, 3),))
    assert into.tolist() == [[10, -1, 11], [-1, -1, -1], [20, -1, 21]]
    right = np.full((3, 1), -1)  # its column 2 alone
    mapping.place(mapping.pieces(3, 4)[0], np.array([[20, 21]]), right, 1, ((2, 3),))
    assert right.tolist() == [[-1], [-1], [21]]
