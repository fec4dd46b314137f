# SPDX-License-Identifier: Apache-2.0
"""Describes a random run: everything is drawn from the seed and the run's number before anything starts."""

from dataclasses import dataclass
from typing import Literal

Pixel = Literal["uint8", "uint16", "uint32", "int16", "int32", "float32"]
Kernel = Literal["raw", "photons", "kev", "veto", "csr"]
Target = Literal["manager", "emulator", "receiver"]
StillTarget = Literal["manager", "emulator", "receiver", "page", "helper"]
Link = Literal["roce", "pcie"]
Transport = Literal["uc", "rc", "ud"]
Flow = Literal["credits", "paced"]
Phase = Literal["starting", "running"]
Where = Literal["local", "url", "mixed"]  # mixed: the emulator is started by the run, receivers are running
Kind = Literal[
    "none",
    "kill",
    "stop",
    "pause",
    "terminate",
    "interrupt",
    "disk_full",
    "failing_writes",
    "slow_writes",
    "folder_removed",
    "port_taken",
    "replace_killed",
    "members",
    "still",
    "unheard",
    "neighbours",
    "pairs",
]
STORAGE: tuple[Kind, ...] = ("disk_full", "failing_writes", "slow_writes", "folder_removed")
SIGNALS: tuple[Kind, ...] = ("kill", "stop", "pause", "terminate", "interrupt", "replace_killed")


@dataclass(frozen=True)
class Rect:
    """Describes a rectangle of pixels: x and y of the first one, then the size."""

    x: int
    y: int
    width: int
    height: int

    def common(self, other: "Rect") -> "Rect | None":
        """Return the area that both rectangles cover, None without one."""
        x, y = max(self.x, other.x), max(self.y, other.y)
        right = min(self.x + self.width, other.x + other.width)
        bottom = min(self.y + self.height, other.y + other.height)
        return Rect(x, y, right - x, bottom - y) if right > x and bottom > y else None


@dataclass(frozen=True)
class Piece:
    """Describes a part of a module's frame, and the place of its first pixel in a buffer's image."""

    module: int
    part: Rect
    x: int
    y: int


@dataclass(frozen=True)
class Buffer:
    """Describes one buffer. `pieces`: the parts of its image, placed by hand with `by_hand`, otherwise by region, geometry and bands."""

    name: str
    receiver: int
    region: Rect | None
    by_hand: bool
    pieces: tuple[Piece, ...]
    width: int
    height: int
    bands: int
    every: int
    phase: int
    slots: int
    stack: int
    deadline_ms: int
    partial: Literal["keep", "veto"]
    keep_darks: bool
    kernel: Kernel
    threads: int
    images_per_file: int
    sink_threads: int
    min_bright: int  # veto: fewer pixels at or above the threshold and the image is not kept

    def images(self, frames: int) -> int:
        """Return the number of `frames` frames that this buffer takes."""
        return len(range(self.phase, frames, self.every))


@dataclass(frozen=True)
class Faults:
    """Holds the faults that the emulator injects, as probabilities."""

    seed: int = 1
    drop: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    corrupt: float = 0.0
    stall: float = 0.0
    stall_us: int = 0
    dead: tuple[tuple[int, int], ...] = ()  # module, first frame that it does not send

    @property
    def lose(self) -> bool:
        """Return True when images may be incomplete because of the faults."""
        return bool(self.drop or self.reorder or self.corrupt or self.dead)


@dataclass(frozen=True)
class Disturbance:
    """Describes a disturbance of the run. `after_s`: seconds after the beginning of `phase`; `amount`: the number of its kind: free space, bytes, or
    microseconds."""

    kind: Kind = "none"
    target: Target = "manager"
    which: int = 0  # of several receivers
    phase: Phase = "running"
    after_s: float = 0.0
    resume_s: float = 0.0
    amount: int = 0


