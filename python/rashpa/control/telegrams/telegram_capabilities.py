# SPDX-License-Identifier: Apache-2.0
"""The capabilities of a node: their telegram, its parts, and the question for it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A processing unit that the node has, or could have had: `what` is the device, or why it cannot be used."""

    name: str
    usable: bool
    what: str


@dataclass(frozen=True, kw_only=True)
class UnitDevice:
    """A device that unit `unit` can use, by its number and name. `memory_bytes` in all; `free_bytes` now, 0: unknown. `unified`: it is memory of the machine,
    and counted there."""

    unit: str
    number: int
    name: str
    memory_bytes: int
    free_bytes: int
    unified: bool


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link that the node has. `bytes_per_s` of payload that it takes or gives in all; 0: not known, not checked."""

    name: str
    bytes_per_s: int
    pmtus: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Interface:
    """A network interface of the machine, with its addresses; `device`: of RDMA, where it has one. `bits_per_s` each way; 0: not known, not checked."""

    name: str
    device: str
    bits_per_s: int
    addresses: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Throughput:
    """The measured rate of a pipeline on a unit of the node, without link and sinks: images a second of `width` × `height` pixels, the slowest of several
    rounds. `pipeline`: `throughput.fingerprint_of` of a buffer; `what`: in words; `date`: of the measurement."""

    pipeline: str
    what: str
    width: int
    height: int
    images_per_s: float
    date: str


@dataclass(frozen=True, kw_only=True)
class GetCapabilities:
    """Asks a node for its capabilities. `units`: those that it looks for, with their devices; none: all. Looking for a unit loads its driver."""

    units: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """The capabilities of a node. `memory_bytes` is free now; `max_dtps` is the largest number of DTPs; `throughputs` are of this hardware and software."""

    node: str
    role: str
    software: str
    processors: int
    memory_bytes: int
    max_dtps: int
    pixels: tuple[str, ...]
    kernels: tuple[str, ...]
    sinks: tuple[str, ...]
    links: tuple[Link, ...]
    units: tuple[Unit, ...] = ()
    interfaces: tuple[Interface, ...] = ()
    throughputs: tuple[Throughput, ...] = ()
    devices: tuple[UnitDevice, ...] = ()
