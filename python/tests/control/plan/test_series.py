# SPDX-License-Identifier: Apache-2.0
"""Series of a run end between stacks and sums of every buffer."""

from types import SimpleNamespace
from typing import Any

import pytest

from rashpa.control.plan.series import images_of_series, series_problems

SOURCE: Any = SimpleNamespace(where=lambda path: ".".join(map(str, path)))


def buffer(name: str, every: int, stack: int, *windows: int | None, sinks: tuple[str, ...] = ("hdf5",)) -> Any:
    kernels = [SimpleNamespace(window=window) for window in windows]
    return SimpleNamespace(
        name=name, every=every, stack=stack, kernel=kernels, sink=[SimpleNamespace(kind=kind) for kind in sinks]
    )


def file(frames: int | None, *buffers: Any) -> Any:
    return SimpleNamespace(run=SimpleNamespace(series_frames=frames), buffer=list(buffers))


@pytest.mark.parametrize(("frames", "every", "images"), [(None, 1, 0), (100, 1, 100), (100, 8, 12)])
def test_a_buffer_has_its_share_of_a_series(frames: int | None, every: int, images: int) -> None:
    assert images_of_series(file(frames), buffer("a", every, 4)) == images


def test_series_of_whole_stacks_and_sums_are_right() -> None:
    assert list(series_problems(file(24, buffer("a", 2, 4, 6)), SOURCE)) == []
    assert list(series_problems(file(None, buffer("a", 2, 4, 7, sinks=("stream2",))), SOURCE)) == []


def test_a_series_that_ends_within_a_sum_is_told_with_one_that_fits() -> None:
    (text,) = series_problems(file(100, buffer("a", 2, 4, 6, None, 0), buffer("b", 1, 4)), SOURCE)
    assert text.startswith(
        "run.series_frames: a series of 100 frames ends within a stack of buffer a, which needs whole 24 frames"
    )
    assert text.endswith("try series_frames = 96")
    texts = list(series_problems(file(7, buffer("a", 2, 4), buffer("b", 3, 4)), SOURCE))
    assert [text[-len("series_frames = 24") :] for text in texts] == ["series_frames = 24"] * 2  # both fit, never 0


def test_a_sink_that_knows_no_series_is_named_by_its_key() -> None:
    (text,) = series_problems(file(8, buffer("a", 1, 4, sinks=("hdf5", "stream2"))), SOURCE)
    assert text == "buffer.0.sink.1: stream2 sends a whole run as one series; leave it out, or run.series_frames"
