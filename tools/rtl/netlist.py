# SPDX-License-Identifier: Apache-2.0
"""Reads what Yosys' synth_xilinx made from a module: the number of each resource, and of LUTs that lie between two registers."""

import collections
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lut_pairs import packed

Json = dict[str, Any]

# Ports that lead a level further within a cell; every other input ends a path, every other output begins one.
_MUXES = {"MUXF7", "MUXF8", "MUXF9"}
_FREE = {"BUFG", "IBUF", "OBUF", "INV", "GND", "VCC"}  # an inverter goes into the LUT or register that it drives
_LUT_RAMS = ("RAM32", "RAM64", "RAM128", "RAM256", "RAM512")
_SHIFTERS = ("SRL16", "SRLC32", "SRLC16")

# LUTs of a memory cell.
_LUTS_OF_RAM = {
    "RAM32M16": 8,
    "RAM64M8": 8,
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM32X1S": 1,
    "RAM64X1S": 1,
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1S": 2,
    "RAM128X1D": 4,
    "RAM256X1S": 4,
    "RAM256X1D": 8,
    "RAM512X1S": 8,
}


@dataclass
class Path:
    """The longest one of a kind, and its ends: registers, memories or ports."""

    length: int = 0
    begin: str = ""
    end: str = ""

    def __str__(self) -> str:
        return f"{self.begin} -> {self.end}"


@dataclass
class Size:
    """Holds the resources of a module, and its longest paths between registers."""

    lut: int = 0  # primitives, those of shift registers and LUT memories too
    memory: int = 0  # of them shift registers and memories
    packed: int = 0  # LUTs of the chip: those that can share one do, and carries take theirs
    ff: int = 0
    bram36: float = 0.0
    dsp: int = 0
    levels: Path = field(default_factory=Path)  # LUTs and reads of LUT memories one behind the other
    carry: Path = field(default_factory=Path)  # carry elements of four bits on one path

    def row(self) -> dict[str, Any]:
        return {
            "lut": self.lut,
            "memory": self.memory,
            "packed": self.packed,
            "ff": self.ff,
            "bram36": self.bram36,
            "dsp": self.dsp,
            "levels": self.levels.length,
            "carry": self.carry.length,
        }


def _through(kind: str, port: str) -> str:
    """Return the way of a path that comes in by this port: it goes on as "lut", "carry" or "wire", or ends ("")."""
    if kind.startswith("LUT"):
        return "lut"
    if kind == "CARRY4":
        return "carry"
    if kind in _MUXES or kind in _FREE:
        return "wire"
    if kind.startswith(_LUT_RAMS) and _reads(port):
        return "lut"
    if kind.startswith(_SHIFTERS) and port.startswith("A"):
        return "lut"
    return ""


def _reads(port: str) -> bool:
    """Return True when the port of a LUT memory is the address of an asynchronous read (the write address is one too)."""
    return port.startswith(("A", "DPRA"))


def _count(cells: dict[str, Json]) -> Size:
    """Count the cells of each kind, and no paths."""
    size = Size()
    for kind, count in collections.Counter(cell["type"] for cell in cells.values()).items():
        if kind.startswith("LUT"):
            size.lut += count
        elif kind.startswith(_SHIFTERS):
            size.memory += count
        elif kind.startswith(_LUT_RAMS):
            size.memory += count * _LUTS_OF_RAM[kind]
        elif kind.startswith("FD"):
            size.ff += count
        elif kind.startswith("RAMB36"):
            size.bram36 += count
        elif kind.startswith("RAMB18"):
            size.bram36 += count / 2
        elif kind.startswith("DSP"):
            size.dsp += count
    size.packed = packed(cells) + sum(
        count * _LUTS_OF_RAM[kind]
        for kind, count in collections.Counter(cell["type"] for cell in cells.values()).items()
        if kind.startswith(_LUT_RAMS)
    )
    size.lut += size.memory
    return size


