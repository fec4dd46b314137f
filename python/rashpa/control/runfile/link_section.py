# SPDX-License-Identifier: Apache-2.0
"""The section `[link]` of a run file."""

from typing import Literal

from pydantic import Field

from rashpa.control.runfile.key_types import LinkName, Numa, Processor
from rashpa.control.runfile.section import Section


class Link(Section):
    """The transport of bytes from the emulators to the receivers."""

    kind: LinkName = Field(
        default="roce",
        description="of both sides: RoCE in user space, an RNIC (or the kernel's Soft-RoCE) by libibverbs, or memory that two processes "
        "of one machine share",
    )
    source: LinkName | None = Field(default=None, description="of the emulator, where it differs; pcie never does")
    destination: LinkName | None = Field(default=None, description="of the receiver, where it differs; pcie never does")
    pmtu: Literal[256, 512, 1024, 2048, 4096] = 4096
    packetisation: Literal["only", "first_middle_last"] = "only"
    flow: Literal["credits", "paced"] = "credits"
    on_full: Literal["pause", "skip"] = "pause"
    window_bytes: int = Field(
        default=1 << 20,
        ge=0,
        le=1 << 40,
        description="most bytes in flight per DTP before news is needed, less when many DTPs share a socket; 0: no window",
    )
    socket_buffer: int = Field(
        default=8 << 20, ge=4096, le=1 << 31, description="bytes asked of the kernel for each socket"
    )
    unit_bytes: int = Field(
        default=0,
        ge=0,
        le=1 << 20,
        description="roce, receiver: packets start and end on multiples of it, counted in a DTP's lines; 0: as our sender sends, and as "
        "little as 64 when a foreign one sends others",
    )
    records: bool = Field(
        default=True,
        description="roce, receiver: events bring frame records; false: a foreign source whose packets are all that comes, images are "
        "proven by their lines",
    )
    threads: int = Field(default=1, ge=1, le=64, description="receiving threads")
    port: int = Field(
        default=4791, ge=0, le=65535, description="UDP port of the first receiving thread; 0: any free one"
    )
    emulator_address: str = "127.0.0.1"
    receiver_address: str = "127.0.0.1"
    gso: bool = True
    gro: bool = True
    icrc: Literal["full", "modulo_id", "off"] = Field(
        default="modulo_id",
        description="roce: check on receive, always sent; full on IPv4 reads frames and needs CAP_NET_RAW, modulo_id is exact on IPv6; "
        "off: an image that lost lines is marked corrupt as a whole",
    )
    framing: Literal["v2", "v1"] = Field(
        default="v2",
        description="roce: v1 is ethertype 0x8915 on one Ethernet, needs CAP_NET_RAW and addresses like fe80::8ec:aff:fe01:203%eth0",
    )
    emulator_device: str = Field(default="", description="verbs: empty for the one that has emulator_address")
    receiver_device: str = Field(default="", description="verbs: empty for the one that has receiver_address")
    transport: Literal["uc", "rc", "ud"] = Field(
        default="uc",
        description="uc: losses stand in the books; rc: the link repairs them; ud: datagrams, both sides roce",
    )
    verify: Literal["all", "sampled", "off"] = Field(
        default="all", description="verbs and pcie: images whose CRC32C the receiver compares; sampled: one in 16"
    )
    engine: Literal["cpu", "cuda"] = Field(
        default="cpu",
        description="pcie, emulator: what moves the bytes: each DTP's thread, or a GPU in whose memory the frames lie",
    )
    engine_device: int = Field(default=0, ge=0, le=63, description="pcie, emulator: number of the GPU of engine cuda")
    poll: Literal["spin", "event"] = "event"
    memory: Literal["pageable", "huge", "device"] = Field(
        default="huge",
        description="of all buffers; huge falls back to what the machine gives; device: images in memory of the GPU of unit cuda, into which another "
        "GPU writes (kind pcie, engine cuda, verify off)",
    )
    emulator_processor: Processor = Field(default=-1, description="first processor for threads; -1: not pinned")
    receiver_processor: Processor = Field(default=-1, description="first processor for threads; -1: not pinned")
    emulator_numa: Numa = Field(
        default="auto",
        description="NUMA node of its frames and threads; auto: that of the GPU of engine cuda, or of its network card",
    )
    receiver_numa: Numa = Field(
        default="auto",
        description="NUMA node of its buffers and threads; auto: that of its first GPU, or of its network card",
    )

    @property
    def source_kind(self) -> str:
        """Return the emulator's link."""
        return self.source or self.kind

    @property
    def destination_kind(self) -> str:
        """Return the receiver's link."""
        return self.destination or self.kind
