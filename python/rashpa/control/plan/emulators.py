# SPDX-License-Identifier: Apache-2.0
"""The emulators of a run file: the modules that each plays, and the resources that two must not share."""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

from rashpa.control.plan.planned_node import PlannedNode
from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile.run_file_reader import RunFileSource

if TYPE_CHECKING:
    from rashpa.control.plan.run_plan import PlannedDtp

SIMULATED = "sim"  # the card that a node simulates itself
CARD_DTPS = 16  # as many as a card plays
CARD_IDS = 255  # the largest id that it knows


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
    """Return emulators in the order of the run file, at least one. Modules that no emulator names go evenly, in order, to emulators that name none."""
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
    yield from _card_problems(file, emulators, source)
    if file.link.framed_v1:
        yield from _interface_problems(emulators, source)


def _card_problems(file: toml.RunFile, emulators: Sequence[PlannedEmulator], source: RunFileSource) -> Iterator[str]:
    for emulator in emulators:
        if emulator.engine != "fpga":
            for key in ("card", "card_mac", "neighbours"):
                if key in emulator.given:
                    yield f'{source.where(emulator.own_key(key))}: only the engine "fpga" has a card; set engine = "fpga", or take {key} out'
            continue
        if not emulator.card:
            yield (
                f'{source.where(emulator.own_key("engine"))}: {emulator.label} is played by a card: name it, card = "{SIMULATED}" for a simulated '
                "one, or the directory of its nodes"
            )
        yield from _mac_problems(emulator, source)
    on_cards = [emulator for emulator in emulators if emulator.engine == "fpga"]
    for one, other in combinations(on_cards, 2):
        if one.card == other.card != SIMULATED and one.machine == other.machine:
            yield f"{source.where(other.own_key('card'))}: {one.label} and {other.label} have the same card {one.card}; give each its own"
    if on_cards:
        yield from _what_cards_lack(file, source)


def _mac_problems(emulator: PlannedEmulator, source: RunFileSource) -> Iterator[str]:
    for key in ("card_mac", "neighbours"):
        if emulator.card == SIMULATED and key in emulator.given:
            yield (
                f'{source.where(emulator.own_key(key))}: card = "{SIMULATED}" sends by sockets of this machine, whose MAC addresses the kernel knows; '
                f"take {key} out, or name the directory of a card: `rashpa card DIRECTORY --network unix:HERE,THERE` simulates one in a network"
            )
    for address in emulator.neighbours:
        try:
            ipaddress.ip_address(address)
        except ValueError:
            yield f'{source.where(emulator.own_key("neighbours"))}: "{address}" is no IPv4 or IPv6 address; the addresses of receivers are numeric'


def _what_cards_lack(file: toml.RunFile, source: RunFileSource) -> Iterator[str]:
    link, faults = file.link, file.faults
    needs = 'needs engine = "software" of every emulator'
    roce = link.of("roce")  # as which a card sends
    if roce.transport != "uc":
        yield f'{source.where(("link", "roce", "transport"))}: {roce.transport} {needs}: a card sends by Unreliable Connected queue pairs, "uc"'
    if roce.framing != "v2":
        yield f"{source.where(('link', 'roce', 'framing'))}: {roce.framing} {needs}: a card sends RoCEv2"
    for name in ("duplicate", "reorder", "stall", "dead_modules"):
        if getattr(faults, name):
            yield f"{source.where(('faults', name))}: {name} {needs}: a card drops and corrupts packets, nothing else"
    if link.on_full == "skip" and (faults.drop or faults.corrupt):
        yield (
            f"{source.where(('link', 'on_full'))}: a card finds packets to be hit by their number, which skipped images move; "
            '"pause", or no faults'
        )


def card_dtp_problems(
    emulators: Sequence[PlannedEmulator], dtps: Mapping[str, Sequence["PlannedDtp"]], source: RunFileSource
) -> Iterator[str]:
    """Yield cards with too many DTPs; `dtps`: by emulator."""
    for emulator in emulators:
        own = dtps[emulator.name]
        if emulator.engine == "fpga" and own and own[-1].id > CARD_IDS:
            yield (
                f"{source.where(emulator.own_key('engine'))}: {emulator.label} has DTP {own[-1].id}, a card knows ids of 0 … {CARD_IDS}; have the "
                "buffers that it sends to first in the run file"
            )
        if emulator.engine == "fpga" and len(own) > CARD_DTPS:
            yield (
                f"{source.where(emulator.own_key('engine'))}: {emulator.label} has {len(own)} DTPs, a card plays {CARD_DTPS}; use fewer "
                "bands or buffers, or more emulators with a card each"
            )


def _interface_problems(emulators: Sequence[PlannedEmulator], source: RunFileSource) -> Iterator[str]:
    """Yield emulators with one address. Framing v1 has no ports: only the queue pair tells replies apart, and two processes choose theirs at random."""
    for one, other in combinations(emulators, 2):
        if one.address == other.address:
            yield (
                f"{source.where(other.own_key('address'))}: {one.label} and {other.label} are both {one.address}; with framing v1 each needs an "
                "interface of its own"
            )


def idle_problems(
    file: toml.RunFile, emulators: Sequence[PlannedEmulator], used: frozenset[int], source: RunFileSource
) -> Iterator[str]:
    """Yield emulators that no buffer takes a pixel from; `used`: modules of all DTPs."""
    for emulator in emulators if isinstance(file.emulator, list) else ():
        if emulator.modules and not used.intersection(emulator.modules):
            modules = ", ".join(map(str, emulator.modules))
            yield (
                f"{source.where(emulator.own_key('name'))}: no buffer takes pixels of the modules of {emulator.label} ({modules}); widen a region, "
                "or take the emulator out"
            )
