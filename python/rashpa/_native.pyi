# SPDX-License-Identifier: Apache-2.0
"""The native module: data plane classes of src/rashpa, bound by src/bindings (nanobind). Only `rashpa.node` and `rashpa.data` import it.

tools/make_native_stub.py brings it up to date with the binding, and python/tests/test_native_stub.py holds it against the module. All methods release the GIL while they wait. Errors are `NativeError` subclasses below; their text says what, where, why and what to try.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__version__: str

def components() -> list[tuple[str, bool, str, str]]: ...  # name, built, what it adds, what its build needs

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

class Orientation:
    """How a module lies in the image: turned clockwise by degrees, and then, if flipped, mirrored left to right."""

    turn: int
    flip: bool
    def __init__(self, turn: int = 0, flip: bool = False) -> None: ...

class Slice:
    """Every `every`-th frame, starting with frame `phase`."""

    every: int
    phase: int
    def __init__(self, every: int = 1, phase: int = 0) -> None: ...

class Placement:
    """Where a DTP's lines and records lie in the destination's registered memory; bytes, except slots, lines and event_lines."""

    pixels_offset: int
    slot_bytes: int
    slots: int
    first_line_offset: int
    pitch: int
    line_bytes: int
    lines: int
    records_offset: int
    event_lines: int
    def __init__(self) -> None: ...

class Endpoint:
    """One end of one queue pair. `credit_offset`: of the two 64-bit credit words, in memory registered under `rkey` (source side)."""

    address: str
    port: int
    qpn: int
    rkey: int
    credit_offset: int
    window_bytes: int  # destination side: payload in flight that its socket has room for; 0: not said
    psn: int  # of the first packet that this end sends
    def __init__(
        self,
        address: str = "",
        port: int = 0,
        qpn: int = 0,
        rkey: int = 0,
        credit_offset: int = 0,
        window_bytes: int = 0,
        psn: int = 0,
        records_rkey: int = 0,
        word_offset: int = 0,
    ) -> None: ...
    records_rkey: int
    word_offset: int

class LinkOptions:
    """A link with what is chosen of it, by the names of links_json(). ConfigError names the link and the key."""

    def __init__(self, kind: str, values: dict[str, bool | int | float | str]) -> None: ...
    @property
    def kind(self) -> str: ...
    @property
    def gpu(self) -> int: ...  # of CUDA, that moves a sender's bytes; -1: none

def links_json() -> str: ...  # what schema/links.json holds

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

class MemoryDataset(Dataset):
    """Of black frames, until they are filled: before it is played. ResourceError when memory is short."""

    def __init__(self, width: int, height: int, pixel: str, modules: int, frames: int) -> None: ...
    def fill(self, module: int, first: int, frames: NDArray[Any]) -> None:
        """Frames [frame][row][column] of a module, from frame `first` on. ConfigError when they are others."""

    def set_flags(self, frame: int, flags: int) -> None: ...

def memory_dataset(frames: NDArray[Any], flags: NDArray[np.uint32] | None = None) -> Dataset:
    """Copies `frames` [frame][module][row][column]; flags [frame], FrameRecord bits (1 dark, 2 laser)."""

def pattern_dataset(width: int, height: int, pixel: str, modules: int, frames: int) -> Dataset:
    """Every pixel is pattern_value; see dataset/pattern_dataset.hpp."""

def pattern_value(pixel: str, module: int, frame: int, row: int, column: int) -> int: ...

class Making:
    """How far a dataset is that is made or read on another thread."""

    def __init__(self) -> None: ...
    @property
    def share(self) -> float: ...  # 0 … 1

def raw_dataset(
    files: Sequence[Sequence[str]],  # [module][i]
    width: int = 0,  # 0: as the .npy file says
    height: int = 0,
    pixel: str = "uint16",
    format: str = "auto",  # auto | bin | zst | npy
    header_bytes: int = 0,
    flags: NDArray[np.uint32] | None = None,  # of the first frames; the others have none
    making: Making | None = None,
) -> Dataset: ...

class JungfrauDataset(Dataset):
    """Synthetic raw frames; see dataset/jungfrau/jungfrau_simulator.hpp. All arrays are copies."""

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
    orientations: Sequence[Orientation] = (),  # of each module; none: all are upright
    making: Making | None = None,
) -> JungfrauDataset: ...
def jungfrau_calibration(seed: int, module: int) -> dict[str, NDArray[Any]]:
    """pedestal, gain, noise and mask of a simulated module without its frames, as in JungfrauDataset."""

class FaultPlan:
    """What the emulator injects, seeded and logged. Probabilities are per packet (stall: per image of a DTP)."""

    seed: int
    dead_modules: list[tuple[int, int]]  # (module, first frame that is not sent)
    def __init__(self, values: dict[str, bool | int | float | str]) -> None: ...

class SourceDtp:
    id: int
    module: int
    region: Region
    slice: Slice
    images: int
    placement: Placement
    run: int
    orientation: Orientation
    destination: Endpoint
    def __init__(self) -> None: ...
    def set_link(self, link: LinkOptions, destination_link: str) -> None: ...  # in place of EmulatorConfig's
    reduction: Reduction

class CardConfig:
    """A card that plays the DTPs, and what it cannot find out by itself."""

    directory: str  # of its nodes
    mac: str  # "02:00:00:00:00:01"; a simulated one needs none
    neighbours: dict[str, str]  # IP address of a receiver: the MAC address that packets to it go to
    def __init__(self) -> None: ...

class GroupMember:
    """A receiver of a group: the stack of its buffer, and the ids of the DTPs that bring it an image."""

    name: str
    stack: int
    dtps: list[int]
    def __init__(self) -> None: ...

class Group:
    """Receivers among which images are dealt."""

    name: str
    replay_frames: int
    members: list[GroupMember]
    def __init__(self, values: dict[str, bool | int | float | str]) -> None: ...

class MemberStatus:
    name: Final[str]
    state: Final[str]  # "fed" | "late" | "held" | "ejected" | "broken"
    dealt: Final[int]  # images given to it
    done: Final[int]  # that its credits say it needs no more
    taken: Final[int]  # taken from it, to be dealt again
    resent: Final[int]  # given to it that another had before
    duplicates: Final[int]  # that it was done with after another
    lates: Final[int]  # how often it was late
    response_ns: Final[int]  # of a stack
    silent_ns: Final[int]  # how long it had been silent when it was last found late
    given_ago_ns: Final[int]  # since it was given an image; 0: it has none

class GroupStatus:
    members: Final[list[MemberStatus]]
    fresh: Final[int]  # images of the slice that have been due
    waiting: Final[int]  # that are to be dealt again
    resent: Final[int]
    duplicates: Final[int]
    lost: Final[int]  # that had left the window
    skipped: Final[int]  # due while nobody had a free slot
    settled: Final[bool]
    error: Final[str]

class EmulatorConfig:
    dataset: Dataset
    dtps: list[SourceDtp]
    groups: list[Group]  # whose DTPs bring what they are dealt; all others bring every image
    link: LinkOptions
    destination_link: str  # of the receiver
    bind_address: str  # of the source sockets; "127.0.0.1"
    frames: int  # frame numbers 0 … frames-1, or at most these
    end: str  # "known" | "told": by Emulator.end_at
    trigger: str  # "internal" | "software": by Emulator.trigger
    rate_hz: float  # 0: as fast as flow allows
    def set_times(
        self, due_ns: Sequence[int], period_ns: int
    ) -> None: ...  # of the dataset's frames, from the first on
    flow: str  # "credits" | "paced"
    on_full: str  # "pause" | "skip"
    faults: FaultPlan
    first_processor: int  # -1: threads not pinned
    card: CardConfig | None  # that plays the DTPs; None: threads do
    def __init__(self) -> None: ...
    run: RunKeys

class DtpSourceStatus:
    """Of one DTP on the source side."""

    id: Final[int]
    images_sent: Final[int]
    images_skipped: Final[int]  # on_full = skip, no credit
    images_due: Final[int]  # sent, skipped or withheld
    part_events: Final[int]  # of parts that are not the last of their image
    payload_bytes: Final[int]
    packets: Final[int]
    waits: Final[int]
    window_timeouts: Final[int]
    send_errors: Final[int]  # packets that were never sent, or that a connection in error has lost
    acks: Final[int]  # these five: reliable connections of user space
    naks: Final[int]
    rnr_naks: Final[int]
    retransmitted_packets: Final[int]
    retransmission_timeouts: Final[int]
    connection_errors: Final[int]  # 1: given up
    late_ns: Final[int]  # worst lag behind the planned rate
    cnps_received: Final[int]  # congestion notifications
    credits_refused: Final[int]  # packets that came to the place of its credits and were none, words that cannot be

class EmulatorStatus:
    state: Final[str]  # "configured" | "running" | "finished" | "stopped"
    dtps: Final[list[DtpSourceStatus]]
    elapsed_s: Final[float]
    triggers: Final[dict[str, int]]  # accepted, refused, and frames that they have let through
    card: Final[dict[str, int]]  # what a card has counted; "clock_khz" 0: a simulated one
    error: Final[str]  # why it ended before its time

class Emulator:
    """Takes sockets, memory and the card in the constructor; start() runs one thread per DTP, or lets the card play."""

    def __init__(self, config: EmulatorConfig) -> None: ...
    def endpoints(self) -> list[Endpoint]: ...  # one per DTP, in order
    def start(self) -> None: ...
    def pause(self, frame: int = 0) -> None: ...  # before that frame, or the first that nothing has begun
    def resume(self, rate_hz: float = 0.0) -> None: ...  # with another rate than before; 0: the same
    def trigger(self, frames: int) -> None: ...  # lets so many more frames be taken; StateError while it is busy
    def begun(self) -> int: ...  # while paused: frames up to the latest that a DTP has begun
    def end_at(self, frames: int) -> None: ...  # a paused run ends after `frames` frames: it goes on until there
    def stop(self) -> None: ...  # bounded; idempotent
    def wait(self, timeout_s: float) -> bool: ...  # True when all DTPs are done
    def status(self) -> EmulatorStatus: ...
    def injected(self) -> dict[str, int]: ...  # drop, duplicate, reorder, corrupt, stall, dead_images
    def groups(self) -> list[GroupStatus]: ...  # in order
    def join(self, group: str, member: GroupMember, dtps: Sequence[SourceDtp]) -> list[Endpoint]: ...
    """One more member, which is held; its DTPs stand behind all others."""
    def eject(self, group: str, member: str, image: int) -> None: ...  # what it has from `image` on is dealt again
    def feed(self, group: str, member: str, fed: bool) -> None: ...  # whether it is to be given images
    def dealt(self, group: str, member: str) -> NDArray[np.uint64]: ...  # the frames that it was given, in order
    def fates(self, dtp: int) -> NDArray[np.uint8]: ...
    """Of each image of the DTP (position in the list), by the injector's log: 0 not sent yet, 1 complete, 2 partial, 3 missing."""

