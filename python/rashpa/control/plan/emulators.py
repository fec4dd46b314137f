# SPDX-License-Identifier: Apache-2.0
"""Plans the emulators of a run file: the modules that each plays, and the resources that two emulators must not share."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import ClassVar

from rashpa.control.plan.planned_node import PlannedNode
from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile.node_sections import OnlyEmulator
from rashpa.control.runfile.run_file_reader import RunFileSource

SIMULATED = "sim"  # the card that a node simulates itself


@dataclass(frozen=True)
class PlannedEmulator(PlannedNode):
    """Describes one emulator, with the modules that it plays."""

    modules: tuple[int, ...]
    engine: str = "software"
    card: str = ""  # SIMULATED, or the directory of its nodes
    card_mac: str = ""
    neighbours: Mapping[str, str] = field(default_factory=dict)

    role: ClassVar[str] = "emulator"


def plan_emulators(file: toml.RunFile) -> tuple[PlannedEmulator, ...]:
    """Return the emulators in the order of the run file, at least one; none for a detector that sends by itself. Modules that no emulator names are
    distributed evenly, in order, among the emulators that name none."""
    if file.detector.control is not None:
        return ()
    count = len(file.detector.module)
    sections = file.emulators
    listed = isinstance(file.emulator, list) and bool(file.emulator)
    named = {module for section in sections for module in section.modules or ()}
    rest = [module for module in range(count) if module not in named]
    takers = [position for position, section in enumerate(sections) if section.modules is None]
    found: list[PlannedEmulator] = []
    for position, section in enumerate(sections):
        own = {name: value for name, value in section.model_dump(exclude={"name"}).items() if value is not None}
        if section.modules is None:
            share = takers.index(position)
            first, end = (len(rest) * number // len(takers) for number in (share, share + 1))
            modules = rest[first:end]
        else:
            modules = section.modules
        values = {"node": file.nodes.emulator, **own, "modules": tuple(modules)}
        given = frozenset(section.model_fields_set)
        found.append(PlannedEmulator(section.name, position if listed else None, given, **values))
    return tuple(found)


def emulator_problems(file: toml.RunFile, emulators: Sequence[PlannedEmulator], source: RunFileSource) -> Iterator[str]:
    """Yield a line for each fault of the emulators."""
    if file.detector.control is not None:
        if file.emulator != OnlyEmulator():
            where = source.where(("emulator",))
            yield f"{where}: a detector with [detector.control] sends by itself; take the emulators out, or the control"
        return
    count = len(file.detector.module)
    owner: dict[int, PlannedEmulator] = {}
    for emulator in emulators:
        where = source.where(emulator.key("modules") if "modules" in emulator.given else emulator.own_key("name"))
        if not emulator.modules:
            yield (
                f"{where}: no module is left for {emulator.label}: the detector has {count}; name its modules, give others fewer, or take the "
                "emulator out"
            )
        for module in emulator.modules:
            if module >= count:
                yield f"{where}: module {module} does not exist; modules are 0 … {count - 1}"
            elif module in owner:
                whose = "twice here" if owner[module] is emulator else f"{owner[module].label}'s, too"
                yield f"{where}: module {module} is {whose}; a module is played once"
            else:
                owner[module] = emulator
    idle = [module for module in range(count) if module not in owner]
    if idle:
        what = f"module{'s' if len(idle) > 1 else ''} {', '.join(map(str, idle))}"
        yield (
            f"{source.where(emulators[-1].own_key('modules'))}: no emulator plays {what}; name every module, or leave `modules` out "
            "of one emulator, which then takes what is left"
        )
    if file.link.framed_v1:
        yield from _interface_problems(emulators, source)


def _interface_problems(emulators: Sequence[PlannedEmulator], source: RunFileSource) -> Iterator[str]:
    """Yield a line for each address that several emulators use. Framing v1 has no ports: only the queue pair distinguishes replies, and two processes
    choose theirs at random."""
    for one, other in combinations(emulators, 2):
        if one.address == other.address:
            yield (
                f"{source.where(other.own_key('address'))}: {one.label} and {other.label} are both {one.address}; with framing v1 each needs an "
                "interface of its own"
            )


def idle_problems(
    file: toml.RunFile, emulators: Sequence[PlannedEmulator], used: frozenset[int], source: RunFileSource
) -> Iterator[str]:
    """Yield a line for each emulator from which no buffer takes pixels. `used`: the modules of all DTPs."""
    for emulator in emulators if isinstance(file.emulator, list) else ():
        if emulator.modules and not used.intersection(emulator.modules):
            modules = ", ".join(map(str, emulator.modules))
            yield (
                f"{source.where(emulator.own_key('name'))}: no buffer takes pixels of the modules of {emulator.label} ({modules}); widen a region, "
                "or take the emulator out"
            )
