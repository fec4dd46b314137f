# SPDX-License-Identifier: Apache-2.0
"""Defines the tables of a run file that describe nodes: emulators, receivers, groups of receivers, and processes."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, field_validator

from rashpa.control.runfile.engine_keys import GroupKeys
from rashpa.control.runfile.key_types import MOST_MODULES, ModuleNumber, NodeName, Numa, Processor
from rashpa.control.runfile.links import LinkName
from rashpa.control.runfile.section import Section
from rashpa.control.runfile.token import checked_token
from rashpa.data.datasets.spec import PATH

NAME = r"^[A-Za-z0-9_.\-]{1,64}$"
NAMED = "name in buffers, messages and reports; unique among all nodes"
MacAddress = Annotated[str, Field(pattern=r"^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$")]


class Emulator(Section):
    """An emulator, which is one process: [emulator] describes the only one, named "emulator" by default, [[emulator]] each of several."""

    name: str = Field(pattern=NAME, description=NAMED)
    modules: list[ModuleNumber] | None = Field(
        default=None,
        min_length=1,
        max_length=MOST_MODULES,
        description="modules that it plays; when not given, its even share, in order, of those that no emulator names",
    )
    node: NodeName | None = Field(default=None, description='"local" or the URL of a running one; as nodes.emulator')
    address: str = Field(default="127.0.0.1", description="address from which it sends")
    device: str = Field(default="", description="verbs: name of the RNIC; empty for the one that has the address")
    processor: Processor = Field(default=-1, description="first processor for threads; -1: not pinned")
    numa: Numa = Field(
        default="auto",
        description="NUMA node of its frames and threads; auto: that of the GPU of engine cuda, or of its network card",
    )
    launch: list[Annotated[str, Field(min_length=1, max_length=256)]] = Field(
        default=[],
        max_length=32,
        description="words for `rashpa run --launcher slurm`, of this node alone: --nodelist=…, --gres=…",
    )
    engine: Literal["software", "fpga"] = Field(
        default="software",
        description="the player of the DTPs: threads of the emulator, or a card, up to 16 of them; address is then the card's",
    )
    card: Annotated[str, Field(min_length=1, max_length=1024)] | None = Field(
        default=None,
        json_schema_extra=PATH,
        description='fpga: "sim" for a simulated one that lasts as long as the run, or the directory of a card\'s nodes: /dev of a real one',
    )
    card_mac: MacAddress | None = Field(default=None, description="fpga, a card in a network: its MAC address")
    neighbours: dict[str, MacAddress] | None = Field(
        default=None,
        max_length=64,
        description="fpga, a card in a network: by IP address of a receiver, the MAC address of packets to it: its own, or the first router's",
    )


class Receiver(Section):
    """A receiver, which is one process: [receiver] describes the only one, named "receiver" by default, [[receiver]] each of several."""

    name: str = Field(pattern=NAME, description=NAMED)
    node: NodeName | None = Field(default=None, description='"local" or the URL of a running one; as nodes.receiver')
    address: str = Field(default="127.0.0.1", description="address at which it takes packets")
    port: int = Field(
        default=4791,
        ge=0,
        le=65535,
        description="UDP port: of the first receiving thread (roce, framing v2), of the detector's first port, which others follow (sls); 0: any free one",
    )
    threads: int = Field(default=1, ge=1, le=64, description="receiving threads")
    device: str = Field(default="", description="verbs: name of the RNIC; empty for the one that has the address")
    poll: Literal["spin", "event"] = Field(
        default="event", description="receiving threads look all the time, or sleep until something comes"
    )
    memory: Literal["pageable", "huge", "device"] = Field(
        default="huge",
        description="memory of its buffers; huge falls back to other pages. device: unit cuda's GPU, by roce, sls, verbs or pcie's engine cuda",
    )
    processor: Processor = Field(default=-1, description="first processor for threads; -1: not pinned")
    numa: Numa = Field(
        default="auto",
        description="NUMA node of its buffers and threads; auto: that of its first GPU, or of its network card",
    )
    launch: list[Annotated[str, Field(min_length=1, max_length=256)]] = Field(
        default=[],
        max_length=32,
        description="words for `rashpa run --launcher slurm`, of this node alone: --nodelist=…, --gres=…",
    )
    link: LinkName | None = Field(
        default=None, description="over which all emulators send to it, at both ends; as [link] says when not given"
    )


class OnlyEmulator(Emulator):
    """The emulator of a run file that lists none."""

    name: str = Field(default="emulator", pattern=NAME, description=NAMED)


class OnlyReceiver(Receiver):
    """The receiver of a run file that lists none."""

    name: str = Field(default="receiver", pattern=NAME, description=NAMED)


def _form(value: object) -> str:
    return "list" if isinstance(value, list) else "table"


Emulators = Annotated[
    Annotated[OnlyEmulator, Tag("table")] | Annotated[list[Emulator], Tag("list")], Discriminator(_form)
]
Receivers = Annotated[
    Annotated[OnlyReceiver, Tag("table")] | Annotated[list[Receiver], Tag("list")], Discriminator(_form)
]


class Group(GroupKeys):
    """Receivers among which the images of one buffer are dealt: each image goes to one of them, and images of a silent member are sent to others."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_\-]{0,31}$", description="name in buffers and reports")
    receivers: list[str] = Field(min_length=2, max_length=255, description="receivers that are members")
    replay_frames: int | None = Field(
        default=None,
        ge=1,
        le=2**32 - 1,
        description="frames behind the newest one that the source can send again. By default twice the members' rings, and the frames until a silent member is noticed; all of the run without detector.rate_hz",
    )


class Nodes(Section):
    """The processes that take part: "local" starts one for the run, a URL names one that is running."""

    emulator: NodeName = Field(default="local", description="node of emulators that do not name their own")
    receiver: NodeName = Field(default="local", description="node of receivers that do not name their own")
    token: str | None = Field(
        default=None,
        description="bearer token of nodes that are running; the environment's RASHPA_TOKEN when not given",
    )
    authority: str = Field(
        default="",
        description="certificate file that remote nodes are checked against, from the run file's folder; the system's when not given",
        json_schema_extra=PATH,
    )

    @field_validator("token")
    @classmethod
    def _no_blank_token(cls, token: str | None) -> str | None:
        return None if token is None else checked_token(token, "the token")
