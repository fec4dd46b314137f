# SPDX-License-Identifier: Apache-2.0
"""Reads what Yosys' synth_xilinx made of a module: how much of what, and how many LUTs lie between two registers."""

import collections
import functools
from dataclasses import dataclass, field
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


@dataclass
class _Graph:
    """Who drives each net, and by which inputs."""

    drivers: dict[int, tuple[str, str]] = field(default_factory=dict)  # net: cell, output port
    cells: dict[str, Any] = field(default_factory=dict)


def measure(netlist: dict[str, Any], top: str) -> Size:
    """Of a flat netlist as write_json writes it. Paths to ports and from ports count like those of registers."""
    module = netlist["modules"][top]
    graph = _Graph(cells=module["cells"])
    for name, cell in graph.cells.items():
        for port, direction in cell["port_directions"].items():
            if direction == "output":
                for net in cell["connections"][port]:
                    graph.drivers[net] = (name, port)
    size = _count(collections.Counter(cell["type"] for cell in graph.cells.values()))
    names = {bit: f"{name}[{i}]" for name, net in module["netnames"].items() for i, bit in enumerate(net["bits"])}

    @functools.cache
    def depth(net: int) -> tuple[int, int]:
        """LUTs, and carry elements, on the longest path that ends in this net."""
        if net not in graph.drivers:
            return (0, 0)
        name, _ = graph.drivers[net]
        cell = graph.cells[name]
        luts = carries = 0
        for port, direction in cell["port_directions"].items():
            way = _through(cell["type"], port) if direction == "input" else ""
            if not way:
                continue
            for source in cell["connections"][port]:
                if isinstance(source, int):
                    below, chain = depth(source)
                    # A chain is entered by a LUT and left by another; only what comes by the carry makes it longer.
                    along = chain + 1 if way == "carry" and port == "CI" else max(1, chain) if way == "carry" else chain
                    luts = max(luts, below + (way == "lut"))
                    carries = max(carries, along)
        return (luts, carries)

    for name, cell in graph.cells.items():
        for port, direction in cell["port_directions"].items():
            ends = direction == "input" and (not _through(cell["type"], port) or cell["type"] == "OBUF")
            for net in cell["connections"][port] if ends else ():
                if isinstance(net, int):
                    luts, carries = depth(net)
                    output = next((bits[0] for p, bits in cell["connections"].items() if p in ("Q", "O")), net)
                    at = f"{names.get(output, names.get(net, name))} ({cell['type']}.{port})"
                    if luts > size.levels:
                        size.levels, size.levels_at = luts, at
                    if carries > size.carry:
                        size.carry, size.carry_at = carries, at
    return size
