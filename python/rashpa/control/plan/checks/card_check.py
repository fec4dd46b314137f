# SPDX-License-Identifier: Apache-2.0
"""Finds faults of a run's cards: those of emulators and those of units."""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from rashpa.control.plan.emulators import SIMULATED, PlannedEmulator
from rashpa.control.plan.model import Plan, PlannedDtp
from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile.run_file_reader import RunFileSource

CARD_DTPS = 16  # as many as a card plays
CARD_IDS = 255  # the largest id that it knows


def card_problems(file: toml.RunFile, emulators: Sequence[PlannedEmulator], source: RunFileSource) -> Iterator[str]:
    """Yield a line for each fault of the emulators' cards."""
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
    emulators: Sequence[PlannedEmulator], dtps: Mapping[str, Sequence[PlannedDtp]], source: RunFileSource
) -> Iterator[str]:
    """Yield a line for each card with too many DTPs. `dtps`: by emulator."""
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


def shared_card_problems(plan: Plan) -> Iterator[str]:
    """Yield a line for each set of buffers that share a card, which can run one pipeline only."""
    machines = {receiver.name: receiver.machine for receiver in plan.receivers}
    on_cards = [buffer for buffer in plan.buffers if buffer.section.unit == "fpga" and buffer.section.card != SIMULATED]
    for one, other in combinations(on_cards, 2):
        if one.section.card == other.section.card and machines[one.receiver] == machines[other.receiver]:
            where = plan.source.where(("buffer", plan.positions[other.section.name], "card"))
            yield f"{where}: {one.section.name} and {other.section.name} have the same card {one.section.card}; give each its own"
