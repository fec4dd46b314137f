# SPDX-License-Identifier: Apache-2.0
"""Writes the changes of limits into the master of a run: the group `entry/rashpa/limits` has one dataset for each column and one row for each change."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import h5py
import numpy as np

from rashpa.control.telegrams.telegram import LimitChange
from rashpa.data.parts.made_hdf5 import made_hdf5

GROUP = "entry/rashpa/limits"
_TEXTS = ("step", "key", "old", "new", "by")


def write_limits(changes: Sequence[LimitChange], masters: Sequence[str]) -> Iterator[str]:
    """Write the table into each master that exists; yield a text for each master where this failed."""
    for master in map(Path, masters):
        if not master.is_file():
            continue
        try:
            with made_hdf5(master, master) as file:
                _write(file, changes)
        except (OSError, LookupError, RuntimeError, ValueError, TypeError) as error:
            yield f"{master}: the changes of limits could not be added ({error}); they are in report.json"


def _write(file: h5py.File, changes: Sequence[LimitChange]) -> None:
    group = file.create_group(GROUP)
    group.attrs["NX_class"] = "NXcollection"
    times = [datetime.fromtimestamp(one.time_ns / 1e9, UTC).isoformat(timespec="milliseconds") for one in changes]
    group.create_dataset("time", data=[one.replace("+00:00", "Z") for one in times], dtype=h5py.string_dtype())
    group.create_dataset("kernel", data=np.array([one.number for one in changes], np.uint32))
    group.create_dataset("first_image", data=np.array([one.first_image for one in changes], np.uint64))
    for name in _TEXTS:
        group.create_dataset(name, data=[getattr(one, name) for one in changes], dtype=h5py.string_dtype())
