# SPDX-License-Identifier: Apache-2.0
"""Describes the ports of SLS detectors, as src/rashpa/link/sls/port_shape.hpp does: the pixels that each UDP port sends, and the DTPs that must
receive them."""

import ipaddress
import platform
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile.dataset_spec import PatternSpec
from rashpa.control.runfile.links import ONE_WAY
from rashpa.control.runfile.pipeline import PIXEL_BYTES
from rashpa.control.runfile.run_file_reader import RunFileSource

if TYPE_CHECKING:
    from rashpa.control.plan.model import PlannedBuffer
    from rashpa.control.plan.receivers import PlannedReceiver

HEADER_BYTES = 48
_MODULES = {"jungfrau": (1024, 512, 4), "moench": (400, 400, 8)}
"""Width, rows and rows a packet, of pixels of 16 bits."""
_EIGER = (512, 256)
_AF_XDP, _IPV4, _KERNEL = 44, 4, (6, 6)
_RIGHTS = {"CAP_NET_ADMIN": (12,), "CAP_BPF": (39, 21)}
"""Bits of the rights beside CAP_NET_RAW, which opening the socket shows; CAP_SYS_ADMIN, bit 21, includes CAP_BPF."""


@dataclass(frozen=True)
class Port:
    """Describes the image of one UDP port. `row_bytes`: bytes of a row in the image; `payload`: bytes of a packet, as they are in the image."""

    width: int
    rows: int
    row_bytes: int
    payload: int

    @property
    def packets(self) -> int:
        return self.rows * self.row_bytes // self.payload


