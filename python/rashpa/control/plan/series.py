# SPDX-License-Identifier: Apache-2.0
"""Plans series: parts of a run with files and books of their own, while nodes, memory and queue pairs stay the same (docs/decisions/0073)."""

import math
from collections.abc import Iterator

from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile.run_file_reader import RunFileSource


def images_of_series(file: toml.RunFile, buffer: toml.Buffer) -> int:
    """Return the number of images of a series in a buffer, 0 in a run without series."""
    return (file.run.series_frames or 0) // buffer.every


def series_problems(file: toml.RunFile, source: RunFileSource) -> Iterator[str]:
    """Yield a line for each series that would end within a buffer's stack, or within a kernel's sum, and for each sink that does not support series."""
    frames = file.run.series_frames
    if frames is None:
        return
    for number, buffer in enumerate(file.buffer):
        for position, sink in enumerate(buffer.sink):
            if sink.kind == "stream2":
                where = source.where(("buffer", number, "sink", position))
                yield f"{where}: stream2 sends a whole run as one series; leave it out, or run.series_frames"
    whole = [math.lcm(*_parts_of(buffer)) * buffer.every for buffer in file.buffer]
    for buffer, unit in zip(file.buffer, whole, strict=True):
        if frames % unit:
            fits = math.lcm(*whole)
            yield (
                f"{source.where(('run', 'series_frames'))}: a series of {frames} frames ends within a stack of buffer {buffer.name}, which needs whole "
                f"{unit} frames (every × stack, and windows of sums); try series_frames = {max(fits, round(frames / fits) * fits)}"
            )


def _parts_of(buffer: toml.Buffer) -> list[int]:
    """Return the sizes, in images, of groups that a series must not split: the stack, and the windows of kernels."""
    windows = [getattr(kernel, "window", None) for kernel in buffer.kernel]
    return [buffer.stack, *(window for window in windows if isinstance(window, int) and window > 0)]
