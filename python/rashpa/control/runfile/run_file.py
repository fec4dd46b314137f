# SPDX-License-Identifier: Apache-2.0
"""The run file: the one configuration file of a run (TOML, schema/run.schema.json).

These models check every value on its own; `run_plan` checks what only makes sense together.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, Strict, field_validator, model_validator
from pydantic_core import PydanticKnownError

from rashpa.control.runfile.dataset_spec import DatasetSpec
from rashpa.control.runfile.kernels import Kernel
from rashpa.control.runfile.section import Section
from rashpa.control.runfile.sink_sections import Sink
from rashpa.control.runfile.token import checked_token
from rashpa.data.base.masking_names import MaskedName
from rashpa.data.datasets.calibration_spec import CalibrationSpec
from rashpa.data.datasets.spec import PATH
from rashpa.data.files.file_names import expanded
from rashpa.data.geometry.laboratory import Direction
from rashpa.data.geometry.orientation import Orientation, Turn

MOST_MODULES = 4096  # as src/rashpa/dataset/memory_dataset.hpp
ModuleNumber = Annotated[int, Field(ge=0, le=MOST_MODULES - 1)]
UNTIL_STOPPED = "until stopped"
MOST_FRAMES = 2**32  # of a run that nobody stops, src/rashpa/core/end.hpp
MOST_PATIENCE_S = 30 * 86400.0
Rectangle = Annotated[tuple[int, int, int, int], Strict(False)]  # x, y, width, height in pixels; TOML has lists
Position = Annotated[tuple[int, int], Strict(False)]  # x, y in pixels of the assembled image
PixelName = Literal["uint8", "uint16", "uint32", "int16", "int32", "float32"]
Meaning = Literal[
    "gap", "dead", "under_responding", "over_responding", "noisy", "cluster", "user", "saturated"
]  # as src/rashpa/core/image/special_value.hpp
Probability = Annotated[float, Field(ge=0.0, le=1.0)]
LinkName = Literal["roce", "verbs", "pcie"]
Processor = Annotated[int, Field(ge=-1, le=65535)]
Numa = Literal["auto", "off"] | Annotated[int, Field(ge=0, le=9999)]
NodeName = Annotated[str, Field(pattern=r"^(local|https?://.+)$")]
MacAddress = Annotated[str, Field(pattern=r"^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$")]


class Run(Section):
    """Describes the run, and where the results go."""

    name: str = Field(pattern=r"^[A-Za-z0-9_.\-]{1,64}$", description="prefix of the output files")
    frames: Annotated[int, Field(ge=1, le=2**40)] | Literal["until stopped"] = Field(
        description="frame numbers 0 … frames-1; until stopped: as many as come until an interrupt or duration_s ends the run"
    )
    duration_s: float | None = Field(
        default=None, gt=0.0, le=1e7, description="a run until stopped ends by itself after so long"
    )
    series_frames: int | None = Field(
        default=None,
        ge=1,
        le=2**31,
        description="a new series, with output files and books of its own, every so many frames",
    )
    number: int = Field(default=1, ge=0, le=2**32 - 1, description="run number, carried by every frame record")
    output: str = Field(
        default="out",
        description="folder of the output files, relative to where the receiver runs; ~ is the home of who runs it",
        json_schema_extra=PATH,
    )
    existing: Literal["refuse", "replace"] = Field(
        default="refuse", description="what becomes of output files of the same name"
    )
    orphaned: Literal["end", "finish"] = Field(
        default="end",
        description="what nodes do when the manager is gone: end the run in order, or go on to its last frame and keep the books for `rashpa attach`",
    )
    keep_books_s: float = Field(
        default=3600.0,
        ge=1.0,
        le=MOST_PATIENCE_S,
        description='orphaned = "finish": how long nodes keep the books of a run that they have finished on their own; then they are free',
    )
    on_overrun: Literal["count", "slow", "stop"] = Field(
        default="count",
        description="when images find no free slot, or sources skip them: count them; pause the sources, drain, and go on at a rate that fits; or stop",
    )
    instrument: str = ""
    source: str = ""
    sample: str = ""

    @field_validator("frames", mode="before")
    @classmethod
    def _one_complaint(cls, value: object) -> object:
        """Check the value first, since a union complains for each of its kinds."""
        if value == UNTIL_STOPPED:
            return value
        if not isinstance(value, int) or isinstance(value, bool):
            raise PydanticKnownError("int_type")
        if value < 1:
            raise PydanticKnownError("greater_than_equal", {"ge": 1})
        if value > 2**40:
            raise PydanticKnownError("less_than_equal", {"le": 2**40})
        return value

    @property
    def folder(self) -> Path:
        """Return `output` as a path on this machine."""
        return Path(expanded(self.output))

    @property
    def open_ended(self) -> bool:
        """Return True when the number of frames is unknown."""
        return self.frames == UNTIL_STOPPED

    @property
    def most_frames(self) -> int:
        """Return the number of frames, or its upper limit."""
        return MOST_FRAMES if isinstance(self.frames, str) else self.frames


class Module(Section):
    """A module, and its place in the assembled image, where it lies as its source turns it."""

    x: int = Field(ge=0, le=2**20, description="pixels")
    y: int = Field(ge=0, le=2**20, description="pixels")
    turn: Turn = Field(default=0, description="degrees clockwise by which the emulator turns its frames in memory …")
    flip: bool = Field(default=False, description="… and mirrors them left to right behind that")

    @property
    def orientation(self) -> Orientation:
        """Return turn and flip together."""
        return Orientation(self.turn, self.flip)


class SpecialValue(Section):
    """A value of a pixel that is no count. The pixels stay as they are; no kernel counts them, and the file describes them."""

    value: int = Field(
        ge=-(2**31),
        le=2**32 - 1,
        description="as the detector sends it; counts end below the smallest that is not negative, and what is negative is never one",
    )
    meaning: Meaning = Field(
        description="saturated: more counts than the pixel can tell; all others last, and become bits of the file's pixel_mask"
    )


class Detector(Section):
    """The detector: shape, rate and its description in files."""

    width: int = Field(ge=1, le=65536, description="pixels of a module")
    height: int = Field(ge=1, le=65536, description="pixels of a module")
    pixel: PixelName = "uint16"
    rate_hz: float = Field(default=0.0, ge=0.0, le=1e9, description="frames a second; 0: as fast as flow allows")
    trigger: Literal["internal", "software"] = Field(
        default="internal",
        description="what lets frames be taken; software: `rashpa trigger`, so many at rate_hz, and then none until the next",
    )
    name: str = "detector"
    description: str = ""
    count_time_s: float = Field(default=0.0, ge=0.0, description="exposure of a frame")
    distance_m: float = Field(default=0.1, gt=0.0)
    beam_center_x: float | None = Field(
        default=None, description="pixels of the assembled image; its middle when not given"
    )
    beam_center_y: float | None = Field(
        default=None, description="pixels of the assembled image; its middle when not given"
    )
    energy_kev: float = Field(default=12.4, gt=0.0, description="photon energy")
    pixel_size_m: float = Field(default=75e-6, gt=0.0)
    sensor_material: str = "Si"
    sensor_thickness_m: float = Field(default=320e-6, gt=0.0)
    calibration: CalibrationSpec | None = None
    special: list[SpecialValue] = Field(
        default=[], max_length=16, description="values that say gap, dead, saturated, …; of pixels that are photons"
    )
    masked: MaskedName = Field(
        default="delivered",
        description="which pixels hold no count: delivered, the maximum of unsigned types and what is negative; minimum, the least value of signed "
        "types alone, as converted photons have it, whose noise lies below zero",
    )
    geometry: str | None = Field(
        default=None,
        json_schema_extra=PATH,
        min_length=1,
        description="CrystFEL geometry (.geom) of images that are the modules one below the other: their places in whole pixels, their turns, and the beam, in place of "
        "[[detector.module]]",
    )
    image_fast: Direction | None = Field(
        default=None,
        description="how columns of the assembled image run in the laboratory (z along the beam, y up): -x, or as most modules of the geometry do",
    )
    image_slow: Direction | None = Field(
        default=None, description="how its rows run: -y, or as those of most modules of the geometry do"
    )
    module: list[Module] = Field(default=[Module(x=0, y=0)], min_length=1, max_length=MOST_MODULES)


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


class Emulator(Section):
    """An emulator among several, each a process of its own; a key that is not given is as [link] and [nodes] say. Without any there is one, named "emulator"."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9_.\-]{1,64}$", description="what messages and reports call it; unique among all nodes"
    )
    modules: list[ModuleNumber] | None = Field(
        default=None,
        min_length=1,
        max_length=MOST_MODULES,
        description="those that it plays; when not given, its even share, in order, of those that no emulator names",
    )
    node: NodeName | None = Field(default=None, description='"local" or the URL of a running one; as nodes.emulator')
    address: str | None = Field(default=None, description="as link.emulator_address")
    device: str | None = Field(default=None, description="verbs; as link.emulator_device")
    processor: Processor | None = Field(default=None, description="as link.emulator_processor")
    numa: Numa | None = Field(default=None, description="as link.emulator_numa")
    launch: list[Annotated[str, Field(min_length=1, max_length=256)]] = Field(
        default=[],
        max_length=32,
        description="words for `rashpa run --launcher slurm`, of this node alone: --nodelist=…, --gres=…",
    )
    engine: Literal["software", "fpga"] = Field(
        default="software",
        description="what plays the DTPs: threads of the emulator, or a card, up to 16 of them; address is then the card's",
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
        description="fpga, a card in a network: by IP address of a receiver, the MAC address that packets to it go to: its own, or the first router's",
    )


