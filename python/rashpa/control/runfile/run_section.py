# SPDX-License-Identifier: Apache-2.0
"""Defines the tables `[run]`, `[faults]` and `[alarms]` of a run file."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, Strict, field_validator
from pydantic_core import PydanticKnownError

from rashpa.control.runfile.engine_keys import FaultsKeys, RunKeys
from rashpa.control.runfile.key_types import ModuleNumber
from rashpa.control.runfile.section import Section
from rashpa.data.datasets.spec import PATH
from rashpa.data.files.file_names import expanded

UNTIL_STOPPED = "until stopped"
MOST_FRAMES = 2**32  # of a run that nobody stops, src/rashpa/core/end.hpp
MOST_PATIENCE_S = 30 * 86400.0
GridSide = Annotated[int, Field(ge=1, le=4096)]
Share = Annotated[float, Field(gt=0.0, le=1.0)]


class Run(RunKeys):
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
        description="frames of a series, which has output files and books of its own",
    )
    number: int = Field(default=1, ge=0, le=2**32 - 1, description="run number, carried by every frame record")
    output: str = Field(
        default="out",
        description="folder of the output files, relative to where the receiver runs; ~ is the home of the receiver's user",
        json_schema_extra=PATH,
    )
    existing: Literal["refuse", "replace"] = Field(
        default="refuse", description="the treatment of output files of the same name"
    )
    orphaned: Literal["end", "finish"] = Field(
        default="end",
        description="the nodes' reaction to the manager's loss: end the run in order, or go on to its last frame and keep the books for `rashpa attach`",
    )
    keep_books_s: float = Field(
        default=3600.0,
        ge=1.0,
        le=MOST_PATIENCE_S,
        description='orphaned = "finish": how long nodes keep the books of a run that they have finished on their own; then they are free',
    )
    on_overrun: Literal["count", "slow", "stop"] = Field(
        default="count",
        description="the reaction to images without a free slot, or skipped: count, stop, or pause the sources, drain, and go on at a fitting rate",
    )
    instrument: str = ""
    source: str = ""
    sample: str = Field(default="", description="sample of the images, in files and streams")
    comment: str = Field(default="", max_length=2000, description="comment of the operator, in the report")
    scan: Annotated[tuple[GridSide, GridSide], Strict(False)] | None = Field(
        default=None,
        description="rows and columns of a scan, a frame a place, for the maps of `rashpa dashboard`; frames beyond them begin it again",
    )
    scan_order: Literal["rows", "snake"] = Field(
        default="rows", description="rows: each row begins at its first column; snake: every second row goes back"
    )

    @field_validator("frames", mode="before")
    @classmethod
    def _one_complaint(cls, value: object) -> object:
        """Check the value before the union does, which would report a fault for each of its types."""
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


class Alarms(Section):
    """Limits that `rashpa dashboard` watches while it runs. A key that is not given raises no alarm."""

    lost_images: int | None = Field(
        default=None,
        ge=0,
        le=2**40,
        description="images that are missing or partial, of all buffers: more are an alarm",
    )
    free_slots: Share | None = Field(
        default=None, description="share of a buffer's slots that can take images: fewer are an alarm"
    )
    disk_minutes: float | None = Field(
        default=None,
        gt=0.0,
        le=1e6,
        description="time until the disk of run.output is full, at this rate, where receivers run on the page's machine: less is an alarm",
    )
    hit_rate: Share | None = Field(
        default=None, description="share of accepted images since the run began: less is an alarm"
    )
    rate: Share | None = Field(
        default=None, description="share of detector.rate_hz that is decided in the last seconds: less is an alarm"
    )
    silent_s: float | None = Field(
        default=None, gt=0.0, le=3600.0, description="a node that has not answered for so long is an alarm"
    )
    temperature_c: float | None = Field(
        default=None,
        gt=0.0,
        le=150.0,
        description="the highest sensor of a node's machine, where it has one: more is an alarm",
    )
    webhook: str = Field(
        default="",
        max_length=2000,
        pattern=r"^(https?://[^\s]+)?$",
        description="address to which each alarm is posted as JSON when it begins, is acknowledged and ends",
    )

    @property
    def some(self) -> bool:
        """Return True when at least one alarm is set."""
        limits = (
            self.lost_images,
            self.free_slots,
            self.disk_minutes,
            self.hit_rate,
            self.rate,
            self.silent_s,
            self.temperature_c,
        )
        return any(limit is not None for limit in limits)


class DeadModule(Section):
    """A module that sends nothing from frame `from_frame` on."""

    module: ModuleNumber
    from_frame: int = Field(ge=0, le=2**40)


class Faults(FaultsKeys):
    """Faults that the emulator injects; probabilities per packet, `stall` per image of a DTP."""

    seed: int = Field(default=1, ge=0, le=2**64 - 1, description="the same seed means the same faults")
    dead_modules: list[DeadModule] = Field(default=[])