class _Paths:
    """Find the driver of each net, and the depth of its longest path."""

    def __init__(self, module: Json) -> None:
        self._cells: dict[str, Json] = module["cells"]
        self._drivers: dict[int, Json] = {
            net: cell for cell in self._cells.values() for net in self._nets(cell, "output") if isinstance(net, int)
        }
        self._depths: dict[int, tuple[tuple[int, int], tuple[int, int]]] = {}
        self._names: dict[int, tuple[tuple[int, int], str]] = {}
        # Of several names that of the source, which is the shortest.
        for name, said in module["netnames"].items():
            for bit, net in enumerate(said["bits"]):
                called = f"{name}[{bit}]" if len(said["bits"]) > 1 else name
                if net not in self._names or (said["hide_name"], len(called)) < self._names[net][0]:
                    self._names[net] = ((said["hide_name"], len(called)), called)

    @staticmethod
    def _nets(cell: Json, direction: str) -> Iterator[int | str]:
        """Yield the nets of all ports of this direction; constants are strings."""
        for port, way in cell["port_directions"].items():
            if way == direction:
                yield from cell["connections"][port]

    def name(self, net: int) -> str:
        return self._names[net][1] if net in self._names else "?"

    def depth(self, net: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the LUTs, and carry elements, on the longest path that ends in this net, each with the net that it begins with."""
        known = self._depths.get(net)
        if known is None:
            known = self._of_cell(self._drivers[net], net) if net in self._drivers else ((0, net), (0, net))
            self._depths[net] = known
        return known

    def _of_cell(self, cell: Json, net: int) -> tuple[tuple[int, int], tuple[int, int]]:
        luts = carries = (0, net)
        for port, direction in cell["port_directions"].items():
            way = _through(cell["type"], port) if direction == "input" else ""
            if not way:
                continue
            for source in cell["connections"][port]:
                if isinstance(source, int):
                    (below, begin), (chain, chain_begin) = self.depth(source)
                    luts = max(luts, (below + (way == "lut"), begin))
                    # Elements joined by the carry are one chain; whatever else comes in may come from another.
                    length = chain + 1 if (way, port) == ("carry", "CI") else max(chain, int(way == "carry"))
                    carries = max(carries, (length, chain_begin))
        return luts, carries

    def ends(self) -> Iterator[tuple[int, str]]:
        """Yield nets at which paths end, each with the name of the end: the register behind it."""
        for cell in self._cells.values():
            for port, direction in cell["port_directions"].items():
                if direction != "input" or _through(cell["type"], port):
                    continue
                for net in cell["connections"][port]:
                    if isinstance(net, int):
                        behind = next(iter(cell["connections"].get("Q", [])), net)
                        yield net, f"{self.name(behind)} ({cell['type']}.{port})"


class _Same:
    """Nets that are one, by number; constants are strings."""

    def __init__(self) -> None:
        self._other: dict[int, int | str] = {}

    def root(self, net: int | str) -> int | str:
        while isinstance(net, int) and net in self._other:
            net = self._other[net]
        return net

    def join(self, one: int | str, other: int | str) -> None:
        one, other = self.root(one), self.root(other)
        if one == other:
            return
        if isinstance(one, int):
            self._other[one] = other
        elif isinstance(other, int):
            self._other[other] = one

    def roots(self, bits: list[int | str]) -> list[int | str]:
        return [self.root(bit) for bit in bits]


def _numbers(module: Json) -> int:
    """Return the number of the next net: one more than the largest."""
    return 1 + max(bit for said in module["netnames"].values() for bit in said["bits"] if isinstance(bit, int))


def joined(top: Json, parts: dict[str, Json]) -> Json:
    """Return a module in which each cell that is a part is replaced by the cells of that part."""
    cells: dict[str, Json] = {}
    names: dict[str, Json] = dict(top["netnames"])
    same = _Same()
    first = _numbers(top)

    def moved(bits: list[int | str]) -> list[int | str]:
        return [bit + first if isinstance(bit, int) else bit for bit in bits]

    for name, cell in top["cells"].items():
        part = parts.get(cell["type"])
        if part is None:
            cells[name] = cell
            continue
        for inner_name, inner in part["cells"].items():
            wires = {port: moved(bits) for port, bits in inner["connections"].items()}
            cells[f"{name}.{inner_name}"] = inner | {"connections": wires}
        for inner_name, said in part["netnames"].items():
            names[f"{name}.{inner_name}"] = said | {"bits": moved(said["bits"])}
        for port, outer in cell["connections"].items():
            for inside, outside in zip(moved(part["ports"][port]["bits"]), outer, strict=True):
                same.join(inside, outside)
        first += _numbers(part)
    return {
        "ports": {name: port | {"bits": same.roots(port["bits"])} for name, port in top["ports"].items()},
        "cells": {
            name: cell | {"connections": {port: same.roots(bits) for port, bits in cell["connections"].items()}}
            for name, cell in cells.items()
        },
        "netnames": {name: said | {"bits": same.roots(said["bits"])} for name, said in names.items()},
    }


def measure(module: Json) -> Size:
    """Return the counts of a flat netlist as write_json writes it. A path from an input port begins like one from a register."""
    size = _count(module["cells"])
    paths = _Paths(module)
    outputs = [
        (net, f"{name} (port)")
        for name, port in module["ports"].items()
        if port["direction"] == "output"
        for net in port["bits"]
        if isinstance(net, int)
    ]
    for net, at in (*paths.ends(), *outputs):
        (luts, begin), (carries, carry_begin) = paths.depth(net)
        if luts > size.levels.length:
            size.levels = Path(luts, paths.name(begin), at)
        if carries > size.carry.length:
            size.carry = Path(carries, paths.name(carry_begin), at)
    return size