class Receiver(Section):
    """A receiver among several; a key that is not given is as [link] and [nodes] say. Without any there is one, named "receiver"."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9_.\-]{1,64}$",
        description="what buffers, messages and reports call it; unique among all nodes",
    )
    node: NodeName | None = Field(default=None, description='"local" or the URL of a running one; as nodes.receiver')
    address: str | None = Field(default=None, description="as link.receiver_address")
    port: int | None = Field(default=None, ge=0, le=65535, description="as link.port; roce, framing v2")
    threads: int | None = Field(default=None, ge=1, le=64, description="receiving threads; as link.threads")
    device: str | None = Field(default=None, description="verbs; as link.receiver_device")
    processor: Processor | None = Field(default=None, description="as link.receiver_processor")
    numa: Numa | None = Field(default=None, description="as link.receiver_numa")
    launch: list[Annotated[str, Field(min_length=1, max_length=256)]] = Field(
        default=[],
        max_length=32,
        description="words for `rashpa run --launcher slurm`, of this node alone: --nodelist=…, --gres=…",
    )
    link: LinkName | None = Field(
        default=None, description="over which all emulators send to it, at both ends; as [link] says when not given"
    )


class Group(Section):
    """Receivers among which the images of one buffer are dealt: each image goes to one of them, and images of a silent member are sent to others."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_\-]{0,31}$", description="what buffers and reports call it")
    receivers: list[str] = Field(min_length=2, max_length=255, description="its members")
    replay_frames: int | None = Field(
        default=None,
        ge=1,
        le=2**32 - 1,
        description="frames behind the newest one that the source can send again; when not given, twice what the members' rings hold and what comes until "
        "a silent member is noticed; all of the run without detector.rate_hz",
    )
    response_ms: int = Field(
        default=100,
        ge=1,
        le=600_000,
        description="a member that owes something and is silent for so long is given nothing more",
    )


