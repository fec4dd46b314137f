# SPDX-License-Identifier: Apache-2.0
"""Reads what Yosys' synth_xilinx made of a module: how much of what, and how many LUTs lie between two registers."""

import collections
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# Ports that lead a level further within a cell; every other input ends a path, every other output begins one.
_MUXES = {"MUXF7", "MUXF8", "MUXF9"}
_FREE = {"BUFG", "IBUF", "OBUF", "INV", "GND", "VCC"}  # an inverter goes into the LUT or register that it drives
_LUT_RAMS = ("RAM32", "RAM64", "RAM128", "RAM256", "RAM512")
_SHIFTERS = ("SRL16", "SRLC32", "SRLC16")


@dataclass
class Size:
    """What a module takes, and its longest path between registers."""

    cells: dict[str, int]
    lut: int = 0  # primitives, those of shift registers and LUT memories too
    memory: int = 0  # of them shift registers and memories
    ff: int = 0
    bram36: float = 0.0
    dsp: int = 0
    levels: int = 0  # LUTs and reads of LUT memories one behind the other
    levels_at: str = ""  # where that path ends
    carry: int = 0  # carry elements of four bits on one path
    carry_at: str = ""

    def row(self) -> dict[str, Any]:
        return {
            "lut": self.lut,
            "memory": self.memory,
            "ff": self.ff,
            "bram36": self.bram36,
            "dsp": self.dsp,
            "levels": self.levels,
            "carry": self.carry,
        }


def _through(kind: str, port: str) -> str:
    """What a path does that comes in by this port: goes on as "lut", "carry" or "wire"; or ends ("")."""
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
    """Whether the port of a LUT memory is the address of an asynchronous read (the write address is one too)."""
    return port.startswith(("A", "DPRA"))


# LUTs of a memory cell: one a bit and copy.
_LUTS_OF_RAM = {"RAM32M16": 8, "RAM64M8": 8, "RAM32M": 4, "RAM64M": 4}


def _count(cells: dict[str, int]) -> Size:
    """Everything but paths and packing."""
    size = Size(cells)
    for kind, count in cells.items():
        if kind.startswith("LUT"):
            size.lut += count
        elif kind.startswith(_SHIFTERS):
            size.memory += count
        elif kind.startswith(_LUT_RAMS):
            size.memory += count * _LUTS_OF_RAM.get(kind, 2 if kind.endswith("D") else 1)
        elif kind.startswith("FD"):
            size.ff += count
        elif kind.startswith("RAMB36"):
            size.bram36 += count
        elif kind.startswith("RAMB18"):
            size.bram36 += count / 2
        elif kind.startswith("DSP"):
            size.dsp += count
    size.lut += size.memory
    return size


class _Paths:
    """Who drives each net, and how deep its longest path is."""

    def __init__(self, module: dict[str, Any]) -> None:
        self._cells: dict[str, Any] = module["cells"]
        self._drivers: dict[int, Any] = {
            net: cell for cell in self._cells.values() for net in self._nets(cell, "output") if isinstance(net, int)
        }
        self._depths: dict[int, tuple[int, int]] = {}
        self._names = {
            net: f"{name}[{bit}]" for name, said in module["netnames"].items() for bit, net in enumerate(said["bits"])
        }

    @staticmethod
    def _nets(cell: dict[str, Any], direction: str) -> Iterator[int | str]:
        """Of all ports of this direction; constants are strings."""
        for port, way in cell["port_directions"].items():
            if way == direction:
                yield from cell["connections"][port]

    def depth(self, net: int) -> tuple[int, int]:
        """LUTs, and carry elements, on the longest path that ends in this net."""
        known = self._depths.get(net)
        if known is None:
            known = self._depths[net] = self._of_cell(self._drivers[net]) if net in self._drivers else (0, 0)
        return known

    def _of_cell(self, cell: dict[str, Any]) -> tuple[int, int]:
        luts = carries = 0
        for port, direction in cell["port_directions"].items():
            way = _through(cell["type"], port) if direction == "input" else ""
            if not way:
                continue
            for source in cell["connections"][port]:
                if isinstance(source, int):
                    below, chain = self.depth(source)
                    luts = max(luts, below + (way == "lut"))
                    # Elements joined by the carry are one chain; whatever else comes in may come from another.
                    carries = max(carries, chain + 1 if (way, port) == ("carry", "CI") else chain, int(way == "carry"))
        return (luts, carries)

    def ends(self) -> Iterator[tuple[int, str]]:
        """Nets at which paths end, and what to call the end: the register behind it."""
        for cell in self._cells.values():
            for port, direction in cell["port_directions"].items():
                if direction != "input" or _through(cell["type"], port):
                    continue
                for net in cell["connections"][port]:
                    if isinstance(net, int):
                        behind = next(iter(cell["connections"].get("Q", [])), net)
                        name = self._names.get(behind, self._names.get(net, "?"))
                        yield net, f"{name} ({cell['type']}.{port})"


def measure(netlist: dict[str, Any], top: str) -> Size:
    """Of a flat netlist as write_json writes it. A path from an input port begins like one from a register."""
    module = netlist["modules"][top]
    size = _count(collections.Counter(cell["type"] for cell in module["cells"].values()))
    paths = _Paths(module)
    outputs = [
        (net, f"{name} (port)")
        for name, port in module["ports"].items()
        if port["direction"] == "output"
        for net in port["bits"]
        if isinstance(net, int)
    ]
    for net, at in (*paths.ends(), *outputs):
        luts, carries = paths.depth(net)
        if luts > size.levels:
            size.levels, size.levels_at = luts, at
        if carries > size.carry:
            size.carry, size.carry_at = carries, at
    return size
