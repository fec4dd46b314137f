# SPDX-License-Identifier: Apache-2.0
"""Kernels as functions: made from their declarations, typed, documented."""

import doctest
import inspect
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
import rashpa.kernel
from rashpa import _native
from rashpa.data.kernels.kernel_functions import kernel_names, stub_text
from rashpa.data.kernels.pipeline import kernel_declarations

IMAGES = np.full((2, 4, 8), 3, np.uint16)


@pytest.mark.parametrize("name", kernel_names())
def test_every_kernel_is_a_function_with_its_parameters(name: str) -> None:
    function = getattr(rashpa.kernel, name)
    arguments = inspect.signature(function).parameters
    declared = kernel_declarations()[name]
    assert {one["name"] for one in declared["parameters"]} <= set(arguments)
    assert ("calibration" in arguments) == declared["calibration"]
    assert declared["purpose"].lower()[:20] in function.__doc__.lower()
    assert name in vars(rashpa.kernel)["__all__"]


def test_the_stub_is_up_to_date() -> None:
    stub = Path(rashpa.kernel.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    assert stub == stub_text(), "run tools/make_kernels.py"


def test_a_parameter_that_there_is_not_is_refused_before_anything_runs() -> None:
    with pytest.raises(TypeError, match="brightness"):
        rashpa.kernel.csr(IMAGES, brightness=3)  # type: ignore[call-arg]


def test_a_parameter_that_is_needed_is_asked_for() -> None:
    with pytest.raises(TypeError, match="threshold"):
        rashpa.kernel.bragg_count(IMAGES)  # type: ignore[call-arg]


def test_a_wrong_value_is_refused_in_words() -> None:
    with pytest.raises(_native.ConfigError, match="threshold"):
        rashpa.kernel.csr(IMAGES, threshold=-1)


def test_threads_and_stack_change_nothing() -> None:
    images = np.random.default_rng(1).integers(0, 9, (21, 30, 40)).astype(np.uint16)
    first = rashpa.kernel.csr(images, threshold=4, capacity=1.0)
    second = rashpa.kernel.csr(images, threshold=4, capacity=1.0, threads=3, stack=5)
    np.testing.assert_array_equal(first.list_index, second.list_index)
    np.testing.assert_array_equal(first.list_value, second.list_value)


def test_examples_in_the_documentation_are_true() -> None:
    assert doctest.testmod(rashpa.kernel).failed == 0
