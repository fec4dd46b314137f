# SPDX-License-Identifier: Apache-2.0
"""Tests lists of pixels as sparse arrays of SciPy: by themselves, of stored runs, and without SciPy."""

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scipy", reason="SciPy is not installed: rashpa[sparse]")
from scipy.sparse import csr_array

from rashpa.data.base.extras import MissingExtraError
from rashpa.data.base.sparse_arrays import csr_of
from rashpa.data.stored.reader import open_run
from rashpa.testing.stored_run import ACCEPTED, COLUMNS, ROWS, make_run


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.int32, np.float32])
def test_a_list_is_the_image_that_it_was_made_of(dtype: type[np.generic]) -> None:
    random = np.random.default_rng(3)
    image = (random.poisson(0.3, (7, 11)) * random.integers(1, 90, (7, 11))).astype(dtype)
    index = np.flatnonzero(image).astype(np.uint32)
    made = csr_of(index, image.ravel()[index], image.shape)
    assert isinstance(made, csr_array)
    assert (made.shape, made.dtype, made.nnz) == (image.shape, image.dtype, len(index))
    assert made.has_canonical_format
    np.testing.assert_array_equal(made.toarray(), image)
    np.testing.assert_array_equal(made.sum(axis=0), image.sum(axis=0))
    np.testing.assert_array_equal(made[2:5].toarray(), image[2:5])


def test_an_empty_list_is_an_image_of_zeros_and_first_and_last_pixel_have_their_places() -> None:
    none = np.zeros(0, np.uint32)
    assert csr_of(none, none, (3, 5)).nnz == 0
    corners = csr_of(np.array([0, 14], np.uint32), np.array([1, 2], np.int16), (3, 5)).toarray()
    assert (corners[0, 0], corners[2, 4], corners.sum()) == (1, 2, 3)


@pytest.mark.parametrize("index", [[3, 3], [4, 2], [0, 15]])
def test_a_list_out_of_order_or_outside_the_image_is_refused(index: list[int]) -> None:
    with pytest.raises(ValueError, match="2 pixels is not in ascending order within 5 × 3 pixels; take the list"):
        csr_of(np.array(index, np.uint32), np.ones(2, np.int16), (3, 5))


def test_a_stored_run_has_an_array_for_each_image(tmp_path: Path) -> None:
    with open_run(make_run(tmp_path, sparse=True)) as run:
        assert len(run.csr) == len(ACCEPTED)
        for number, made in enumerate(run.csr):
            expected = np.zeros(ROWS * COLUMNS, run.dtype)
            index, value = run.sparse(number)
            expected[index] = value
            np.testing.assert_array_equal(made.toarray(), expected.reshape(ROWS, COLUMNS))
        assert run.csr[-1].shape == run.shape
    with open_run(make_run(tmp_path)) as dense, pytest.raises(TypeError, match="holds dense images; take image"):
        _ = dense.csr


def test_the_result_of_a_kernel_has_an_array_for_each_image() -> None:
    pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    import rashpa.kernel

    images = np.random.default_rng(4).poisson(1.0, (4, 16, 24)).astype(np.uint16)
    found = rashpa.kernel.csr(images, threshold=2, capacity=1.0)
    for image, one in zip(images, found, strict=True):
        assert one.list is not None
        np.testing.assert_array_equal(one.list.csr.toarray(), np.where(image >= 2, image, 0))


def test_without_scipy_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rashpa\[sparse\]'"):
        csr_of(np.zeros(0, np.uint32), np.zeros(0, np.int16), (3, 5))
