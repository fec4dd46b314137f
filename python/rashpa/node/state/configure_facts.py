# SPDX-License-Identifier: Apache-2.0
"""Extracts the facts of a run that a node's log needs from its orders and counters."""

from rashpa.control.runfile.kernels import code_of, label_of
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import Configure


def overruns_of(counters: telegram.SourceStatus | telegram.DestinationStatus) -> int:
    """Return the number of images of DTPs that found no free slot."""
    buffers = counters.buffers if isinstance(counters, telegram.DestinationStatus) else ()
    return sum(telegram.count_of(dtp.counts, "loss").get("overrun", 0) for buffer in buffers for dtp in buffer.dtps)


def parts_of(order: Configure) -> str:
    """Return the task of a node as text."""
    if order.source is not None:
        return f"{len(order.source.dtps)} DTPs over {' and '.join(one.kind for one in order.source.options)}"
    buffers = order.destination.buffers if order.destination is not None else ()
    return f"buffers {', '.join(buffer.name for buffer in buffers)}"


def outside_kernels_of(order: Configure) -> list[str]:
    """Return the names of kernels that come from outside the program."""
    buffers = order.destination.buffers if order.destination is not None else ()
    return list(dict.fromkeys(label_of(kernel) for buffer in buffers for kernel in buffer.kernels if code_of(kernel)))


def modules_of(order: Configure) -> dict[int, int]:
    """Return the module of each DTP."""
    modules = {dtp.id: dtp.module for dtp in (order.source.dtps if order.source is not None else ())}
    for buffer in order.destination.buffers if order.destination is not None else ():
        modules.update((dtp.id, dtp.module) for dtp in buffer.dtps)
    return modules
