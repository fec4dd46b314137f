# SPDX-License-Identifier: Apache-2.0
"""Plans groups of receivers, among which the images of a buffer are dealt, as one buffer at each member (docs/explanations/groups.md)."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile.engine_keys import GroupKeys, keys_of
from rashpa.control.runfile.run_file_reader import RunFileSource
from rashpa.data.base.value_words import faults_of

MOST_FRAMES = 2**32 - 1  # that are dealt in one run
_NOTICE_S = 1.2  # until a receiver that has died before its first stack was done is given nothing more


@dataclass(frozen=True)
class PlannedGroup:
    """Describes a group with its window. `buffers`: one for each member, in the members' order; `position`: its position in the run file's list."""

    name: str
    position: int
    members: tuple[str, ...]
    buffers: tuple[str, ...]
    replay_frames: int
    keys: GroupKeys

    def buffer_of(self, member: str) -> str:
        return self.buffers[self.members.index(member)]


def member_sections(file: toml.RunFile) -> list[tuple[int, toml.Buffer]]:
    """Return the buffers of the run with their positions in the file. A group's buffer is returned once for each member."""
    members = {group.name: group.receivers for group in file.group}
    found: list[tuple[int, toml.Buffer]] = []
    for position, section in enumerate(file.buffer):
        if section.group is None or section.receiver is not None or section.group not in members:
            found.append((position, section))
            continue
        for receiver in members[section.group]:
            own = {"receiver": receiver, "name": f"{section.name}_{receiver}"}
            found.append((position, section.model_copy(update=own)))
    return found


@dataclass(frozen=True)
class Joined:
    """Describes a receiver that has joined a group of a run. `group`: may be empty when there is only one; `receiver`: keys and values of its
    [[receiver]] table."""

    group: str
    receiver: dict[str, Any]


def with_joined(file: toml.RunFile, groups: Sequence[PlannedGroup], joined: Joined) -> toml.RunFile:
    """Return the run file of a plan with one more receiver, and with its buffer after all others. Raise ValueError when that is impossible."""
    named = [one for one in groups if joined.group in ("", one.name)]
    if len(named) != 1:
        raise ValueError(
            f"the run has no group {joined.group}; there is {', '.join(one.name for one in groups) or 'none'}"
        )
    group = named[0]
    try:
        section = toml.Receiver.model_validate({**_as_member(file, group.members[0]), **joined.receiver})
    except ValidationError as error:
        raise ValueError("; ".join(faults_of(error, within="receiver"))) from None
    if section.name in (receiver.name for receiver in file.receivers):
        raise ValueError(f"the run has a receiver {section.name}; give this one another name")
    first = next(one for one in file.buffer if one.name == group.buffers[0])
    name = f"{first.name.removesuffix(f'_{group.members[0]}')}_{section.name}"
    # the source has the window of its order
    update = {"receivers": [*group.members, section.name], "replay_frames": group.replay_frames}
    changed = [one.model_copy(update=update) if one.name == group.name else one for one in file.group]
    buffers = [*file.buffer, first.model_copy(update={"receiver": section.name, "name": name})]
    return file.model_copy(update={"receiver": [*file.receivers, section], "group": changed, "buffer": buffers})


def _as_member(file: toml.RunFile, member: str) -> dict[str, Any]:
    """Return the keys that a new receiver copies from the member `member`, unless it has its own."""
    section = next(receiver for receiver in file.receivers if receiver.name == member)
    return section.model_dump(include=section.model_fields_set - {"name", "node", "launch", "device"})


def plan_groups(file: toml.RunFile, sections: Sequence[toml.Buffer]) -> tuple[PlannedGroup, ...]:
    """Return the groups that have a buffer, in the order of the run file."""
    found: list[PlannedGroup] = []
    for position, group in enumerate(file.group):
        own = {section.receiver: section for section in sections if section.group == group.name}
        if not own or any(receiver not in own for receiver in group.receivers):
            continue
        buffers = tuple(own[receiver].name for receiver in group.receivers)
        replay = group.replay_frames or _replay_frames(file, group, next(iter(own.values())))
        found.append(
            PlannedGroup(group.name, position, tuple(group.receivers), buffers, replay, keys_of(group, GroupKeys))
        )
    return tuple(found)