def port_of(table: Any) -> Port:
    """Return the port that the table [link.sls] describes."""
    if table.detector == "eiger":
        width, rows = _EIGER
        bits = 8 if table.bits == 4 else table.bits
        payload = (4096 if table.gigabits == 10 else 1024) * (2 if table.bits == 4 else 1)
        return Port(width, table.read_rows or rows, width * bits // 8, payload)
    width, rows, at_once = _MODULES[table.detector]
    return Port(width, (table.read_rows or rows) // table.interfaces, width * 2, at_once * width * 2)


def sls_problems(
    file: toml.RunFile,
    receivers: Sequence["PlannedReceiver"],
    buffers: Mapping[str, Sequence["PlannedBuffer"]],
    source: RunFileSource,
) -> Iterator[str]:
    """Yield the faults of receivers with this link, and of detectors that need it. `buffers`: the buffers of each receiver."""
    foreign = file.detector.control is not None
    if foreign:
        yield from _foreign_problems(file, source)
    for receiver in receivers:
        if "sls" not in (receiver.source_kind, receiver.destination_kind):
            if foreign and receiver.destination_kind not in ONE_WAY:
                yield from _writer_problems(file, receiver, source)
            continue
        where = source.where(("link", "kind"))
        if receiver.source_kind != receiver.destination_kind:
            yield f'{where}: sls is a format of its own; both ends are "sls", or neither'
            continue
        if file.link.of("sls").engine == "xdp":
            yield from _xdp_problems(receiver, source)
        own = buffers[receiver.name]
        if len(own) > 1:
            names = ", ".join(buffer.section.name for buffer in own)
            yield f"{source.where(('buffer',))}: {names} at {receiver.label}; a detector sends each pixel once: one buffer a receiver"
        if file.link.flow != "paced":
            yield f'{source.where(("link", "flow"))}: nothing goes back to a detector that speaks SLS; "paced", or leave it out'
        for buffer in own[:1]:
            yield from _shape_problems(file, receiver, buffer, source)


def _foreign_problems(file: toml.RunFile, source: RunFileSource) -> Iterator[str]:
    """Yield a line for each key that belongs to an emulator, when the detector sends by itself."""
    if file.dataset != PatternSpec(kind="pattern"):
        yield f"{source.where(('dataset',))}: nothing is played beside [detector.control]; take one of them out"
    if file.faults != toml.Faults():
        yield f"{source.where(('faults',))}: faults are made by emulators, and [detector.control] has none; take one of them out"
    if file.detector.trigger != "internal":
        yield f"{source.where(('detector', 'trigger'))}: {file.detector.trigger}; the detector of [detector.control] is triggered by others"
    for number, module in enumerate(file.detector.module):
        if not module.orientation.upright:
            where = source.where(("detector", "module", number))
            yield f"{where}: a detector does not turn its frames in memory; take turn and flip out (rows are flipped by link.sls.flip)"


def _writer_problems(file: toml.RunFile, receiver: "PlannedReceiver", source: RunFileSource) -> Iterator[str]:
    """Yield the faults of a detector of another maker that sends by RoCEv2 itself: a sensor bridge, an FPGA, an RNIC."""
    control, link = file.detector.control, file.link
    where = source.where(("link", "kind"))
    if control is None or (receiver.source_kind, receiver.destination_kind) != ("roce", "roce"):
        yield f'{where}: {receiver.label} has {receiver.destination_kind}; a detector with [detector.control] sends as "sls", "stream2" or "roce" does'
        return
    if link.of("roce").transport != "uc":
        yield f"{source.where(('link', 'roce', 'transport'))}: a detector with [detector.control] writes without a connection; use uc"
    if link.flow != "paced":
        yield f'{source.where(("link", "flow"))}: no credits go back to a detector with [detector.control]; use "paced"'
    if control.kind != "command":
        yield (
            f'{source.where(("detector", "control", "kind"))}: {control.kind}; a detector with roce must learn keys and places of each run: use "command"'
        )
    try:
        ipaddress.ip_address(control.address)
    except ValueError:
        said = f'"{control.address}" is no IP address' if control.address else "it is missing"
        yield f"{source.where(('detector', 'control', 'address'))}: {said}; give that of the detector"


def xdp_lacking() -> str:
    """Return the reason for which this process cannot use AF_XDP, empty when none is found."""
    try:
        socket.socket(_AF_XDP, socket.SOCK_RAW).close()
    except OSError as error:
        return error.strerror or str(error)
    return rights_lacking(Path("/proc/self/status").read_text(encoding="utf-8"), platform.release())


def rights_lacking(status: str, release: str) -> str:
    """Return the rights or the kernel that AF_XDP lacks. `status`: the content of /proc/self/status; `release`: that of the kernel."""
    version = tuple(map(int, re.findall(r"\d+", release)[:2]))
    if version < _KERNEL:
        return f"this is Linux {release}"
    found = re.search(r"^CapEff:\s*([0-9a-fA-F]+)", status, re.MULTILINE)
    rights = int(found[1], 16) if found else 0
    lacking = [name for name, bits in _RIGHTS.items() if not any(rights >> bit & 1 for bit in bits)]
    return f"no {' and '.join(lacking)} here" if lacking else ""


def _xdp_problems(receiver: "PlannedReceiver", source: RunFileSource) -> Iterator[str]:
    """Yield the reasons for which a receiver cannot have the engine xdp: its address, and for a node on this machine what this process lacks."""
    where = source.where(("link", "sls", "engine"))
    try:
        address = ipaddress.ip_address(receiver.address)
    except ValueError:
        return  # refused elsewhere
    if address.version != _IPV4 or address.is_unspecified:
        yield f'{where}: xdp reads one interface by its IPv4 address, and {receiver.label} has {address}; give it that address, or use "socket"'
    elif not receiver.machine and (lacking := xdp_lacking()):
        yield (
            f"{where}: xdp needs CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF, and Linux 6.6, at {receiver.label}: {lacking}; run its node as root, or use "
            '"socket"'
        )


def _shape_problems(
    file: toml.RunFile, receiver: "PlannedReceiver", buffer: "PlannedBuffer", source: RunFileSource
) -> Iterator[str]:
    port = port_of(file.link.of("sls"))
    pixel = PIXEL_BYTES[file.detector.pixel]
    sizes = {(dtp.region.width * pixel, dtp.region.height) for dtp in buffer.dtps}
    fits = len(sizes) == 1 and all(port.row_bytes % width == 0 and port.rows % rows == 0 for width, rows in sizes)
    tiles = port.row_bytes * port.rows // max(next(iter(sizes))[0] * next(iter(sizes))[1], 1)
    if not fits:
        yield (
            f"{source.where(('detector', 'width'))}: a UDP port brings {port.rows} rows of {port.row_bytes} bytes ({port.width} pixels), and the DTPs of "
            f"{buffer.section.name} have {' and '.join(f'{rows} rows of {width} bytes' for width, rows in sorted(sizes))}; list each port (or each chip of "
            "256 x 256 pixels) as a [[detector.module]], with pixels as link.sls.bits says, and take all of them"
        )
    elif len(buffer.dtps) % tiles:
        yield f"{source.where(('detector', 'module'))}: {len(buffer.dtps)} DTPs are no whole ports of {tiles} each; list all parts of each port"
    elif receiver.threads > len(buffer.dtps) // tiles:
        yield (
            f"{source.where(receiver.key('threads'))}: {receiver.threads} threads for {len(buffer.dtps) // tiles} UDP ports at {receiver.label}; a port is "
            "read by one thread"
        )
