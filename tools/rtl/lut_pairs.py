# SPDX-License-Identifier: Apache-2.0
"""Counts the LUTs of the chip for the primitives of a netlist.

One LUT holds a function of six inputs, or two of five in all; or two shift registers of 16 bits with one address. A bit of a carry chain takes the LUT that
makes its sum input: a signal from elsewhere goes through one. Pairs are found greedily, and only among LUTs that have an input in common, so a placer can do
at least as well.
"""

import collections
from typing import Any

_INPUTS = ("I0", "I1", "I2", "I3", "I4", "I5")
_MOST = 5  # inputs of two functions in one LUT
_NEAR = 40  # number of one net's LUTs that are examined for each


def packed(cells: dict[str, Any]) -> int:
    """Return the number of LUTs, those of LUT memories left out."""
    inputs: dict[str, frozenset[int]] = {}
    makers: dict[int, str] = {}
    for name, cell in cells.items():
        if cell["type"].startswith("LUT"):
            wires = cell["connections"]
            inputs[name] = frozenset(net for port in _INPUTS for net in wires.get(port, ()) if isinstance(net, int))
            makers.update({net: name for net in wires["O"] if isinstance(net, int)})
    through, fixed = _carries(cells, makers)
    free = {name for name in inputs if len(inputs[name]) <= _MOST and name not in fixed}
    return len(inputs) + through + _shifters(cells) - _pairs({name: inputs[name] for name in sorted(free)})


def _carries(cells: dict[str, Any], makers: dict[int, str]) -> tuple[int, set[str]]:
    """Return the number of LUTs that only lead to a carry; and those that make a sum input, which share theirs with nothing."""
    used = {
        net
        for cell in cells.values()
        for port, way in cell["port_directions"].items()
        if way == "input"
        for net in cell["connections"][port]
    }
    through, fixed = 0, set[str]()
    for cell in cells.values():
        if cell["type"] != "CARRY4":
            continue
        wires = cell["connections"]
        bits = [bit for bit in range(4) if {wires["O"][bit], wires["CO"][bit]} & used]
        for net in wires["S"][: max(bits, default=-1) + 1]:
            maker = makers.get(net)
            through += maker is None or maker in fixed
            if maker is not None:
                fixed.add(maker)
    return through, fixed


def _shifters(cells: dict[str, Any]) -> int:
    """Return the number of LUTs of shift registers."""
    whole, halves = 0, collections.Counter[str]()
    for cell in cells.values():
        if cell["type"].startswith("SRL16"):
            wires = cell["connections"]
            halves[str([wires[port] for port in ("CE", "CLK", "A0", "A1", "A2", "A3")])] += 1
        elif cell["type"].startswith("SRLC"):
            whole += 1
    return whole + sum((count + 1) // 2 for count in halves.values())


def _pairs(inputs: dict[str, frozenset[int]]) -> int:
    """Return how many pairs share a LUT."""
    left = dict(inputs)
    pairs = 0
    alike: dict[frozenset[int], list[str]] = {}
    for name, nets in inputs.items():
        waiting = alike.setdefault(nets, [])
        if waiting:
            del left[waiting.pop()], left[name]
            pairs += 1
        else:
            waiting.append(name)
    of_net: dict[int, list[str]] = {}
    for name in sorted(left, key=lambda name: -len(left[name])):
        for net in left[name]:
            of_net.setdefault(net, []).append(name)
    # The largest first: they have the fewest that fit.
    for name in sorted(left, key=lambda name: (-len(left[name]), name)):
        own = left.get(name)
        if own is None:
            continue
        best, most = "", 0
        for net in own:
            others = of_net[net] = [other for other in of_net[net] if other in left]
            for other in others[:_NEAR] + others[-_NEAR:]:
                shared = len(own & left[other])
                if other != name and shared > most and len(own | left[other]) <= _MOST:
                    best, most = other, shared
        if best:
            del left[name], left[best]
            pairs += 1
    return pairs