class Dtp(Section):
    """A data transfer process that is placed by hand."""

    module: ModuleNumber
    region: Rectangle = Field(description="x, y, width, height in pixels of the module as it is turned")
    place: Position = Field(description="x, y in pixels of the buffer's image")


class Feedback(Section):
    """The decision on each image, published at once for programs that steer the experiment: in a ring that programs of the receiver's machine read, by
    ZeroMQ, or both."""

    ring: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}$",
        description="name of the ring, /dev/shm/rashpa.<name> where the receiver's --feedback names no other folder",
    )
    zmq: str | None = Field(
        default=None,
        pattern=r"^tcp://(\d{1,3}(\.\d{1,3}){3}|\[[0-9A-Fa-f:]{2,39}\]):\d{1,5}$",
        description="where a PUB socket listens, port 0: any free one; other than loopback as the receiver's --publish allows. Nothing is encrypted",
    )
    images: int = Field(
        default=4096,
        ge=2,
        le=1 << 20,
        description="images in the ring: how far a reader may be behind before it loses some",
    )

    @model_validator(mode="after")
    def _somewhere(self) -> "Feedback":
        if self.ring is None and self.zmq is None:
            raise ValueError("feedback goes nowhere: name a ring, a zmq endpoint, or both")
        return self


class Buffer(Section):
    """A RASHPA buffer: the pixels and frames that go there, and their processing."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_\-]{0,31}$")
    receiver: str | None = Field(default=None, description="where it lies; the first receiver when not given")
    group: str | None = Field(
        default=None, description="in place of receiver: there is one at each member, and images are dealt among them"
    )
    region: Rectangle | None = Field(
        default=None, description="x, y, width, height in the assembled image; all of it when not given"
    )
    bands: int = Field(default=1, ge=1, le=255, description="DTPs a module, one above the other")
    dtp: list[Dtp] = Field(default=[], description="DTPs by hand, in place of region and bands")
    every: int = Field(default=1, ge=1, le=2**32 - 1, description="takes every n-th frame …")
    phase: int = Field(default=0, ge=0, le=2**32 - 1, description="… beginning with this one")
    slots: int = Field(
        default=40, ge=2, le=1 << 20, description="images in the ring; a multiple of stack, at least 2 stacks"
    )
    stack: int = Field(default=10, ge=1, le=1 << 16, description="images processed as a whole")
    deadline_ms: int = Field(
        default=1000,
        ge=1,
        le=600_000,
        description="an image of which some is missing is given up so long after it was sent, or part of it, or one after it",
    )
    partial: Literal["keep", "veto"] = "keep"
    keep_darks: bool = False
    threads: int = Field(default=1, ge=1, le=256, description="of the unit cpu")
    unit: Literal["cpu", "cuda", "opencl", "fpga"] = Field(default="cpu", description="what runs the kernels")
    trigger: Literal["auto", "launch", "graph", "stream", "persistent"] = Field(
        default="auto", description="cuda: how a stack is started; auto: the fastest that fits"
    )
    device: Annotated[int, Field(ge=0, le=255)] | Annotated[str, Field(pattern=r"^[ -~]{1,64}$")] = Field(
        default=0, description="cuda, opencl: number of the device; opencl: or a part of its name, whatever the case"
    )
    devices: list[Annotated[int, Field(ge=0, le=255)]] = Field(
        default=[],
        max_length=16,
        description="in place of device: numbers of several, which share the work",
    )
    share: Literal["stacks", "rows"] = Field(
        default="stacks",
        description="of several devices: each stack goes to the one with the least to do; rows: each has a strip of every image, for images that one device cannot take in time (cuda)",
    )
    card: Annotated[str, Field(min_length=1, max_length=256)] | None = Field(
        default=None,
        json_schema_extra=PATH,
        description='fpga, in place of device: "sim" for a simulated card that lasts as long as the run, or the directory of a card\'s nodes: /dev of a real one',
    )
    kernel: list[Kernel] = Field(default=[], max_length=64)
    feedback: Feedback | None = Field(default=None, description="none: nothing is published")
    sink: list[Sink] = Field(
        min_length=1,
        max_length=6,
        description='where accepted images go, at least one; [[buffer.sink]] with kind = "null" counts them and stores nothing',
    )

    @property
    def device_names(self) -> tuple[str, ...]:
        """Return the names of the unit's devices, one or several."""
        return tuple(map(str, self.devices)) or (str(self.device),)

    @property
    def splits_images(self) -> bool:
        """Return True when each of its devices has a strip of every image."""
        return self.share == "rows" and len(self.devices) > 1


