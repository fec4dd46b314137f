# SPDX-License-Identifier: Apache-2.0
"""Keeps the folder in which a node was started: relative paths of orders start there, even after a foreign kernel calls os.chdir."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.part_orders import FILE_ORDERS
from rashpa.data.files.file_names import located


@contextlib.contextmanager
def staying_here() -> Iterator[Path]:
    """Yield the present folder, and return to it at the end of the context, which runs foreign code."""
    here = Path.cwd()
    try:
        yield here
    finally:
        os.chdir(here)


def rooted(order: telegram.Destination, here: Path) -> telegram.Destination:
    """Return the order with output paths relative to `here`; `~` is the home of the user that runs this process."""
    buffers = []
    for buffer in order.buffers:
        sinks = tuple(
            sink.model_copy(update={"prefix": located(sink.prefix, here)}) if isinstance(sink, FILE_ORDERS) else sink
            for sink in buffer.sinks
        )
        buffers.append(replace(buffer, sinks=sinks))
    return replace(order, buffers=tuple(buffers))
