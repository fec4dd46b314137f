"""The native module: data plane classes of src/rashpa, bound by src/bindings (nanobind). Only `rashpa.node` and `rashpa.data` import it.

All methods release the GIL while they wait. Errors are `NativeError` subclasses below; their text says what, where, why and what to try.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str

class NativeError(RuntimeError): ...
class ConfigError(NativeError): ...
class ResourceError(NativeError): ...
class FileError(NativeError): ...
class StateError(NativeError): ...

class Region:
    """Rectangle of a module's frame, pixels."""

    x: int
    y: int
    width: int
    height: int
    def __init__(self, x: int, y: int, width: int, height: int) -> None: ...

class Slice:
    """Every `every`-th frame, starting with frame `phase`."""

    every: int
    phase: int
    def __init__(self, every: int = 1, phase: int = 0) -> None: ...

class Placement:
    """Where a DTP's lines and records lie in the destination's registered memory; bytes, except slots and lines."""

    pixels_offset: int
    slot_bytes: int
    slots: int
    first_line_offset: int
    pitch: int
    line_bytes: int
    lines: int
    records_offset: int
    def __init__(self) -> None: ...

class Endpoint:
    """One end of one queue pair. `credit_offset`: of the two 64-bit credit words, in memory registered under `rkey` (source side)."""

    address: str
    port: int
    qpn: int
    rkey: int
    credit_offset: int
    window_bytes: int  # destination side: payload in flight that its socket has room for; 0: not said
    def __init__(
        self,
        address: str = "",
        port: int = 0,
        qpn: int = 0,
        rkey: int = 0,
        credit_offset: int = 0,
        window_bytes: int = 0,
    ) -> None: ...

class RoceOptions:
    """How packets are made and checked; both ends of a DTP must agree on transport, pmtu and packetisation."""

    transport: str  # "uc" | "rc" | "ud"
    pmtu: int  # 256, 512, 1024, 2048, 4096
    packetisation: str  # "only" | "first_middle_last"
    gso: bool
    gro: bool
    icrc: str  # "full" | "modulo_id" | "off": check on receive; always sent
    framing: str  # "v2" | "v1"
    window_bytes: int  # bytes in flight per DTP before news from the receiver is needed; 0: no window
    socket_buffer: int  # bytes asked of the kernel for each socket
    unit_bytes: int  # receiver: units in which lines are counted; 0: as our senders send, finer when a packet needs it
    records: bool  # receiver: events bring frame records
    def __init__(self) -> None: ...

class VerbsOptions:
    """How an RNIC is used; both ends of a DTP must agree on transport, pmtu and packetisation."""

    transport: str  # "uc" | "rc"
    pmtu: int  # 256, 512, 1024, 2048, 4096
    packetisation: str  # "only" | "first_middle_last"
    window_bytes: int  # bytes in flight per DTP towards a receiver that acknowledges them; 0: no window
    device: str  # "rxe0"; empty: the one that has the address
    verify: str  # "all" | "sampled" | "off": images whose CRC32C is compared
    def __init__(self) -> None: ...

class PcieOptions:
    """Memory that two processes of one machine share."""

    verify: str  # "all" | "sampled" | "off": images whose CRC32C is compared
    def __init__(self) -> None: ...