class DestinationDtp:
    """`x`, `y`: where the region's first pixel lies in the buffer's image; all in pixels."""

    def __init__(self, id: int, module: int, x: int, y: int, width: int, height: int) -> None: ...

class Calibration:
    """Maps in image layout of the buffer: pedestal and gain float32 [3][height][width] (ADU, ADU/keV), mask uint32 [height][width] (NXmx
    pixel_mask bits, not 0: no valid calibration), rms of the pedestal of G0 float32 [1][height][width]. parts: which part of a module lies where:
    module, x, y, width, height in the module, x, y in the image. cells: of storage cells, pedestal is [3 · cells][height][width], gain that or [3],
    rms [cells] or [1]."""

    def __init__(
        self,
        pedestal: NDArray[np.float32],
        gain: NDArray[np.float32],
        mask: NDArray[np.uint32],
        rms: NDArray[np.float32] | None = None,
        module_width: int = 0,
        module_height: int = 0,
        parts: Sequence[tuple[int, int, int, int, int, int, int]] = [],
        cells: Sequence[int] = [],
    ) -> None: ...

class Kernel:
    """A kernel of the registry with its parameters and `arrays`, its inputs by name, as kernels_json() declares them. ConfigError names the
    parameter or array that is wrong. Arrays are copied."""

    def __init__(
        self,
        name: str,
        parameters: dict[str, bool | int | float | str],
        calibration: Calibration | None = None,
        arrays: dict[str, NDArray[Any]] | None = None,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def veto_reasons(self) -> list[str]: ...  # of its verdict; empty: it judges nothing

class Reshaping:
    """What the kernels of a pipeline make of the shape of images, and of all that is said in their pixels. ConfigError when a kernel cannot
    take images of that shape."""

    def __init__(self, kernels: Sequence[Kernel], width: int, height: int) -> None: ...
    width: Final[int]  # of the images that come out
    height: Final[int]
    changes: Final[bool]  # a kernel changes the shape
    def region(
        self, x: int, y: int, width: int, height: int
    ) -> tuple[int, int, int, int]: ...  # smallest, x, y, width, height
    def mask(self, seen: NDArray[np.uint32]) -> NDArray[np.uint32]: ...  # NXmx pixel_mask

def kernels_json() -> str: ...  # what schema/kernels.json holds
def bad_pixels_kernel(mask: NDArray[np.uint8]) -> Kernel:
    """A step that puts pixels at the masked value where the mask is not 0. It is of no name that a run file has."""

def plugin_kernel(file: str, parameters: dict[str, bool | int | float | str], check: bool = True) -> Kernel:
    """Loads a shared object, which runs its code. `check`: it is given copies of images, and what it changes there makes the image errored. ConfigError when it is no plugin of this version, or declares what makes no sense."""

def python_kernel(
    function: Callable[..., Any],
    name: str,
    origin: str,
    takes: Sequence[str],
    columns: Sequence[tuple[str, str, str, str]],  # name, type, unit, doc
    reasons: Sequence[str],
    table: Sequence[tuple[str, str, str, str]],
    table_rows: int,
    profile: Sequence[tuple[str, str, str, str]],
    axes: Sequence[tuple[str, str, str, Sequence[float]]],  # name, unit, doc, centres of the bins
    on_device: bool,
) -> Kernel:
    """`on_device`: it is for unit cuda, and `function` a DeviceFunction of rashpa.node.engine.device_kernel. Otherwise `function`: of the pixels of an image, a read-only copy that it may keep; gives the 64 bits of each column, the verdict
    (0: kept, n: the n-th reason), rows of the table [row][column], the profile's arrays one after the other. One thread calls it, whatever the unit has."""

class NxmxModule:
    """Where one module lies in the assembled image, pixels; and in the laboratory, m: axes of NeXus, see src/rashpa/sink/nxmx_metadata.hpp."""

    name: str
    x: int
    y: int
    width: int
    height: int
    corner: list[float]
    fast: list[float]
    slow: list[float]
    def __init__(self) -> None: ...

class NxmxDtp:
    """Where one DTP's region lies in the assembled image, pixels."""

    id: int
    module: int
    x: int
    y: int
    width: int
    height: int
    orientation: Orientation
    line_rows: list[int]  # of reshaped images: line l is rows line_rows[l] up to line_rows[l + 1]
    def __init__(self) -> None: ...

class NxmxCalibration:
    """A calibration file that went into the pixels."""

    kind: str  # "pedestal", "gain", "mask"
    file: str
    sha256: str
    version: str  # of a calibration file; empty, as those below: it is none
    date: str
    source: str
    def __init__(self) -> None: ...

class NxmxKernel:
    """A step of the pipeline, as it was used."""

    name: str
    parameters: list[tuple[str, str]]  # name, value as JSON
    veto_reasons: list[str]  # of its verdict; empty: it judges nothing
    def __init__(self) -> None: ...

class NxmxMetadata:
    """What a file says of the experiment; see src/rashpa/sink/nxmx_metadata.hpp for what an empty member means. `values`: the plain members, by the
    names of metadata_json()."""

    def __init__(self, values: dict[str, bool | int | float | str]) -> None: ...
    labels: list[str]
    @property
    def pixel_mask(self) -> list[int]: ...
    @pixel_mask.setter
    def pixel_mask(self, mask: NDArray[np.uint32]) -> None: ...
    modules: list[NxmxModule]
    dtps: list[NxmxDtp]
    calibration: list[NxmxCalibration]
    kernels: list[NxmxKernel]

class Repaired:
    """What became of a master that was not complete."""

    master: Final[str]
    was_complete: Final[bool]  # there was nothing to do
    books: Final[Books]
    unknown: Final[int]  # images of which nothing is known
    lost: Final[int]  # errored now: their data file does not hold them

def repair(prefix: str) -> Repaired: ...

"""Completes the master of a run whose process ended early, from its journal and data files. FileError when that cannot be."""

class Converted:
    """What became of a raw run."""

    master: Final[str]
    books: Final[Books]
    unknown: Final[int]  # images of which nothing is known
    lost: Final[int]  # errored now: the raw files do not hold them as they were written

def convert(from_prefix: str, to_prefix: str, replace: bool, images_a_file: int, threads: int) -> Converted:
    """NXmx files of a raw run, also of one whose process ended early. FileError, ConfigError when that cannot be."""

class Journal:
    """What a run that is being written says of its images, row by row. FileError: it cannot be read, or is none."""

    def __init__(self, path: str) -> None: ...
    being_written: Final[bool]  # somebody writes the run
    width: Final[int]
    height: Final[int]
    form: Final[str]  # dense, sparse, raw
    pixel: Final[str]
    images: Final[int | None]  # that are due; None: nobody knows
    columns: Final[list[str]]
    def next(self) -> dict[str, Any] | None: ...  # None: no row yet; see src/bindings/journal.cpp

class SinkConfig:
    """A sink of a buffer with its values and those of its line, by the names of sinks_json(). on_full "wait": stacks wait in their slots; "drop":
    `queue` stacks wait in memory of the sink's own. `metadata`: for sinks whose files have them. ConfigError names the sink and the key."""

    def __init__(
        self, kind: str, values: dict[str, bool | int | float | str], metadata: NxmxMetadata | None = None
    ) -> None: ...
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
def sink_names() -> list[str]: ...
def sinks_json() -> str: ...  # every sink with its parameters and those of its line
def metadata_json() -> str: ...  # the plain members of NxmxMetadata

class SpecialValue:
    """A value of the detector's pixels that is no count. ConfigError when there is no such meaning."""

    def __init__(self, value: int, meaning: str) -> None: ...

class FeedbackOptions:
    def __init__(self, ring: str, zmq: str, images: int) -> None: ...  # path of a file, endpoint; empty: none

class FeedbackStatus:
    ring: Final[str]
    zmq: Final[str]  # what others connect to
    published: Final[int]
    sent: Final[int]
    dropped: Final[int]  # never given to ZeroMQ: the process that gives them was behind by a whole ring
    full: Final[int]  # times that a subscriber had no room
    restarts: Final[int]  # times that the process that publishes has died, and another one came

class FeedbackRing:
    """Reads what a receiver publishes into a file. FileError when there is none, when it is damaged, or when its receiver has gone without ending it."""

    def __init__(self, path: str, begin: str) -> None: ...  # "oldest" | "next"
    description: Final[bytes]  # JSON
    lost: Final[int]  # images that were written over before they were read
    def next(self, timeout_s: float, spin: bool) -> bytes | None: ...  # empty: the run is over; None: nothing in time

class BufferConfig:
    name: str
    width: int
    height: int
    pixel: str
    special: list[SpecialValue]
    masked: str  # which values are no counts: "delivered", as the detector's, or as for Pipeline
    images: int  # number of images that are due, or the most that may come
    end: str  # "known" | "told": by Receiver.finish
    dealt: bool  # one of several among which images are dealt: records tell their frames
    quiet_ms: int  # how long a stack that has begun waits for images that nobody has sent; 0: until the end
    dtps: list[DestinationDtp]
    kernels: list[Kernel]
    sinks: list[SinkConfig]  # at least one
    feedback: FeedbackOptions | None
    device: str  # its number, several with commas between; opencl: or a part of its name
    images_copied: bool  # opencl: also to a device that could work on them where they are
    def __init__(
        self, keys: dict[str, bool | int | float | str]
    ) -> None: ...  # those of [[buffer]], as schema/sections.json has them

def available_units(
    names: Sequence[str] = ...,
) -> list[tuple[str, bool, str]]: ...  # name, usable, which device or why not
def available_devices(
    names: Sequence[str] = ...,
) -> list[
    tuple[str, int, str, int, int, bool, tuple[int, int], tuple[str, str]]
]: ...  # unit, number, name, bytes, of these free (0: not known), memory of the host, BAR1 and its free bytes, attributes for an RNIC and why it cannot
def device_buses(
    names: Sequence[str] = ...,
) -> list[tuple[str, int, str]]: ...  # unit, number, PCI address ("": not known)

class Found:
    """What a pipeline found in the images of one call, by their place in it. Arrays are the caller's, but for `pixels`: a view of the memory in which
    they were made, or of the images themselves where no kernel has made pixels."""

    @property
    def size(self) -> int: ...
    @property
    def decision(self) -> NDArray[np.uint8]: ...  # 0 none, 1 accepted, 2 vetoed, 3 errored
    @property
    def reason(self) -> NDArray[np.uint8]: ...  # of the veto: place in `reasons`
    @property
    def measured(self) -> NDArray[np.uint8]: ...  # the pipeline has looked at its pixels
    @property
    def reasons(self) -> list[str]: ...
    @property
    def masked(self) -> str: ...  # which values of `pixels` are no counts
    @property
    def largest_count(self) -> int | None: ...  # where counts of `pixels` end, if not with the type
    @property
    def columns(self) -> dict[str, NDArray[Any]]: ...
    @property
    def pixels(self) -> NDArray[Any] | None: ...  # of the accepted images [accepted][row][column]
    @property
    def lists(self) -> tuple | None: ...  # type: ignore[type-arg]  # first entry of each image and behind the last, indices, values
    @property
    def tables(self) -> dict[str, Any]: ...  # first row of each image and behind the last, columns
    @property
    def profiles(self) -> dict[str, Any]: ...  # arrays [image][bins], NaN where an image is not accepted; axes
    @property
    def accumulated(
        self,
    ) -> dict[str, Any]: ...  # by kernel: [window][elements] by quantity, and "images" of each window
    @property
    def failures(self) -> dict[int, str]: ...  # of errored images

class Pipeline:
    """Kernels on images [image][row][column] in memory. `stack`: images that are processed together; `fused`: kernels may share passes. `masked`: which
    values are no counts, "none", "maximum", "negative", "minimum", "not_a_number"; None: as detectors deliver the type. ConfigError when kernels and
    images do not fit."""

    def __init__(
        self,
        kernels: Sequence[Kernel],
        width: int,
        height: int,
        pixel: str,
        *,
        unit: str = "cpu",
        threads: int = 1,
        stack: int = 16,
        device: str = "0",
        trigger: str = "auto",
        keep_darks: bool = True,
        fused: bool = True,
        special: Sequence[SpecialValue] = (),
        masked: str | None = None,
        largest_count: int | None = None,
    ) -> None: ...
    def run(
        self,
        images: NDArray[Any],
        frame_number: NDArray[np.uint64] | None = None,
        flags: NDArray[np.uint32] | None = None,
    ) -> Found: ...

    """Any thread; waits, without the GIL. Results of an earlier call that are still looked at stay as they are."""

    @property
    def how(self) -> str: ...  # the unit, in words
    @property
    def pixel(self) -> str: ...  # type of the pixels that come out

class ReceiverConfig:
    buffers: list[BufferConfig]
    memory: str  # "pageable" | "huge" | "device": where all buffers lie; device: their images, in memory of their unit's GPU
    link: LinkOptions
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
    expected: Final[int]
    complete: Final[int]
    partial: Final[int]
    missing: Final[int]
    accepted: Final[int]
    vetoed: Final[int]
    errored: Final[int]
    written: Final[int]
    @property
    def balanced(self) -> bool: ...

class Recorder:
    """A buffer's pipeline, sinks and books without a receiver, of images [image][row][column] in memory. `config.images`: as many as will come. Nothing
    is dropped: process() waits until the sinks are through. One thread at a time; status() from any."""

    def __init__(self, config: BufferConfig, run: int) -> None: ...
    def begin(self) -> None: ...  # outputs take their names
    def process(
        self,
        images: NDArray[Any],  # a multiple of the stack, but for the last ones
        frame_number: NDArray[np.uint64] | None = None,
        timestamp_ns: NDArray[np.uint64] | None = None,
        flags: NDArray[np.uint32] | None = None,
        completeness: NDArray[np.uint8] | None = None,
        lost_first: NDArray[np.uint64] | None = None,  # of each image, and behind the last: its first row in `lost`
        lost: NDArray[np.uint32] | None = None,  # [run][DTP, first line, lines]
    ) -> None: ...
    def finish(self) -> None: ...  # no more come; completes the outputs
    def status(self) -> BufferStatus: ...
    @property
    def device_bytes(self) -> int: ...  # memory of a device that its unit has taken

class Latency:
    """Microseconds."""

    count: Final[int]
    p50: Final[float]
    p99: Final[float]
    max: Final[float]
    sum: Final[float]
    below: Final[list[int]]  # how many took less than 2^10 ns, 2^11 ns, … 2^34 ns

class DtpDestinationStatus:
    id: Final[int]
    module: Final[int]
    expected: Final[int]
    complete: Final[int]
    partial: Final[int]
    missing: Final[int]
    lines_missing: Final[int]
    losses: Final[dict[str, int]]  # lines, event, deadline, overrun, corrupt -> images

class ConsumerStatus:
    """Somebody whom a sink sends images to."""

    endpoint: Final[str]
    connected: Final[int]
    sent: Final[int]
    missed: Final[int]

class SinkStatus:
    """accepted = written + dropped + errored + waiting."""

    name: Final[str]
    on_full: Final[str]
    accepted: Final[int]
    written: Final[int]
    dropped: Final[int]
    errored: Final[int]
    waiting: Final[int]
    bytes_written: Final[int]
    bytes_stored: Final[int]
    error: Final[str]
    first: Final[tuple[int, int, str, str] | None]  # index, frame number, reason, text
    consumers: Final[list[ConsumerStatus]]
    restarts: Final[int]  # times that the process which sends to them has died, and another one came

class BufferStatus:
    name: Final[str]
    books: Final[Books]  # expected: so far, while the end is not known
    end_known: Final[bool]
    vetoes: Final[dict[str, int]]  # reason -> images
    errors: Final[dict[str, int]]  # unit, overwritten, storage, dropped -> images
    first_errored: Final[tuple[int, int, str, str] | None]  # index, frame number, reason, text
    to_write: Final[int]  # images whose slots a sink holds, or the unit
    sinks: Final[list[SinkStatus]]
    dtps: Final[list[DtpDestinationStatus]]
    latency: Final[
        dict[str, Latency]
    ]  # ready (last packet -> stack ready), decision, written; of each image published and sent (last packet -> there)
    feedback: Final[FeedbackStatus | None]
    sink_error: Final[str]
    unit: Final[str]  # how it works, in words
    unit_error: Final[str]
    busy: Final[str]  # the step that has been at work for long, in words
    bytes_written: Final[int]
    bytes_stored: Final[int]

class ReceiverStatus:
    state: Final[str]  # "configured" | "armed" | "running" | "finished" | "stopped"
    buffers: Final[list[BufferStatus]]
    link: Final[dict[str, int]]  # the members of link::ReceiverStats
    memory: Final[
        str
    ]  # what the machine gave: "pageable" | "transparent-huge" | "huge", with "shared-" in front for pcie
    elapsed_s: Final[float]  # first packet to last decision
    first_incomplete: Final[str]  # "buffer full image 17 (frame 17): DTP 2 module 1 lost its event", empty when none

class Receiver:
    """Takes memory, sockets and output files in the constructor (all errors come there, before anything starts)."""

    def __init__(self, config: ReceiverConfig) -> None: ...
    def endpoints(self) -> list[Endpoint]: ...  # one per DTP: buffers in order, DTPs in order
    def descriptions(self) -> list[bytes]: ...  # what the sources have said of themselves so far
    def placements(self) -> list[Placement]: ...  # likewise
    def arm(self, sources: Sequence[Endpoint]) -> None: ...  # likewise; who the DTPs come from, for credits
    def start(self) -> None: ...
    def hold_deadlines(
        self, held: bool
    ) -> None: ...  # none of an image passes, until it is told otherwise or to finish
    def finish(self, ends: Sequence[tuple[int, int]] = ()) -> None:
        """Nothing more will be sent: images still open are closed when nothing has arrived for their deadline. `ends`: DTP id and how many of its
        images were due, for buffers that are told their ends; the largest of a buffer's DTPs is its end. The first call counts."""

    def stop(self) -> None: ...  # closes what is open at once as missing, drains the sinks; bounded; idempotent
    def wait(self, timeout_s: float) -> bool: ...  # True when every expected image is decided and written
    def status(self) -> ReceiverStatus: ...
    def completeness(self, buffer: int) -> NDArray[np.uint8]: ...  # per image: 0 open, 1 complete, 2 partial, 3 missing
    def decisions(self, buffer: int) -> NDArray[np.uint8]: ...  # per image: 0 none, 1 accepted, 2 vetoed, 3 errored
    def preview(
        self, buffer: int
    ) -> (
        dict[str, Any] | None
    ): ...  # a recent accepted image: index, frame, timestamp_ns, partial, vetoed (reason or None), arriving (nothing was made of it),
    # pixels (as they lie: do not write), lost (DTP, first line, lines), columns, tables, profiles (arrays, axes); asks for a fresh one
    def first(
        self, buffer: int, what: str
    ) -> dict[str, Any] | None: ...  # of the run, "vetoed" or "partial"; as preview
    def adjust(self, buffer: int, step: int, values: dict[str, Any]) -> int: ...

def crc32c(data: bytes) -> int:
    """CRC32C (Castagnoli)."""

def view_of(
    pixels: NDArray[Any],
    corners: tuple[int, int, int, int],
    step: int,
    negative: bool,
    special: Sequence[float] = (),
    gaps: NDArray[np.bool_] | None = None,
) -> NDArray[Any]:
    """Of an image the rectangle left, top, right, bottom: the largest value of each block of `step` × `step` pixels, uint16 of 8 and 16 unsigned bits,
    int16 of 16 signed ones, float32 of all others; 65535, -32768 or NaN where no pixel of a block has a value. `negative`: no negative value is one;
    `special`: neither are these; `gaps`: no pixel there has one. ConfigError when the rectangle is not in the image."""

class BitshuffleLz4:
    """Compressed chunks of images, as files of the hdf5 sink hold them (HDF5 filter 32008, LZ4): both directions on `threads` threads. One thread
    at a time calls. ConfigError for elements of other than 1, 2, 4 or 8 bytes."""

    def __init__(self, element_bytes: int, threads: int = 1) -> None: ...
    def compress(self, pixels: NDArray[np.uint8], out: NDArray[np.uint8]) -> int:
        """Bytes of the chunk, written to `out`. ConfigError when that has fewer than bound() bytes, or `pixels` is no whole number of elements."""

    def decompress(self, chunk: NDArray[np.uint8], out: NDArray[np.uint8]) -> bool:
        """False when the chunk is damaged, or not of exactly as many bytes as `out` has."""

    def bound(self, bytes: int, element_bytes: int) -> int:
        """Room that the chunk of so many bytes needs at most."""

def decompress_lz4(chunk: NDArray[np.uint8], out: NDArray[np.uint8]) -> bool:
    """Decompress a chunk of HDF5 filter 32004 into `out`. Return False when it is damaged, or not of exactly as many bytes as `out` has."""

def decode_packet(data: bytes, layer: str) -> dict[str, Any]: ...

"""Headers by name; numbers are int, addresses and payload bytes. `layer` "ethernet" | "ip" | "udp_payload". ConfigError on bad bytes."""

def encode_packet(fields: dict[str, Any], udp_checksum: bool = False) -> bytes: ...

"""The inverse; None and absent values are computed. ConfigError names the field that is wrong."""

def opcode_of(name: str) -> int | None: ...

"""The number of "UC_RDMA_WRITE_ONLY" and its like."""

def sections_json() -> str: ...  # what schema/sections.json holds

class RunKeys:
    def __init__(self, values: dict[str, bool | int | float | str]) -> None: ...

class Reduction:
    """How the frames of a DTP are reduced before they are sent: keys of [buffer.reduction], limits of counts, bytes of the module's offset image."""

    def __init__(
        self,
        values: dict[str, bool | int | float | str],
        least: int,
        most: int,
        saturated: int,
        offset: bytes | None = None,
    ) -> None: ...
