# SPDX-License-Identifier: Apache-2.0
"""Plans a buffer's pipeline: checks that its steps fit together, and assigns them to passes of units.

The native units do the same (src/rashpa/unit/steps.cpp) from the kernels' declarations; this module does it without compiled code. A test compares
both.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rashpa.control.runfile.kernels import (
    LARGEST,
    NAME,
    OUTSIDE,
    Column,
    Declaration,
    Kernel,
    code_of,
    declaration_of,
    declarations,
    label_of,
    parameters_of,
)
from rashpa.control.runfile.key_types import KeyPath
from rashpa.control.runfile.veto_rule import RuleError, check_rule
from rashpa.data.kernels.kernel_units import beyond, unfit

MOST_COLUMNS = 64
PIXEL_BYTES = {"uint8": 1, "uint16": 2, "int16": 2, "uint32": 4, "int32": 4, "float32": 4}


@dataclass(frozen=True)
class Problem:
    """Describes a fault, and its key relative to the buffer."""

    path: KeyPath
    text: str


@dataclass(frozen=True)
class Step:
    """Describes one step: the type of its input and output pixels, and how a unit does it."""

    kernel: Declaration
    takes: str  # pixels; empty: it takes none
    leaves: str
    list_part: float = 0.0  # of the pixels, for which its list has room; 0: it makes none
    rides_on: str = ""  # the step that counts for it on its way: no pass of its own
    marked_by: str = ""  # the step that leaves marks for it: its own pass reads those
    counts_for: str = ""
    marks_for: str = ""
    rule: str = ""  # on columns of the steps before it

    @property
    def outside(self) -> str:
        """Return the kind of a step with foreign code, empty for other steps."""
        return OUTSIDE.get(self.kernel.name.partition(" ")[0], "")

    @property
    def words(self) -> str:
        """Return the kernel's name, with a remark when an earlier step does a part of its work."""
        return self.kernel.name + (
            " (counted on the way)" if self.rides_on else " (by marks)" if self.marked_by else ""
        )


@dataclass(frozen=True)
class Pipeline:
    """Holds steps that fit together, and their result."""

    steps: tuple[Step, ...]
    pixel: str  # of the output

    @property
    def words(self) -> str:
        """Return a description of the passes, as a unit gives it."""
        return ", ".join(step.words for step in self.steps) or "no kernels"

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(column for step in self.steps for column in _columns(step.kernel))

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return the reasons for which the steps veto images."""
        return tuple(reason for step in self.steps if (port := step.kernel.made("verdict")) for reason in port.reasons)

    @property
    def makes_list(self) -> bool:
        return any(step.list_part > 0 for step in self.steps)

    def cost(self, step: Step, stack: int) -> tuple[float, float]:
        """Return the bytes that the step's pass reads and writes, for each pixel and image; without lists, whose size depends on the data."""
        if step.rides_on or not step.takes:
            return 0.0, 0.0
        seen = PIXEL_BYTES[step.takes] if not step.marked_by else 1 / 8
        written = PIXEL_BYTES[step.leaves] if step.kernel.made("pixels") else 0
        return seen + step.kernel.stack_bytes / stack, written + (1 / 8 if step.marks_for else 0)


def keeps(kernel: Kernel) -> bool:
    """Return True when the kernel keeps, or may keep, parts of images for later ones. Such images are copied first when sources can overwrite them."""
    values, known = parameters_of(kernel), declaration_of(kernel)
    if known.name not in declarations() or values.get("track", "off") != "off":
        return True
    return known.made("accumulation") is not None and values.get("added") != "none"


UNITS = ("cpu", "cuda", "opencl", "fpga")


def unit_trouble(unit: str, kernels: Sequence[Kernel]) -> str:
    """Return the reason why a unit cannot run these kernels in sequence, as text that follows its name; empty when it can. Planning, measuring and
    running all use this function."""
    lacking = [label_of(kernel) for kernel in kernels if unit not in declaration_of(kernel).units]
    if lacking:
        return f"has no version of {', '.join(lacking)}"
    for kernel in kernels:
        values = parameters_of(kernel)
        for key, _ in beyond(unit, kernel.name, values):
            return f'has no version of {kernel.name} with {key} = "{values[key]}"'
    if not kernels and unit == "cuda":
        return "has nothing to do without a kernel"
    return unfit(unit, [kernel.name for kernel in kernels])


def usable_units(kernels: Sequence[Kernel]) -> tuple[str, ...]:
    """Return the units that can run the kernels."""
    return tuple(unit for unit in UNITS if not unit_trouble(unit, kernels))


