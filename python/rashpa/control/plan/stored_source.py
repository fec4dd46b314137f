# SPDX-License-Identifier: Apache-2.0
"""Adds to the plan the experiment's description in a stored dataset, where the run file gives none."""

import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rashpa.control.plan.checks.dataset_check import MOST_DESCRIPTION, resolved_dataset
from rashpa.control.plan.model import OfSource, Plan
from rashpa.control.plan.pixel_words import arriving_units, words_problems
from rashpa.control.plan.run_plan import assembled_size
from rashpa.control.plan.source_plan import Merged, with_facts
from rashpa.control.runfile.dataset_spec import DirectorySpec, StoredSpec
from rashpa.control.runfile.run_file import RunFile
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.data.base.pixel_units import RAW_WORDS
from rashpa.data.files.regular_file import json_of, read_regular
from rashpa.data.stored.source_facts import SourceFacts, read_source_facts
from rashpa.data.stored.stored_piece import Reading

_SHOWN = {"name", "description"}  # of the detector: they are texts, and no measure


@dataclass(frozen=True)
class _Said:
    """Holds the facts of a dataset. `path`: the file that states them."""

    facts: SourceFacts
    path: Path
    labels: tuple[str, ...] = ()


def with_source(plan: Plan) -> Plan:
    """Return the plan with the facts of its stored dataset if this machine plays it, otherwise the same plan. An unreadable file is a caution. Raise
    RunFileError when kernels cannot take its kind of pixels."""
    if not any(emulator.node == "local" for emulator in plan.emulators):
        where = plan.source.where(("dataset", "path"))
        text = f"{where}: {plan.emulators[0].label} reads it, and what it says of the experiment is not taken over; give it in [detector]"
        return replace(plan, placed=replace(plan.placed, cautions=(*plan.placed.cautions, text)))
    said = _said_by(plan)
    if said is None:
        return plan
    units = said.facts.units
    if problems := list(words_problems(plan.file, plan.source, arriving_units(plan.file, units))):
        raise RunFileError("\n".join(problems))
    merged = with_facts(plan, said.facts, said.path, recorded=False)
    cautions = (*merged.cautions, *_mask_cautions(plan, said))
    labels = (*said.labels, *_labels(merged, said.path))
    saturation = said.facts.values.get("saturation_value", 0.0)
    return replace(
        merged.plan,
        placed=replace(merged.plan.placed, cautions=(*plan.placed.cautions, *cautions)),
        of_source=OfSource(labels, float(saturation), units),
    )


def _said_by(plan: Plan) -> _Said | None:
    spec = resolved_dataset(plan.file, plan.source, "local")
    if isinstance(spec, DirectorySpec):
        return _of_directory(Path(spec.path))
    if not isinstance(spec, StoredSpec):
        return None
    path = Path(spec.path)
    try:
        state = path.stat()
    except OSError:
        return None  # a problem of the plan, which says so
    width, height = assembled_size(plan.file.detector)
    facts = _facts_of(path, (height, width), tuple(spec.follow), (state.st_mtime_ns, state.st_size, state.st_ino))
    return _Said(facts if _lies_as_stored(spec, plan.file) else _without_places(facts), path)


@functools.lru_cache(maxsize=16)
def _facts_of(path: Path, shape: tuple[int, int], follow: tuple[str, ...], _state: tuple[int, ...]) -> SourceFacts:
    """Return the facts, cached while the file is unchanged, because a plan is made more than once."""
    return read_source_facts(path, shape, Reading(follow=tuple(map(Path, follow))))


def _lies_as_stored(spec: StoredSpec, file: RunFile) -> bool:
    """Return True when the run's image equals the stored one, so that the beam hits both at the same place."""
    modules = file.detector.module
    same = [tuple(one) for one in spec.places] == [(one.x, one.y) for one in modules]
    return same and all(one.orientation.upright for one in modules)


def _without_places(facts: SourceFacts) -> SourceFacts:
    values = {key: value for key, value in facts.values.items() if not key.startswith("beam_center")}
    note = "modules lie elsewhere than in the stored image, or are turned; the beam and the places of modules are not taken"
    return replace(facts, values=values, modules=(), notes=(*facts.notes, note))


def _of_directory(folder: Path) -> _Said | None:
    """Return the facts of a dataset's folder: the photon energy, whether frames were computed, and whether pixels are raw words."""
    path = folder / "dataset.json"
    try:
        said = json_of(read_regular(path, MOST_DESCRIPTION))
    except (OSError, ValueError, RecursionError):
        return None  # a problem of the plan, which says so
    if not isinstance(said, dict):
        return None
    energy, label = said.get("energy_kev"), said.get("label")
    values: dict[str, float | str] = {}
    if isinstance(energy, int | float) and not isinstance(energy, bool) and 0 < energy < float("inf"):
        values["energy_kev"] = float(energy)
    labels = (label[:100],) if isinstance(label, str) and label else ()
    files = said.get("files")
    raw = isinstance(files, dict) and "module0_pedestal.npy" in files
    return _Said(SourceFacts(values, units=RAW_WORDS if raw else ""), path, labels)


def _labels(merged: Merged, path: Path) -> Iterator[str]:
    """Yield the origin of each value in the form for files."""
    for origin, words in (("given", "given in the run file"), ("read", f"read of {path}"), ("default", "default")):
        keys = sorted(key for key, said in merged.origins.items() if said == origin and key not in _SHOWN)
        if keys:
            yield f"{words}: {', '.join(keys)}"


def _mask_cautions(plan: Plan, said: _Said) -> Iterator[str]:
    mask = said.facts.mask
    away = [receiver.label for receiver in plan.receivers if receiver.node != "local"]
    if mask is not None and mask.any() and away:
        yield (
            f"{said.path}: its pixel_mask is part of the mask of files where a receiver can read it; {', '.join(away[:4])}: is that so? "
            f"Put it at {os.fspath(said.path)} there, too, or name a mask in [detector.calibration]"
        )