def _replay_frames(file: toml.RunFile, group: toml.Group, section: toml.Buffer) -> int:
    """Return the number of frames to keep for replay: twice the capacity of all members, and the frames until a silent member is noticed. When the
    frame rate is unknown, keep all."""
    if file.detector.rate_hz <= 0:
        return min(file.run.most_frames, MOST_FRAMES)
    held = 2 * section.slots * section.every * len(group.receivers)
    response_s: float = group.response_ms / 1000
    return held + math.ceil(file.detector.rate_hz * (_NOTICE_S + response_s))


def group_problems(file: toml.RunFile, sections: Sequence[toml.Buffer], source: RunFileSource) -> Iterator[str]:
    """Yield a line for each fault of groups."""
    names = [receiver.name for receiver in file.receivers]
    groups = [group.name for group in file.group]
    for number, section in enumerate(file.buffer):
        where = source.where(("buffer", number, "group"))
        if section.group is None:
            continue
        if section.group not in groups:
            yield f"{where}: no group is named {section.group}; add [[group]] name and receivers"
        yield from _section_problems(section, f"{where}: ")
    counted = Counter(receiver for group in file.group for receiver in group.receivers)
    for number, group in enumerate(file.group):
        where = source.where(("group", number, "receivers"))
        if groups.index(group.name) != number:
            yield f"{source.where(('group', number, 'name'))}: {group.name} is the name of an earlier group; choose another"
        for receiver in dict.fromkeys(group.receivers):
            if receiver not in names:
                yield f'{where}: no receiver is named {receiver}; add [[receiver]] name = "{receiver}"'
            elif counted[receiver] > 1:
                yield f"{where}: receiver {receiver} stands in groups {counted[receiver]} times; once is right"
            elif any(section.receiver == receiver and section.group != group.name for section in sections):
                yield f"{where}: receiver {receiver} has a buffer of its own, too; give that one another receiver"
        held = [
            section for section in sections if section.group == group.name and section.receiver == group.receivers[0]
        ]
        if len(held) != 1:
            yield f"{source.where(('group', number, 'name'))}: {len(held)} buffers have group {group.name}; one is dealt in a group"
    if file.group:
        yield from _run_problems(file, source)


def _section_problems(section: toml.Buffer, where: str) -> Iterator[str]:
    if any(sink.on_full == "drop" for sink in section.sink):
        yield f'{where}a sink of a group waits (on_full = "wait"): what is behind is given to others'
    if any(sink.kind == "stream2" for sink in section.sink):
        yield f"{where}no member of a group sees all images: a stream comes from a buffer with a receiver of its own; leave sink stream2 out"
    if section.feedback is not None:
        yield f"{where}no member of a group sees all images: decisions are published by a buffer with a receiver of its own; leave feedback out"


def _run_problems(file: toml.RunFile, source: RunFileSource) -> Iterator[str]:
    if file.run.open_ended:
        yield f"{source.where(('run', 'frames'))}: images are dealt in runs whose number of frames is known; give a number"
    if file.run.series_frames is not None:
        yield f"{source.where(('run', 'series_frames'))}: members of a group get any images, whose series are not theirs; leave it out, or the group"
    if file.detector.trigger == "software":
        where = source.where(("detector", "trigger"))
        yield f'{where}: images are dealt in runs whose number of frames is known; use trigger = "internal"'
    if file.link.flow != "credits":
        yield f'{source.where(("link", "flow"))}: images are dealt by credits; use flow = "credits"'
    if not file.link.at_destination("records", True):
        yield f"{source.where(('link', 'roce', 'records'))}: only records tell which frame an image of a group is; use records = true"
    if file.faults.dead_modules:
        yield f"{source.where(('faults', 'dead_modules'))}: images of a group without their dead modules cannot be dealt; leave one out"


def route_problems(
    groups: Sequence[PlannedGroup],
    emulators: Mapping[str, Sequence[str]],
    engines: Mapping[str, str],
    source: RunFileSource,
) -> Iterator[str]:
    """Yield the faults of routes. `emulators`: for each group, the emulators that play the modules of its buffer; `engines`: the engine of each
    emulator."""
    for group in groups:
        where = source.where(("group", group.position, "name"))
        players = emulators[group.name]
        if len(players) > 1:
            yield f"{where}: the modules are played by {' and '.join(players)}; one emulator deals the images of a group: give it all of them"
        elif engines[players[0]] == "fpga":
            yield f'{where}: emulator {players[0]} is a card, which deals no images; use engine = "software"'
