# SPDX-License-Identifier: Apache-2.0
"""Defines the telegram of a node's capabilities, its parts, and the telegram that asks for it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Unit:
    """Describes a processing unit that the node has, or lacks. `what`: its device, or the reason why it cannot be used."""

    name: str
    usable: bool
    what: str


@dataclass(frozen=True, kw_only=True)
class UnitDevice:
    """Describes a device of unit `unit`, by number and name. `memory_bytes`: all of its memory; `free_bytes`: its free memory now, 0 when unknown.
    `unified`: it uses memory of the machine, and counts there. `bar1_bytes`: the window through which an RNIC reaches its memory, and the free part of
    it; 0 when unknown. `remote_writes`: its attributes for writes of an RNIC; `remote_refusal`: the reason why an RNIC cannot write there."""

    unit: str
    number: int
    name: str
    memory_bytes: int
    free_bytes: int
    unified: bool
    bar1_bytes: int = 0
    bar1_free_bytes: int = 0
    remote_writes: str = ""
    remote_refusal: str = ""


@dataclass(frozen=True, kw_only=True)
class Link:
    """Describes a link of the node. `bytes_per_s`: the payload rate that it can send or receive in all; 0 when unknown, then it is not checked."""

    name: str
    bytes_per_s: int
    pmtus: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Interface:
    """Describes a network interface of the machine, with its addresses. `device`: its RDMA device, if any; `bits_per_s`: its rate in each direction,
    0 when unknown; then it is not checked."""

    name: str
    device: str
    bits_per_s: int
    addresses: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Throughput:
    """Holds the measured rate of a pipeline on a unit of the node, without link and sinks: images/s of `width` × `height` pixels, the slowest of
    several rounds. `pipeline`: `throughput.fingerprint_of` of a buffer; `what`: a description; `date`: the date of the measurement."""

    pipeline: str
    what: str
    width: int
    height: int
    images_per_s: float
    date: str


@dataclass(frozen=True, kw_only=True)
class GetCapabilities:
    """Asks a node for its capabilities. `units`: the units to examine with their devices; empty for all. Examining a unit loads its driver."""

    units: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """Holds the capabilities of a node. `memory_bytes`: free memory now; `max_dtps`: the largest number of DTPs; `throughputs`: figures for this
    hardware and software."""

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