class DeadModule(Section):
    """A module that sends nothing from frame `from_frame` on."""

    module: ModuleNumber
    from_frame: int = Field(ge=0, le=2**40)


class Faults(Section):
    """Faults that the emulator injects; probabilities per packet, `stall` per image of a DTP."""

    seed: int = Field(default=1, ge=0, le=2**64 - 1)
    drop: Probability = 0.0
    duplicate: Probability = 0.0
    reorder: Probability = 0.0
    corrupt: Probability = 0.0
    stall: Probability = 0.0
    stall_us: int = Field(default=1000, ge=0, le=60_000_000)
    dead_modules: list[DeadModule] = Field(default=[])


class Nodes(Section):
    """The processes that take part: "local" starts one for the run, a URL names one that is running."""

    emulator: NodeName = Field(default="local", description="of emulators that do not name their own")
    receiver: NodeName = Field(default="local", description="of receivers that do not name their own")
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


class RunFile(Section):
    """A run file of rashpa."""

    run: Run
    detector: Detector
    dataset: DatasetSpec
    link: Link = Link()
    emulator: list[Emulator] = Field(default=[])
    receiver: list[Receiver] = Field(default=[])
    group: list[Group] = Field(default=[], max_length=64)
    buffer: list[Buffer] = Field(min_length=1)
    faults: Faults = Faults()
    nodes: Nodes = Nodes()
