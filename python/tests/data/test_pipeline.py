# SPDX-License-Identifier: Apache-2.0
"""Pipelines on arrays: the integers of NumPy, no copies, and clear errors."""

import doctest
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
from rashpa import _native
from rashpa.data.datasets import datasets
from rashpa.data.datasets.calibration import Calibration, to_photons
from rashpa.data.kernels import pipeline
from rashpa.data.kernels.kernel import Column, kernel
from rashpa.data.kernels.pipeline import Pipeline

RANDOM = np.random.default_rng(7)


def images(count: int, shape: tuple[int, int] = (17, 37)) -> np.ndarray:
    return RANDOM.integers(0, 20, (count, *shape)).astype(np.uint16)


COUNT = {"name": "bragg_count", "threshold": 15, "min_pixels": 120}


@pytest.mark.parametrize("stack", [1, 4, 16])
@pytest.mark.parametrize("count", [1, 7, 33])
def test_scalars_and_verdicts_are_those_of_numpy(count: int, stack: int) -> None:
    given = images(count)
    found = Pipeline([COUNT], given.shape[1:], given.dtype, stack=stack, threads=2)(given)
    bright = (given >= 15).sum(axis=(1, 2))
    np.testing.assert_array_equal(found.columns["bright_pixels"], bright)
    np.testing.assert_array_equal(found.decision, np.where(bright >= 120, 1, 2))
    assert {found.reasons[one] for one in found.reason[found.decision == 2]} <= {"too_few"}
    np.testing.assert_array_equal(found.pixels, given[bright >= 120])


def test_lists_are_those_of_numpy() -> None:
    given = images(9)
    found = Pipeline([{"name": "csr", "threshold": 18, "capacity": 1.0}], given.shape[1:], given.dtype)(given)
    for image, one in zip(given, found, strict=True):
        assert one.list is not None
        np.testing.assert_array_equal(one.list.index, np.flatnonzero(image >= 18))
        np.testing.assert_array_equal(one.list.value, image.ravel()[image.ravel() >= 18])
    assert found.list_ptr[-1] == len(found.list_index) == (given >= 18).sum()


def test_images_are_not_copied() -> None:
    given = images(8)
    found = Pipeline([{**COUNT, "min_pixels": 0}], given.shape[1:], given.dtype)(given)
    assert np.shares_memory(found.pixels, given)


def test_every_second_image_of_an_array_is_read_where_it_lies() -> None:
    given = images(12)
    part = given[1::2]
    found = Pipeline([{**COUNT, "min_pixels": 0}], given.shape[1:], given.dtype)(part)
    np.testing.assert_array_equal(found.columns["bright_pixels"], (part >= 15).sum(axis=(1, 2)))
    assert np.shares_memory(found.pixels, given)


def calibrated() -> tuple[np.ndarray, Calibration]:
    made = datasets.dataset_from_spec({"kind": "jungfrau", "modules": 1, "frames": 5}, Path())
    return np.stack([made.dataset.frame(0, n) for n in range(5)]), made.calibration[0]


def test_calibrated_pixels_are_those_of_the_plain_conversion() -> None:
    raw, calibration = calibrated()
    kernels = [{"name": "jungfrau", "output": "kev", "photon_energy_kev": 12.4}]
    found = Pipeline(kernels, raw.shape[1:], raw.dtype, calibration=calibration, threads=2)(raw)
    expected = np.stack([to_photons(frame, calibration, 1.0) for frame in raw])
    valid = np.isfinite(expected)
    assert found.pixels.dtype == np.float32
    np.testing.assert_allclose(found.pixels[valid], expected[valid], rtol=2e-6, atol=2e-3)
    np.testing.assert_array_equal(np.isnan(found.pixels), np.isnan(expected))


def test_results_stay_as_they_are_when_the_pipeline_goes_on() -> None:
    raw, calibration = calibrated()
    one = Pipeline([{"name": "jungfrau", "photon_energy_kev": 12.4}], raw.shape[1:], raw.dtype, calibration=calibration)
    first = one(raw).pixels
    before = first.copy()
    one(raw[::-1])
    np.testing.assert_array_equal(first, before)