@dataclass(frozen=True)
class Blow:
    """Describes a blow to a member of a group, `after_s` seconds after all have begun: SIGKILL, SIGSTOP for good, SIGSTOP for a while; or one more
    member that joins."""

    kind: Literal["kill", "stop", "pause", "join"]
    member: int
    after_s: float
    lasts_s: float = 0.0


@dataclass(frozen=True)
class Standstill:
    """Describes a SIGSTOP to a process `after_s` seconds after all buffers have begun, and SIGCONT `lasts_s` later. A helper is a process that is
    neither manager nor node; without a helper, the receiver is stopped."""

    target: StillTarget
    which: int  # of several receivers or helpers
    after_s: float
    lasts_s: float


@dataclass(frozen=True)
class Plan:
    """Describes one run. `grouped`: the images of its one buffer are dealt among the receivers, and `blows` are for them. `stills`: standstills, one
    after the other; the time in which a process is stopped loses no image."""

    seed: int
    number: int
    link: Link
    transport: Transport
    packetisation: Literal["only", "first_middle_last"]
    pmtu: int
    flow: Flow
    on_full: Literal["pause", "skip"]
    window_bytes: int
    icrc: Literal["modulo_id", "off"]
    poll: Literal["event", "spin"]
    memory: Literal["pageable", "huge"]
    gso: bool
    gro: bool
    link_threads: int
    fixed_port: bool
    receivers: int
    nodes: Where
    width: int
    height: int
    pixel: Pixel
    jungfrau: bool  # frames are JUNGFRAU words with a calibration
    modules: tuple[tuple[int, int], ...]
    frames: int
    dataset_frames: int
    dark_every: int
    stored_as: Literal["npy", "bin"]
    header_bytes: int
    rate_hz: float
    buffers: tuple[Buffer, ...]
    faults: Faults
    disturbance: Disturbance
    blows: tuple[Blow, ...] = ()
    stills: tuple[Standstill, ...] = ()
    grouped: bool = False

    @property
    def lost(self) -> frozenset[int]:
        """Return the members that do not reach the end."""
        return frozenset(blow.member for blow in self.blows if blow.kind in ("kill", "stop"))

    @property
    def duration_s(self) -> float:
        """Return the seconds that the detector takes at its rate, including stalls."""
        dtps = sum(len(buffer.pieces) * buffer.bands for buffer in self.buffers)
        stalls = self.frames * dtps * self.faults.stall * self.faults.stall_us / 1e6
        return stalls + (self.frames / self.rate_hz if self.rate_hz else self.frames / 500.0)

    @property
    def bound_s(self) -> float:
        """Return the seconds after which the run counts as hanging."""
        deadlines = sum(buffer.deadline_ms for buffer in self.buffers) / 1000.0
        writes = sum(buffer.images(self.frames) for buffer in self.buffers) * 4 * self.disturbance.amount / 1e6
        slow = writes if self.disturbance.kind == "slow_writes" else 0.0
        stills = sum(still.after_s + still.lasts_s for still in self.stills)
        return 45.0 + 2.0 * self.duration_s + 4.0 * deadlines + self.disturbance.resume_s + slow + stills

    def describe(self) -> str:
        """Return a line for people."""
        done = self.disturbance
        blows = ", ".join(
            [f"{blow.kind} {blow.member} +{blow.after_s:.2f} s" for blow in self.blows]
            + [f"{still.target} {still.which} +{still.after_s:.2f} s for {still.lasts_s:g} s" for still in self.stills]
        )
        what = done.kind if done.kind not in SIGNALS else f"{done.kind} {done.target} {done.phase}+{done.after_s:.2f} s"
        link = f"{self.link}/{self.transport}" if self.link == "roce" else self.link
        kernels = ",".join(buffer.kernel for buffer in self.buffers)
        faults = " with faults" if self.faults != Faults() else ""
        return f"{link} {self.flow}/{self.on_full}{faults} {self.nodes} {self.receivers} receivers [{kernels}] {self.frames} frames @ {self.rate_hz:g} Hz; {what} {blows}".rstrip()
