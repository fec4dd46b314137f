# SPDX-License-Identifier: Apache-2.0
"""Reads the limits of vetoes that may change during a run, and checks new values like those of the run file."""

import json
from collections.abc import Iterable, Mapping, Sequence

from pydantic import ValidationError

from rashpa.control.plan.model import Plan, PlannedBuffer
from rashpa.control.runfile import special_values
from rashpa.control.runfile.kernels import Kernel, live_keys, step_of
from rashpa.control.runfile.pipeline import problems_of
from rashpa.control.runfile.section import typed_text
from rashpa.control.telegrams.telegram import LimitChange
from rashpa.data.base.rashpa_error import RashpaError
from rashpa.data.base.value_words import faults_of

_LONGEST = 2000  # characters of a value


class LimitsError(RashpaError, ValueError):
    """Reports that limits do not change; the text gives reason and remedy."""


def buffer_families(plan: Plan) -> dict[str, list[PlannedBuffer]]:
    """Return the buffers by their names in the run file. The name of a group's buffer has the buffers of all members."""
    found: dict[str, list[PlannedBuffer]] = {}
    for buffer in plan.buffers:
        name = buffer.section.name
        if buffer.section.group and plan.group_of(buffer.receiver) is not None:
            name = name.removesuffix(f"_{buffer.receiver}")
        found.setdefault(name, []).append(buffer)
    return found


def buffers_named(plan: Plan, name: str) -> list[PlannedBuffer]:
    """Return the buffers with a name of the run file. The name of one member's buffer selects those of all members. Raise LimitsError for an unknown
    name, and for an empty name when there are several."""
    families = buffer_families(plan)
    if not name and len(families) == 1:
        return next(iter(families.values()))
    for family, members in families.items():
        if name == family or name in [one.section.name for one in members]:
            return members
    what = f"there is no {name[:80]}" if name else "the run has several"
    raise LimitsError(f"buffer: {what}; name one of {', '.join(families)}")


def kernels_with(buffer: PlannedBuffer, changes: Iterable[LimitChange]) -> list[Kernel]:
    """Return the kernels of a buffer with their limits after the changes."""
    kernels = list(buffer.section.kernel)
    for change in changes:
        kernels[change.number] = kernels[change.number].model_copy(update={change.key: json.loads(change.new)})
    return kernels


def changing(kernels: Sequence[Kernel]) -> dict[str, int]:
    """Return the numbers of the kernels with limits that may change: by the reason of their veto or their name, or by number where that is not
    unique."""
    names = [step_of(kernel) for kernel in kernels]
    return {
        names[number] if names.count(names[number]) == 1 else str(number): number
        for number, kernel in enumerate(kernels)
        if live_keys(kernel)
    }


def number_of(kernels: Sequence[Kernel], step: str, buffer: str) -> int:
    """Return the number of the kernel that `step` names. Raise LimitsError for an unknown name."""
    names = changing(kernels)
    if step in names:
        return names[step]
    if step.isdecimal() and int(step) in names.values():
        return int(step)
    known = ", ".join(f"{name} ({', '.join(live_keys(kernels[number]))})" for name, number in names.items())
    advice = f"there are {known}" if known else "it has no veto with limits that may change"
    raise LimitsError(f"step: buffer {buffer} has no veto {step[:80]}; {advice}")


def changed_kernels(plan: Plan, kernels: Sequence[Kernel], number: int, values: Mapping[str, str]) -> list[Kernel]:
    """Return the kernels with new limits of one of them. Raise LimitsError with the texts of run file errors."""
    changed = [*kernels]
    changed[number] = _changed(kernels[number], values)
    detector = plan.file.detector
    for problem in problems_of(changed, detector.pixel, special_values.largest_count(detector)):
        path = [str(part) for part in problem.path if part not in ("kernel", number)]
        raise LimitsError(f"{'.'.join(path) or step_of(changed[number])}: {problem.text}")
    return changed


def _changed(kernel: Kernel, values: Mapping[str, str]) -> Kernel:
    if not values:
        raise LimitsError(f"no limit is given; give KEY=VALUE, of {', '.join(live_keys(kernel))}")
    known = kernel.model_dump()
    for key, text in values.items():
        if key not in live_keys(kernel):
            has = "keeps it from its start to its end" if key in known else "has no such key"
            raise LimitsError(f"{key[:80]}: {kernel.name} {has}; change {' or '.join(live_keys(kernel))}")
        known[key] = typed_text(text.strip()[:_LONGEST], type(kernel).model_fields[key].annotation)
    try:
        changed: Kernel = type(kernel).model_validate(known)
    except ValidationError as error:
        raise LimitsError("\n".join(faults_of(error))) from None
    if changed == kernel:
        raise LimitsError(f"{', '.join(values)}: {step_of(kernel)} has this limit already; give another")
    return changed


def line_of(buffer: str, change: LimitChange) -> str:
    """Return a change as a line of text."""
    new, old = (_plain(text) for text in (change.new, change.old))
    return f"{buffer}: {change.step}: {change.key} is {new} in place of {old}, from image {change.first_image} on"


def _plain(text: str) -> str:
    """Return a JSON value as text for people."""
    value = json.loads(text)
    return value if isinstance(value, str) else text