def test_memory_of_results_that_nobody_holds_is_used_again() -> None:
    raw, calibration = calibrated()
    one = Pipeline([{"name": "jungfrau", "photon_energy_kev": 12.4}], raw.shape[1:], raw.dtype, calibration=calibration)
    first = one(raw).pixels.ctypes.data
    assert one(raw).pixels.ctypes.data == first


def test_a_single_image_is_a_stack_of_one() -> None:
    given = images(1)
    assert len(Pipeline([COUNT], given.shape[1:], given.dtype)(given[0])) == 1


def test_threads_may_share_a_pipeline() -> None:
    given = images(40)
    one = Pipeline([COUNT], given.shape[1:], given.dtype)
    expected = (given >= 15).sum(axis=(1, 2))
    wrong: list[int] = []

    def work() -> None:
        wrong.extend(n for n in range(20) if not np.array_equal(one(given).columns["bright_pixels"], expected))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_dark_flags_veto_where_they_are_given() -> None:
    given = images(3)
    found = Pipeline([COUNT], given.shape[1:], given.dtype)(given, flags=[0, 1, 0])
    assert len(found) == 3  # darks are images like others: whoever asks for them gets them


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kernels": [{"name": "nothing"}]}, "kernel nothing is not known"),
        ({"kernels": [{"threshold": 1}]}, "has no name"),
        ({"kernels": [{**COUNT, "threshold": 0}]}, "threshold"),
        ({"kernels": [{**COUNT, "threshold": "ten"}]}, "threshold"),
        ({"kernels": [COUNT, COUNT]}, "twice"),
        ({"dtype": np.float32}, "float32"),
        ({"dtype": np.float64}, "float64"),
        ({"stack": 0}, "stack"),
        ({"unit": "abacus"}, "abacus"),
        ({"threads": 5000}, "5000 threads"),
        ({"kernels": [{"name": "jungfrau", "photon_energy_kev": 12.4}]}, "calibration"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(change: dict[str, object], words: str) -> None:
    values: dict[str, object] = {"kernels": [COUNT], "shape": (17, 37), "dtype": np.uint16, **change}
    with pytest.raises(_native.NativeError, match=words):
        Pipeline(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (images(2, (16, 37)), "37 × 16"),
        (images(2).astype(np.int32), "int32"),
        (images(2).astype(np.float64), "no pixel type"),
        (images(2, (37, 17)).transpose(0, 2, 1), r"images\.copy"),
    ],
)
def test_images_that_do_not_fit_are_refused_in_words(given: np.ndarray, words: str) -> None:
    one = Pipeline([COUNT], (17, 37), np.uint16)
    with pytest.raises(_native.ConfigError, match=words):
        one(given)


def test_a_list_without_room_is_an_error_of_that_image_alone() -> None:
    given = np.zeros((3, 17, 37), np.uint16)
    given[1] = 9
    found = Pipeline([{"name": "csr", "threshold": 5, "capacity": 0.1}], (17, 37), np.uint16)(given)
    assert [one.decision for one in found] == ["accepted", "errored", "accepted"]


def test_examples_in_the_documentation_are_true() -> None:
    assert doctest.testmod(pipeline).failed == 0


def maps(**changed: object) -> Calibration:
    known: dict[str, object] = {
        "pedestal": np.zeros((3, 16, 32), np.float32),
        "gain": np.ones((3, 16, 32), np.float32),
        "mask": np.zeros((16, 32), np.uint32),
    }
    return Calibration(**(known | changed))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"mask": np.full((16, 32), 1 << 33, np.int64)}, "calibration.mask: its values do not fit into uint32"),
        ({"mask": np.full((16, 32), -1)}, "calibration.mask: .*-1 at"),
        ({"mask": np.full((16, 32), 0.5)}, "calibration.mask: .*0.5"),
        ({"pedestal": np.full((3, 16, 32), 1e300)}, "calibration.pedestal: .*float32"),
        ({"gain": np.full((3, 16, 32), (1 << 24) + 1)}, "calibration.gain: .*16777217"),
        ({"gain": np.full((3, 16, 32), "1")}, "calibration.gain: .*give numbers"),
    ],
)
def test_maps_that_would_change_are_refused(changed: dict[str, object], words: str) -> None:
    with pytest.raises(_native.ConfigError, match=words):
        Pipeline(
            [{"name": "jungfrau", "photon_energy_kev": 12.4}],
            (16, 32),
            np.uint16,
            calibration=maps(**changed),
            module_shape=(16, 32),
        )