def problems_of(kernels: Sequence[Kernel], pixel: str, largest: int | None = None) -> list[Problem]:
    """Return the faults that prevent the kernels from working in sequence on pixels of type `pixel`. `largest`: the detector's largest count if it is
    less than the type's."""
    found: list[Problem] = []
    names = [label_of(kernel) for kernel in kernels if not declaration_of(kernel).several]
    twice = [name for number, name in enumerate(names) if name in names[:number]]
    if twice:
        found.append(Problem(("kernel",), f"{', '.join(names)}; kernels come once each, {twice[0]} is there twice"))
    maker = lister = adder = ""
    columns: dict[str, str] = {}
    for number, kernel in enumerate(kernels):
        path: KeyPath = ("kernel", number)
        known = declaration_of(kernel)
        found += (
            Problem((*path, *problem.path), problem.text) for problem in _value_problems(kernel, known, pixel, largest)
        )
        if known.takes.port == "scalars":
            found += _rule_problems(kernel, known, path, kernels[:number])
        elif pixel not in known.takes.pixels:
            found.append(Problem(path, _unfit(known, pixel, maker)))
        if lister and any(known.made(port) for port in ("pixels", "list", "verdict")):
            found.append(Problem(path, f"{known.name} stands behind {lister}; put it before"))
        found += (Problem(path, text) for text in _order_problems(known, maker, adder))
        for column in _columns(known):
            if columns.setdefault(column.name, known.name) != known.name:
                text = f"{known.name} makes the column {column.name}, as {columns[column.name]} does; leave one out"
                found.append(Problem(path, text))
        if known.made("pixels"):
            maker, pixel, largest = known.name, leaves(kernel, pixel), None
        if known.made("list"):
            lister = known.name
        if known.made("accumulation") and parameters_of(kernel).get("added") not in ("reached", "none"):
            adder = known.name
    if len(columns) > MOST_COLUMNS:
        text = f"the kernels make {len(columns)} numbers an image, {MOST_COLUMNS} at most"
        found.append(Problem(("kernel",), text))
    return found


def _order_problems(known: Declaration, maker: str, adder: str) -> Iterator[str]:
    """Yield the faults of a kernel after `maker`, which made its pixels, and `adder`, which adds up accepted images; either is "" when there is none."""
    if maker and known.delivered:
        yield f"{known.name} reads pixels as the detector delivers them, and {maker} makes others; put it before"
    if adder and (known.name not in declarations() or any(map(known.made, ("verdict", "list", "table")))):
        yield f"{known.name} can refuse images that {adder} has added up; put it before"


def plan_pipeline(kernels: Sequence[Kernel], pixel: str) -> Pipeline:
    """Return the pipeline of kernels without faults."""
    steps: list[Step] = []
    maker: int | None = None
    for kernel in kernels:
        known = declaration_of(kernel)
        rides_on = marked_by = ""
        if maker is not None and known.rides:
            made_by = steps[maker]
            if not made_by.counts_for and "count" in made_by.kernel.offers and "count" in known.rides:
                rides_on = made_by.kernel.name
                steps[maker] = _with(made_by, counts_for=known.name)
            elif not made_by.marks_for and "mark" in made_by.kernel.offers and "mark" in known.rides:
                marked_by = made_by.kernel.name
                steps[maker] = _with(made_by, marks_for=known.name)
        port = known.made("list")
        part = float(parameters_of(kernel).get(port.capacity, 1.0)) if port else 0.0
        left = leaves(kernel, pixel)
        if known.made("pixels"):
            maker = len(steps)
        takes = pixel if known.takes.port == "pixels" else ""
        rule = "" if takes else str(parameters_of(kernel)[known.takes.by])
        steps.append(Step(known, takes, left, part, rides_on, marked_by, rule=rule))
        pixel = left
    return Pipeline(tuple(steps), pixel)


def leaves(kernel: Kernel, pixel: str) -> str:
    """Return the type of the pixels after the kernel."""
    known = declaration_of(kernel)
    port = known.made("pixels")
    if port is None:
        return pixel
    if not port.by:
        return port.pixels[0]
    by = next(parameter for parameter in known.parameters if parameter.name == port.by)
    return port.pixels[by.choices.index(parameters_of(kernel)[port.by])]


def _with(step: Step, **values: str) -> Step:
    return Step(**{**vars(step), **values})


def _columns(known: Declaration) -> tuple[Column, ...]:
    port = known.made("scalars")
    return port.columns if port else ()


def _rule_problems(kernel: Kernel, known: Declaration, path: KeyPath, before: Sequence[Kernel]) -> Iterator[Problem]:
    """Yield the faults of a step that uses columns of earlier steps."""
    values = parameters_of(kernel)
    columns = [column for one in before for column in _columns(declaration_of(one))]
    unknown = any(code_of(one) for one in before)  # the output of code from outside is known when it is loaded
    try:
        check_rule(values[known.takes.by], None if unknown else columns)
    except RuleError as error:
        yield Problem((*path, known.takes.by), str(error))
    for port in known.makes:
        if (
            port.port == "verdict"
            and port.by
            and (not re.fullmatch(NAME, values[port.by]) or values[port.by] == "none")
        ):
            text = "the name is not allowed; give a small letter and then small letters, digits or _, at most 48, and not none"
            yield Problem((*path, port.by), text)


def _unfit(known: Declaration, pixel: str, maker: str) -> str:
    wanted = ", ".join(known.takes.pixels)
    if not maker:
        return f"kernel {known.name} reads {wanted}, the detector's pixels are {pixel}; set detector.pixel, or put a kernel before it"
    return f"kernel {known.name} reads {wanted}, and {maker} makes {pixel}; change what {maker} makes, or leave one of them out"


def _value_problems(kernel: Kernel, known: Declaration, pixel: str, largest: int | None) -> list[Problem]:
    """Return the faults of parameters that contradict each other, or the pixels."""
    values = parameters_of(kernel)
    most = LARGEST.get(pixel) if largest is None else largest
    found: list[Problem] = []
    for parameter in known.parameters:
        value = values[parameter.name]
        if parameter.not_above and value > values[parameter.not_above]:
            text = f"{value} is more than {parameter.not_above} ({values[parameter.not_above]})"
            found.append(Problem((parameter.name,), text))
        if parameter.pixel_value and most is not None and value > most:
            whose = "the detector counts to" if largest is not None else f"{pixel} pixels hold"
            text = f"{value} is more than {whose}, {most} at most"
            found.append(Problem((parameter.name,), text))
    return found