class Dataset:
    """Frames of all modules of a detector in memory; see dataset/dataset.hpp."""

    @property
    def modules(self) -> int: ...
    @property
    def frames(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    @property
    def pixel(self) -> str: ...  # NumPy name
    def frame(self, module: int, frame: int) -> NDArray[Any]: ...  # copy
    def flags(self, frame: int) -> int: ...

def memory_dataset(frames: NDArray[Any], flags: NDArray[np.uint32] | None = None) -> Dataset:
    """Copies `frames` [frame][module][row][column]; flags [frame], FrameRecord bits (1 dark, 2 laser)."""

def pattern_dataset(width: int, height: int, pixel: str, modules: int, frames: int) -> Dataset:
    """Every pixel is pattern_value; see dataset/pattern_dataset.hpp."""

def pattern_value(pixel: str, module: int, frame: int, row: int, column: int) -> int: ...
def raw_dataset(
    files: Sequence[Sequence[str]],  # [module][i]
    width: int = 0,  # 0: as the .npy file says
    height: int = 0,
    pixel: str = "uint16",
    format: str = "auto",  # auto | bin | zst | npy
    header_bytes: int = 0,
    flags: NDArray[np.uint32] | None = None,  # of the first frames; the others have none
) -> Dataset: ...

class JungfrauDataset(Dataset):
    """Synthetic raw frames; see dataset/jungfrau_simulator.hpp. All arrays are copies."""

    def pedestal(self, module: int) -> NDArray[np.float32]: ...  # [3][512][1024] ADU
    def gain(self, module: int) -> NDArray[np.float32]: ...  # [3][512][1024] ADU/keV
    def noise(self, module: int) -> NDArray[np.float32]: ...  # [512][1024] ADU in G0
    def mask(self, module: int) -> NDArray[np.uint32]: ...  # [512][1024] NXmx bits
    def kinds(self) -> NDArray[np.uint8]: ...  # of each frame: 0 dark, 1 blank, 2 hit
    def photons(self, module: int, frame: int) -> NDArray[np.uint16]: ...  # the truth, when kept

def jungfrau_dataset(
    *,
    modules: int,
    frames: int,
    seed: int,
    energy_kev: float,
    hit_fraction: float,
    dark_every: int,
    spots: int,
    background_photons: float,
    truth: bool = False,
    threads: int = 0,  # 0: one a processor
    places: Sequence[tuple[int, int]] = (),  # x, y of each module in the assembled image; none: without gaps
) -> JungfrauDataset: ...
def jungfrau_calibration(seed: int, module: int) -> dict[str, NDArray[Any]]:
    """pedestal, gain, noise and mask of a simulated module without its frames, as in JungfrauDataset."""

class FaultPlan:
    """What the emulator injects, seeded and logged. Probabilities are per packet (stall: per image of a DTP)."""

    seed: int
    drop: float
    duplicate: float
    reorder: float
    corrupt: float
    stall: float
    stall_us: int
    dead_modules: list[tuple[int, int]]  # (module, first frame that is not sent)
    def __init__(self) -> None: ...

class SourceDtp:
    id: int
    module: int
    region: Region
    slice: Slice
    images: int
    placement: Placement
    run: int
    destination: Endpoint
    def __init__(self) -> None: ...

class EmulatorConfig:
    dataset: Dataset
    dtps: list[SourceDtp]
    link: RoceOptions | VerbsOptions | PcieOptions
    destination_link: str  # of the receiver
    bind_address: str  # of the source sockets; "127.0.0.1"
    frames: int  # frame numbers 0 … frames-1
    rate_hz: float  # 0: as fast as flow allows
    flow: str  # "credits" | "paced"
    on_full: str  # "pause" | "skip"
    faults: FaultPlan
    first_processor: int  # -1: threads not pinned
    def __init__(self) -> None: ...

class DtpSourceStatus:
    """Of one DTP on the source side."""

    id: int
    images_sent: int
    images_skipped: int  # on_full = skip, no credit
    payload_bytes: int
    packets: int
    waits: int
    window_timeouts: int
    send_errors: int  # packets that were never sent, or that a connection in error has lost
    acks: int  # these five: reliable connections of user space
    naks: int
    rnr_naks: int
    retransmitted_packets: int
    retransmission_timeouts: int
    connection_errors: int  # 1: given up
    late_ns: int  # worst lag behind the planned rate
    cnps_received: int  # congestion notifications

class EmulatorStatus:
    state: str  # "configured" | "running" | "finished" | "stopped"
    dtps: list[DtpSourceStatus]
    elapsed_s: float

class Emulator:
    """Takes sockets and memory in the constructor; start() runs one thread per DTP."""

    def __init__(self, config: EmulatorConfig) -> None: ...
    def endpoints(self) -> list[Endpoint]: ...  # one per DTP, in order
    def start(self) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def stop(self) -> None: ...  # bounded; idempotent
    def wait(self, timeout_s: float) -> bool: ...  # True when all DTPs are done
    def status(self) -> EmulatorStatus: ...
    def injected(self) -> dict[str, int]: ...  # drop, duplicate, reorder, corrupt, stall, dead_images
    def fates(self, dtp: int) -> NDArray[np.uint8]: ...
    """Of each image of the DTP (position in the list), by the injector's log: 0 not sent yet, 1 complete, 2 partial, 3 missing."""

class DestinationDtp:
    id: int
    module: int
    x: int  # where the region's first pixel lies in the buffer's image
    y: int
    width: int  # pixels
    height: int
    def __init__(self, id: int, module: int, x: int, y: int, width: int, height: int) -> None: ...

class Calibration:
    """Maps in image layout of the buffer: pedestal and gain float32 [3][height][width] (ADU, ADU/keV), mask uint32 [height][width] (NXmx
    pixel_mask bits, not 0: no valid calibration)."""

    def __init__(self, pedestal: NDArray[np.float32], gain: NDArray[np.float32], mask: NDArray[np.uint32]) -> None: ...

class Kernel:
    """A kernel of the registry with its parameters, as kernels_json() declares them. ConfigError names the parameter that is wrong."""

    def __init__(
        self, name: str, parameters: dict[str, bool | int | float | str], calibration: Calibration | None = None
    ) -> None: ...
    @property
    def name(self) -> str: ...

def kernels_json() -> str: ...  # what schema/kernels.json holds

class NxmxModule:
    """Where one module lies in the assembled image, pixels."""

    name: str
    x: int
    y: int
    width: int
    height: int
    def __init__(self) -> None: ...

class NxmxDtp:
    """Where one DTP's region lies in the assembled image, pixels."""

    id: int
    module: int
    x: int
    y: int
    width: int
    height: int
    def __init__(self) -> None: ...

class NxmxCalibration:
    """A calibration file that went into the pixels."""

    kind: str  # "pedestal", "gain", "mask"
    file: str
    sha256: str
    def __init__(self) -> None: ...

class NxmxKernel:
    """A step of the pipeline, as it was used."""

    name: str
    parameters: list[tuple[str, str]]  # name, value as JSON
    veto_reasons: list[str]  # of its verdict; empty: it judges nothing
    def __init__(self) -> None: ...

class NxmxMetadata:
    """What a file says of the experiment; see src/rashpa/sink/nxmx_metadata.hpp for what an empty member means."""

    detector_name: str
    description: str
    instrument_name: str
    source_name: str
    sample_name: str
    start_time: str
    end_time_estimated: str
    wavelength_angstrom: float
    energy_kev: float
    distance_m: float
    beam_center_x: float
    beam_center_y: float
    pixel_size_m: float
    sensor_material: str
    sensor_thickness_m: float
    count_time_s: float
    frame_time_s: float
    bit_depth_readout: int
    saturation_value: float
    receiver: str
    software_version: str
    proof: str
    labels: list[str]
    @property
    def pixel_mask(self) -> list[int]: ...
    @pixel_mask.setter
    def pixel_mask(self, mask: NDArray[np.uint32]) -> None: ...
    modules: list[NxmxModule]
    dtps: list[NxmxDtp]
    calibration: list[NxmxCalibration]
    run_number: int
    run_name: str
    run_file: str
    run_file_sha256: str
    pixel_units: str
    kernels: list[NxmxKernel]
    def __init__(self) -> None: ...

class Hdf5Sink:
    """Sink `hdf5`: <prefix>_master.h5 and <prefix>_data_000001.h5 …; FileError when one of them exists."""

    def __init__(
        self,
        prefix: str,
        metadata: NxmxMetadata,
        images_per_file: int = 1000,
        threads: int = 1,
        existing: str = "refuse",  # "refuse" | "replace": older files stay until the run begins
    ) -> None: ...

class Repaired:
    """What became of a master that was not complete."""

    master: str
    was_complete: bool  # there was nothing to do
    books: Books
    unknown: int  # images of which nothing is known
    lost: int  # errored now: their data file does not hold them

def repair(prefix: str) -> Repaired: ...

"""Completes the master of a run whose process ended early, from its journal and data files. FileError when that cannot be."""

class NullSink:
    def __init__(self) -> None: ...

class MemorySink:
    """Keeps accepted images in memory (tests and previews), up to `capacity` images."""

    def __init__(self, capacity: int) -> None: ...

class SinkConfig:
    """A sink of a buffer, and how it is fed. "wait": stacks wait in their slots; "drop": `queue` stacks wait in memory of the sink's own."""

    def __init__(self, options: Hdf5Sink | NullSink | MemorySink, on_full: str = "wait", queue: int = 4) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def on_full(self) -> str: ...
    @property
    def queue(self) -> int: ...

class LogMessage:
    """Of native code (src/rashpa/core/log.hpp)."""

    @property
    def time(self) -> float: ...  # since 1970, UTC
    @property
    def level(self) -> str: ...  # "debug" | "info" | "warning" | "error"
    @property
    def text(self) -> str: ...
    @property
    def run(self) -> int | None: ...
    @property
    def buffer(self) -> str: ...
    @property
    def dtp(self) -> int | None: ...
    @property
    def frame(self) -> int | None: ...

def set_log_level(level: str) -> None: ...
def take_log() -> list[LogMessage]: ...
def log_to_file(path: str) -> None: ...  # 10 MB at most, two older ones besides
def note_in_log_file(level: str, text: str) -> None: ...
def sink_names() -> list[str]: ...

class SpecialValue:
    """A value of the detector's pixels that is no count. ConfigError when there is no such meaning."""

    def __init__(self, value: int, meaning: str) -> None: ...

class BufferConfig:
    name: str
    width: int
    height: int
    pixel: str
    special: list[SpecialValue]
    slots: int  # images in the ring; a multiple of stack, at least 2 stacks
    stack: int
    slice: Slice
    images: int  # expected in the run
    deadline_ms: int
    partial: str  # "keep" | "veto"
    keep_darks: bool
    dtps: list[DestinationDtp]
    kernels: list[Kernel]
    sinks: list[SinkConfig]  # at least one
    threads: int
    unit: str  # "cpu" | "cuda"
    trigger: str  # "auto" | "launch" | "graph" | "stream" | "persistent"
    device: int
    def __init__(self) -> None: ...

def available_units() -> list[tuple[str, bool, str]]: ...  # name, usable, which device or why not

class ReceiverConfig:
    buffers: list[BufferConfig]
    memory: str  # "pageable" | "huge": all buffers lie in one registered block
    link: RoceOptions | VerbsOptions | PcieOptions
    source_link: str  # of the emulator
    bind_address: str
    port: int  # 4791 unless told otherwise; 0: any free one; thread i of the link listens on port + i
    link_threads: int
    flow: str
    run: int
    poll: str  # "spin" | "event"
    first_processor: int
    def __init__(self) -> None: ...

class Books:
    expected: int
    complete: int
    partial: int
    missing: int
    accepted: int
    vetoed: int
    errored: int
    written: int
    @property
    def balanced(self) -> bool: ...

class Latency:
    """Microseconds."""

    count: int
    p50: float
    p99: float
    max: float

class DtpDestinationStatus:
    id: int
    module: int
    expected: int
    complete: int
    partial: int
    missing: int
    lines_missing: int
    losses: dict[str, int]  # lines, event, deadline, overrun, corrupt -> images

class SinkStatus:
    """accepted = written + dropped + errored + waiting."""

    name: str
    on_full: str
    accepted: int
    written: int
    dropped: int
    errored: int
    waiting: int
    bytes_written: int
    bytes_stored: int
    error: str
    first: tuple[int, int, str, str] | None  # index, frame number, reason, text

class BufferStatus:
    name: str
    books: Books
    vetoes: dict[str, int]  # reason -> images
    errors: dict[str, int]  # unit, overwritten, storage, dropped -> images
    first_errored: tuple[int, int, str, str] | None  # index, frame number, reason, text
    to_write: int  # images whose slots a sink holds, or the unit
    sinks: list[SinkStatus]
    dtps: list[DtpDestinationStatus]
    latency: dict[str, Latency]  # ready (last packet -> stack ready), decision, written
    sink_error: str
    unit: str  # how it works, in words
    unit_error: str
    bytes_written: int
    bytes_stored: int

class ReceiverStatus:
    state: str  # "configured" | "armed" | "running" | "finished" | "stopped"
    buffers: list[BufferStatus]
    link: dict[str, int]  # the members of link::ReceiverStats
    memory: str  # what the machine gave: "pageable" | "transparent-huge" | "huge", with "shared-" in front for pcie
    elapsed_s: float  # first packet to last decision
    first_incomplete: str  # "buffer full image 17 (frame 17): DTP 2 module 1 lost its event", empty when none

class Receiver:
    """Takes memory, sockets and output files in the constructor (all errors come there, before anything starts)."""

    def __init__(self, config: ReceiverConfig) -> None: ...
    def endpoints(self) -> list[Endpoint]: ...  # one per DTP: buffers in order, DTPs in order
    def placements(self) -> list[Placement]: ...  # likewise
    def arm(self, sources: Sequence[Endpoint]) -> None: ...  # likewise; who the DTPs come from, for credits
    def start(self) -> None: ...
    def finish(self) -> None: ...
    """Nothing more will be sent: images still open are closed when nothing has arrived for their deadline."""
    def stop(self) -> None: ...  # closes what is open at once as missing, drains the sinks; bounded; idempotent
    def wait(self, timeout_s: float) -> bool: ...  # True when every expected image is decided and written
    def status(self) -> ReceiverStatus: ...
    def completeness(self, buffer: int) -> NDArray[np.uint8]: ...  # per image: 0 open, 1 complete, 2 partial, 3 missing
    def decisions(self, buffer: int) -> NDArray[np.uint8]: ...  # per image: 0 none, 1 accepted, 2 vetoed, 3 errored
    def latest(self, buffer: int) -> NDArray[Any] | None: ...  # copy of a recent accepted image, for previews

def decode_packet(data: bytes, layer: str) -> dict[str, Any]: ...

"""Headers by name; numbers are int, addresses and payload bytes. `layer` "ethernet" | "ip" | "udp_payload". ConfigError on bad bytes."""

def encode_packet(fields: dict[str, Any], udp_checksum: bool = False) -> bytes: ...

"""The inverse; None and absent values are computed. ConfigError names the field that is wrong."""

def opcode_of(name: str) -> int | None: ...

"""The number of "UC_RDMA_WRITE_ONLY" and its like."""
