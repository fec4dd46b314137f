# SPDX-License-Identifier: Apache-2.0
"""Describes the plan of a run: its nodes, buffers and DTPs, as a run file defines them."""

from dataclasses import dataclass
from functools import cached_property

from rashpa.control.plan.emulators import PlannedEmulator
from rashpa.control.plan.groups import PlannedGroup
from rashpa.control.plan.module_geometry import UNPLACED, PlacedDetector
from rashpa.control.plan.planned_node import PlannedNode
from rashpa.control.plan.receivers import PlannedReceiver
from rashpa.control.plan.rectangle import Rectangle
from rashpa.control.plan.reduction import UNBINNED, Bins, binned
from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile.pipeline import PIXEL_BYTES
from rashpa.control.runfile.run_file_reader import RunFileSource
from rashpa.data.files.file_names import located
from rashpa.data.geometry.orientation import UPRIGHT, Orientation


@dataclass(frozen=True)
class PlannedDtp:
    """Describes one data transfer process: it copies `region` of the module's rotated frames, binned by `bins`, to (x, y) of the buffer's image."""

    id: int
    module: int
    region: Rectangle
    x: int
    y: int
    orientation: Orientation = UPRIGHT
    bins: Bins = UNBINNED

    @property
    def target(self) -> Rectangle:
        return Rectangle(self.x, self.y, self.region.width // self.bins[0], self.region.height // self.bins[1])

    @property
    def shown_region(self) -> str:
        """Return the region and its bins as text."""
        return str(self.region) if self.bins == UNBINNED else f"{self.region} by {self.bins[0]} × {self.bins[1]}"

    def placed(self, inside: Rectangle) -> Rectangle:
        """Return the pixels of the buffer's image that rectangle `inside` of the region is part of."""
        x, y = self.region.x, self.region.y
        own = binned(Rectangle(inside.x - x, inside.y - y, inside.width, inside.height), self.bins)
        return Rectangle(own.x + self.x, own.y + self.y, own.width, own.height)


@dataclass(frozen=True)
class PlannedBuffer:
    """Describes a buffer with its DTPs and its receiver's name. `width`, `height`: those of its images, binned. `origin`: the place of its first pixel in
    the assembled image before binning, None when DTPs are placed by hand."""

    section: toml.Buffer
    receiver: str
    width: int
    height: int
    images: int
    origin: tuple[int, int] | None
    dtps: tuple[PlannedDtp, ...]

    def frame_of(self, index: int) -> int:
        """Return the frame number of the buffer's image `index`."""
        return self.section.phase + index * self.section.every


@dataclass(frozen=True)
class OfSource:
    """Holds the facts of a stored dataset for which a run file has no key. `labels`: the origins of file values; `saturation_value`: 0 when unknown;
    `units`: those of its pixels, empty when unknown."""

    labels: tuple[str, ...] = ()
    saturation_value: float = 0.0
    units: str = ""


@dataclass(frozen=True)
class Plan:
    """Describes a run without contradictions."""

    file: toml.RunFile
    source: RunFileSource
    emulators: tuple[PlannedEmulator, ...]
    receivers: tuple[PlannedReceiver, ...]
    buffers: tuple[PlannedBuffer, ...]
    groups: tuple[PlannedGroup, ...] = ()
    placed: PlacedDetector = UNPLACED
    of_source: OfSource = OfSource()

    @property
    def authority(self) -> str:
        """Return the certificate file of `nodes.authority`, empty for the system's authorities."""
        named = self.file.nodes.authority
        return located(named, self.source.path.resolve().parent) if named else ""

    @property
    def control_config(self) -> str:
        """Return the configuration file of a detector that sends by itself, empty without one."""
        control = self.file.detector.control
        named = control.config if control else ""
        return located(named, self.source.path.resolve().parent) if named else ""

    def group_of(self, receiver: str) -> PlannedGroup | None:
        """Return the group to which the receiver belongs, None without one."""
        return next((group for group in self.groups if receiver in group.members), None)

    def membership(self, receiver: str) -> PlannedGroup:
        """Return the group of a receiver, which must be a member of one."""
        return next(group for group in self.groups if receiver in group.members)

    def emulators_of(self, group: PlannedGroup) -> tuple[str, ...]:
        """Return the emulators that play the modules of the group's images. A plan with several is refused."""
        names = {self.emulator_of(dtp) for member in group.members for dtp in self.dtps_of(member)}
        return tuple(sorted(names))

    @cached_property
    def dtps(self) -> tuple[PlannedDtp, ...]:
        """Return all DTPs in the order of the telegrams; a DTP's id is its position."""
        return tuple(dtp for buffer in self.buffers for dtp in buffer.dtps)

    @cached_property
    def _of_receivers(self) -> dict[str, list[PlannedBuffer]]:
        found: dict[str, list[PlannedBuffer]] = {}
        for buffer in self.buffers:
            found.setdefault(buffer.receiver, []).append(buffer)
        return found

    @cached_property
    def _of_modules(self) -> dict[int, str]:
        """Return the emulator of each module."""
        return {module: emulator.name for emulator in self.emulators for module in emulator.modules}

    @cached_property
    def _of_emulators(self) -> dict[str, list[PlannedDtp]]:
        found: dict[str, list[PlannedDtp]] = {}
        for dtp in self.dtps:
            found.setdefault(self.emulator_of(dtp), []).append(dtp)
        return found

    def units_of(self, node: str) -> tuple[str, ...]:
        """Return the names of the units on which a node's buffers work, and always "cpu"."""
        return tuple(sorted({"cpu", *(buffer.section.unit for buffer in self.buffers_of(node))}))

    def buffers_of(self, receiver: str) -> tuple[PlannedBuffer, ...]:
        """Return the buffers of a receiver, in the order of the run file."""
        return tuple(self._of_receivers.get(receiver, ()))

    def dtps_of(self, receiver: str) -> tuple[PlannedDtp, ...]:
        """Return the DTPs of a receiver, in the order of its Configure telegram."""
        return tuple(dtp for buffer in self.buffers_of(receiver) for dtp in buffer.dtps)

    def dtps_from(self, emulator: str) -> tuple[PlannedDtp, ...]:
        """Return the DTPs of an emulator, in the order of its Configure telegram."""
        return tuple(self._of_emulators.get(emulator, ()))

    def emulator_of(self, dtp: PlannedDtp) -> str:
        """Return the name of the emulator that plays the DTP's module."""
        return self._of_modules.get(dtp.module, "")

    @cached_property
    def routes(self) -> tuple[tuple[PlannedEmulator, PlannedReceiver], ...]:
        """Return the pairs of emulator and receiver that DTPs connect."""
        ways = {(self.emulator_of(dtp), buffer.receiver) for buffer in self.buffers for dtp in buffer.dtps}
        return tuple(
            (one, other) for one in self.emulators for other in self.receivers if (one.name, other.name) in ways
        )

    def receivers_from(self, emulator: str) -> tuple[PlannedReceiver, ...]:
        """Return the receivers to which an emulator sends."""
        return self._peers.get(emulator, ())

    @cached_property
    def _peers(self) -> dict[str, tuple[PlannedReceiver, ...]]:
        found: dict[str, tuple[PlannedReceiver, ...]] = {}
        for one, other in self.routes:
            found[one.name] = (*found.get(one.name, ()), other)
        return found

    def buffer_of(self, dtp: int) -> PlannedBuffer:
        """Return the buffer to which the DTP with this id sends."""
        return self._of_ids[dtp]

    @cached_property
    def _of_ids(self) -> dict[int, PlannedBuffer]:
        return {dtp.id: buffer for buffer in self.buffers for dtp in buffer.dtps}

    def receiver(self, name: str) -> PlannedReceiver:
        """Return the receiver of this name."""
        return self._receivers[name]

    @cached_property
    def _receivers(self) -> dict[str, PlannedReceiver]:
        return {receiver.name: receiver for receiver in self.receivers}

    @cached_property
    def positions(self) -> dict[str, int]:
        """Return the position of each buffer in the run file, by name."""
        return {buffer.section.name: position for position, buffer in enumerate(self.buffers)}

    @property
    def nodes(self) -> tuple[PlannedNode, ...]:
        """Return all nodes: receivers first, then emulators."""
        return (*self.receivers, *self.emulators)

    @property
    def shown_receivers(self) -> dict[str, str]:
        """Return the name of the receiver of each buffer; empty in a run with one receiver."""
        names = {receiver.name: receiver.shown_name for receiver in self.receivers}
        return {buffer.section.name: names[buffer.receiver] for buffer in self.buffers}

    @property
    def end_told(self) -> bool:
        """Return True when the number of frames is unknown until the run ends."""
        return self.file.run.open_ended or self.file.detector.trigger == "software"

    @property
    def frame_pixel_bytes(self) -> int:
        return PIXEL_BYTES[self.file.detector.pixel]


def images_of(plan: Plan, buffer: PlannedBuffer) -> str:
    """Return the number of images of a buffer, as text."""
    return "any number of" if plan.file.run.open_ended else f"{buffer.images}"