def test_maps_of_another_type_with_the_same_numbers_are_taken() -> None:
    given = images(3, (16, 32))
    kernels = [{"name": "jungfrau", "photon_energy_kev": 12.4}]
    changed = {
        "mask": np.zeros((16, 32), np.int64),
        "gain": np.ones((3, 16, 32)),
        "pedestal": np.zeros((3, 16, 32), int),
    }
    plain, other = (
        Pipeline(kernels, (16, 32), np.uint16, calibration=one, module_shape=(16, 32))(given).pixels
        for one in (maps(), maps(**changed))
    )
    np.testing.assert_array_equal(plain, other)


@pytest.mark.parametrize(
    ("key", "array"),
    [("radius", np.full((16, 32), 1e300)), ("panels", np.array([-1, 2, 3, 4])), ("panels", np.array([1 << 40] * 4))],
)
def test_arrays_that_would_change_are_refused(key: str, array: np.ndarray) -> None:
    with pytest.raises(_native.ConfigError, match=f"kernel peakfinder8: {key}: its values do not fit"):
        Pipeline([{"name": "peakfinder8"}], (16, 32), np.uint16, arrays={"peakfinder8": {key: array}})


@pytest.mark.parametrize(("key", "values"), [("frame_number", [-1, 0, 1]), ("flags", [1 << 32, 0, 0])])
def test_numbers_of_images_that_would_change_are_refused(key: str, values: list[int]) -> None:
    given = images(3)
    with pytest.raises(_native.ConfigError, match=f"{key}: its values do not fit"):
        Pipeline([COUNT], given.shape[1:], given.dtype)(given, **{key: values})


@kernel(takes=["uint16", "int16"], columns=[Column("bright", "uint32")], reasons=["too_dark"])
def spots(pixels: NDArray[Any], *, threshold: int = 10) -> Any:
    bright = int((pixels >= threshold).sum())
    return {"bright": bright}, "too_dark" if bright < 1 else None


@kernel(takes=["uint16"], columns=[Column("share", "float64")])
def failing(pixels: NDArray[Any]) -> Any:
    return {"share": 1 / int(pixels.sum() * 0)}


@kernel(takes=["uint16"], columns=[Column("n", "uint32")], on_device=True)
def device(pixels: Any) -> Any:
    return {"n": pixels}


def test_python_functions_are_kernels() -> None:
    images = np.zeros((3, 4, 5), np.uint16)
    images[1, 2, 3] = 40
    found = Pipeline([spots, {"name": "total_counts"}], (4, 5))(images)
    assert found.columns["bright"].tolist() == [0, 1, 0]
    assert [one.reason for one in found] == ["too_dark", "", "too_dark"]
    assert found.columns["total_counts"].tolist()[1] == 40
    raised = {"name": "python", "function": spots, "parameters": {"threshold": 50}}
    assert Pipeline([raised], (4, 5))(images).columns["bright"].tolist() == [0, 0, 0]
    behind = Pipeline([{"name": "bragg_count", "threshold": 10, "min_pixels": 1}, spots], (4, 5))(images)
    assert behind[1].scalars["bright"] == 1


def test_an_error_of_a_function_has_file_and_line() -> None:
    (image,) = Pipeline([failing], (4, 5))(np.ones((1, 4, 5), np.uint16))
    line = failing.__code__.co_firstlineno + 2
    assert image.decision == "errored"
    assert image.reason == f"kernel failing: ZeroDivisionError: division by zero (test_pipeline.py, line {line})"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"name": "python", "function": "hits:spots"}, "give the function itself"),
        ({"name": "python"}, "function is None"),
        ({"name": "python", "function": spots, "threshold": 3}, "threshold: no such key"),
        ({"name": "python", "function": spots, "parameters": {"level": 3}}, "level: there is no such parameter; choose one of threshold"),
        ({"name": "python", "function": spots, "parameters": {"threshold": "3"}}, "is not of type int"),
        (len, "it does not declare what it makes"),
        (device, "it takes stacks on a device"),
    ],
)  # fmt: skip
def test_a_function_that_is_no_kernel_is_refused(wrong: Any, says: str) -> None:
    with pytest.raises(_native.ConfigError, match=says):
        Pipeline([wrong], (4, 5))
