# SPDX-License-Identifier: Apache-2.0
"""Moves keys of a run file from the places of older versions to the present ones, with a caution that names the present place. Older places are read
until the next MINOR version but one (docs/reference/compatibility.md)."""

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rashpa.control.runfile.key_types import KeyPath
from rashpa.control.runfile.links import link_keys
from rashpa.data.base.rashpa_error import RashpaError

Tables = dict[str, Any]

_NODES = {
    "port": ("receiver", "port"),
    "threads": ("receiver", "threads"),
    "poll": ("receiver", "poll"),
    "memory": ("receiver", "memory"),
    **{
        f"{role}_{key}": (role, key)
        for role in ("emulator", "receiver")
        for key in ("address", "device", "processor", "numa")
    },
}
"""Keys of [link] of version 0.3 that are keys of a node."""
_CALIBRATION = ("dataset", "calibration"), ("detector", "calibration")


class PlacedTwiceError(RashpaError, ValueError):
    """Reports a key that is given at its older place `older` and at its present place `now`."""

    def __init__(self, older: KeyPath, now: KeyPath) -> None:
        super().__init__(f"{older} {now}")
        self.older = older
        self.now = now


@dataclass(frozen=True)
class Move:
    """Describes a value at an older place, and its present place, which is empty when each node has a value of its own. `cautioned`: False when the
    older place is still allowed."""

    older: KeyPath
    now: KeyPath
    value: Any
    cautioned: bool = True

    @property
    def text(self) -> str:
        """Return the present line in short form: [receiver] port = 0."""
        if not self.now:
            return f"nothing for {self.older[-1]}, which each {_NODES[str(self.older[-1])][0]} has"
        *table, key = self.now
        names = [part for part in table if isinstance(part, str)]
        name = f"[[{names[0]}]]" if len(names) != len(table) else f"[{'.'.join(names)}]"
        try:
            value = json.dumps(self.value, ensure_ascii=False, default=str)
        except ValueError:  # a number of more digits than Python writes
            value = "…"
        return f"{name} {key} = {value}"


def as_placed_now(raw: Mapping[str, Any]) -> tuple[Tables, list[Move]]:
    """Return the tables of a run file in the present form, and the moved keys. Raise PlacedTwiceError when a value is given at both places."""
    moves = [*_calibration_moves(raw), *_link_moves(raw)]
    tables = copy.deepcopy(dict(raw)) if moves else dict(raw)
    for table, key in {move.older for move in moves}:
        tables[str(table)] = {name: value for name, value in tables[str(table)].items() if name != key}
    for move in moves:
        if move.now:
            _put(tables, move)
    return tables, moves


def caution_of(moves: list[Move]) -> str:
    """Return a line on all values at older places of [link], empty without any."""
    said = dict.fromkeys(move.text for move in moves if move.cautioned)
    keys = ", ".join(dict.fromkeys(str(move.older[-1]) for move in moves if move.cautioned))
    return (
        f"{keys}: keys of [link] up to version 0.3, which version 0.5 will refuse; write {', '.join(said)}"
        if said
        else ""
    )


def _calibration_moves(raw: Mapping[str, Any]) -> Iterator[Move]:
    older, now = _CALIBRATION
    table = raw.get(older[0])
    if isinstance(table, dict) and isinstance(raw.get(now[0]), dict) and older[1] in table:
        yield Move(older, now, table[older[1]], cautioned=False)


def _link_moves(raw: Mapping[str, Any]) -> Iterator[Move]:
    table = raw.get("link")
    for key, value in table.items() if isinstance(table, dict) else ():
        older = ("link", key)
        if key in _NODES:
            places = list(_node_places(raw, *_NODES[key]))
            yield from (Move(older, now, value) for now in places or [()])
        elif not isinstance(value, dict):
            yield from (Move(older, ("link", kind, key), value) for kind in _kinds_with(raw, key))


def _node_places(raw: Mapping[str, Any], role: str, key: str) -> Iterator[KeyPath]:
    """Yield the place of a key for each node of a role that has no value of its own."""
    listed = raw.get(role)
    if not isinstance(listed, list) or not listed:
        yield (role, key)
        return
    for position, section in enumerate(listed):
        if isinstance(section, dict) and key not in section:
            yield (role, position, key)


def _kinds_with(raw: Mapping[str, Any], key: str) -> list[str]:
    """Return the kinds of link that have the key and that the run uses; when it uses none of them, all that have it."""
    link = raw["link"]
    sections = raw.get("receiver")
    own = [one.get("link") for one in sections if isinstance(one, dict)] if isinstance(sections, list) else []
    used = [*own, *(link.get(name, link.get("kind", "roce")) for name in ("source", "destination"))]
    having = [kind for kind, keys in link_keys().items() if key in keys]
    return [kind for kind in having if kind in used] or having


def _put(tables: Tables, move: Move) -> None:
    """Put the value at its new place; make missing tables on the path."""
    *way, key = move.now
    inside: Any = tables
    for part in way:
        if isinstance(inside, dict) and inside.get(part, []) == []:
            inside[part] = {}
        inside = inside[part]
        if not isinstance(inside, dict | list):
            return  # no table: the model says so
    if key in inside:
        raise PlacedTwiceError(move.older, move.now)
    inside[key] = move.value
