# SPDX-License-Identifier: Apache-2.0
"""Reads the facts of a stored run from the groups of its master file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.files.file_names import natural
from rashpa.data.files.hdf5.tree import Group
from rashpa.data.files.regular_file import json_of
from rashpa.data.stored.run_facts import (
    DECISIONS,
    AccumulatedWindow,
    AccumulationFacts,
    ChangedLimit,
    RunFacts,
    RunTables,
)


def text_of(value: bytes | str) -> str:
    """Return an HDF5 string as text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def name_of(names: tuple[str, ...], value: int | np.integer[Any]) -> str:
    """Return the name of a value; for a value of a later version, return the number as text."""
    return names[value] if value < len(names) else f"unknown {value}"


def stored_facts(rashpa: Group) -> RunFacts:
    """Return the origin of the run."""
    attributes = rashpa.attrs
    number = attributes.get("run_number")
    texts = {
        name: text_of(attributes.get(name, ""))
        for name in ("run_name", "run_file", "run_file_sha256", "run_id", "pixel_units")
    }
    steps = rashpa.get("pipeline", {})
    kernels = tuple(
        (text_of(steps[name].attrs["name"]), _parameters(steps[name])) for name in sorted(steps, key=natural)
    )
    maps = rashpa.get("calibration", {})
    calibration = {name: (text_of(maps[name]["file"][()]), text_of(maps[name]["sha256"][()])) for name in maps}
    made = {
        name: (text_of(one["version"][()]), text_of(one["date"][()]), text_of(one["source"][()]))
        for name, one in maps.items()
        if "date" in one
    }
    return RunFacts(
        run_number=None if number is None else int(number),
        kernels=kernels,
        calibration=calibration,
        calibration_made=made,
        **texts,
    )


def stored_texts(entry: Group) -> dict[str, str]:
    """Return the texts for people that the file has: detector, sample, times, writer."""
    places = {
        "detector": "instrument/detector/description",
        "sample": "sample/name",
        "start_time": "start_time",
        "end_time": "end_time",
    }
    texts = {name: text_of(entry[place][()]) for name, place in places.items() if place in entry}
    for name in ("buffer", "receiver", "proof", "software_version"):
        texts[name] = text_of(entry["rashpa"].attrs.get(name, b""))
    texts["labels"] = ", ".join(text_of(label) for label in entry["rashpa"].attrs.get("labels", ()))
    return {name: text for name, text in texts.items() if text}


def judged(rashpa: Group, tables: RunTables, veto_reasons: tuple[str, ...]) -> bool:
    """Return True when a kernel decided on images; older files show it by their counts and vetoes."""
    if "pipeline" in rashpa:
        return any("veto_reasons" in step.attrs for step in rashpa["pipeline"].values())
    vetoes = reasons_of(tables, "vetoed", tables.veto_reason, veto_reasons)
    return bool((tables.counted("bright_pixels") > 0).any()) or bool(set(vetoes) - {"dark", "partial"})


def reasons_of(tables: RunTables, decision: str, reasons: NDArray[np.uint8], names: tuple[str, ...]) -> dict[str, int]:
    """Return, by reason, the number of images with this decision."""
    found, counts = np.unique(reasons[tables.decision == DECISIONS.index(decision)], return_counts=True)
    return {name_of(names, reason): int(n) for reason, n in zip(found, counts, strict=True)}


def frame_rate_hz(tables: RunTables) -> float | None:
    """Return the frame rate in Hz, from the times of the first and the last image; None when unknown."""
    known = tables.timestamp_ns > 0
    times, frames = tables.timestamp_ns[known], tables.frame_number[known]
    if len(times) < 2 or times[-1] <= times[0]:
        return None
    return float(frames[-1] - frames[0]) * 1e9 / float(times[-1] - times[0])


def accumulation_facts(group: Group) -> AccumulationFacts:
    """Return the facts of one kernel's accumulations."""
    names = (group.attrs["signal"], *group.attrs.get("auxiliary_signals", ()))
    quantities = tuple(map(text_of, names))
    columns = [group[name][()].tolist() for name in ("window", "first_image", "end_image", "images")]
    # After a kill the last window may be there in part.
    there = min(len(group[name]) for name in quantities)
    windows = tuple(AccumulatedWindow(*values) for values in list(zip(*columns, strict=False))[:there])
    return AccumulationFacts(
        quantities, tuple(group[quantities[0]].shape[1:]), windows, text_of(group.attrs["images_added"])
    )


def changed_limits(rashpa: Group) -> tuple[ChangedLimit, ...]:
    """Return the changes of limits, in order; empty without their table. Raise ValueError when a value is no JSON, or a column is too short."""
    if "limits" not in rashpa:
        return ()
    group = rashpa["limits"]
    columns = [
        group[name][()].tolist() for name in ("time", "kernel", "step", "key", "old", "new", "first_image", "by")
    ]
    return tuple(
        ChangedLimit(
            text_of(time), kernel, text_of(step), text_of(key), json_of(old), json_of(new), first, text_of(requester)
        )
        for time, kernel, step, key, old, new, first, requester in zip(*columns, strict=True)
    )


def _parameters(step: Group) -> dict[str, Any]:
    found = {name: value for name, value in step.attrs.items() if name.startswith("parameter_")}
    return {name.removeprefix("parameter_"): json_of(text_of(value)) for name, value in found.items()}
