# SPDX-License-Identifier: Apache-2.0
"""Defines the table `[detector]` of a run file."""

from typing import Literal

from pydantic import Field

from rashpa.control.runfile.control_section import Control
from rashpa.control.runfile.key_types import MOST_MODULES, PixelName
from rashpa.control.runfile.section import Section
from rashpa.data.base.masking_names import MaskedName
from rashpa.data.datasets.calibration_spec import CalibrationSpec
from rashpa.data.datasets.spec import PATH
from rashpa.data.geometry.laboratory import Direction
from rashpa.data.geometry.orientation import Orientation, Turn

Meaning = Literal[
    "gap", "dead", "under_responding", "over_responding", "noisy", "cluster", "user", "saturated"
]  # as src/rashpa/core/image/special_value.hpp


class Module(Section):
    """A module, and its place in the assembled image, in the orientation that its source gives it."""

    x: int = Field(ge=0, le=2**20, description="pixels")
    y: int = Field(ge=0, le=2**20, description="pixels")
    turn: Turn = Field(default=0, description="degrees clockwise by which the emulator turns its frames in memory …")
    flip: bool = Field(default=False, description="… and mirrors them left to right behind that")

    @property
    def orientation(self) -> Orientation:
        """Return turn and flip as one orientation."""
        return Orientation(self.turn, self.flip)


class SpecialValue(Section):
    """A value of a pixel that is no count. The pixels stay as they are; no kernel counts them, and the file describes them."""

    value: int = Field(
        ge=-(2**31),
        le=2**32 - 1,
        description="value as the detector sends it; counts end below the smallest that is not negative, and a negative value is never a count",
    )
    meaning: Meaning = Field(
        description="saturated: more counts than the pixel can hold; all others last, and become bits of the file's pixel_mask"
    )


class Detector(Section):
    """The detector: shape, rate and its description in files."""

    width: int = Field(ge=1, le=65536, description="pixels of a module")
    height: int = Field(ge=1, le=65536, description="pixels of a module")
    pixel: PixelName = "uint16"
    rate_hz: float = Field(default=0.0, ge=0.0, le=1e9, description="frames a second; 0: as fast as flow allows")
    trigger: Literal["internal", "software"] = Field(
        default="internal",
        description="the start of frames; software: each `rashpa trigger` takes its number of frames at rate_hz, and none comes until the next",
    )
    name: str = "detector"
    description: str = ""
    count_time_s: float = Field(default=0.0, ge=0.0, description="exposure of a frame")
    distance_m: float = Field(default=0.1, gt=0.0, description="distance from the sample to the detector")
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
        description="pixels that hold no count: delivered, the maximum of unsigned types and negative values; minimum, the least value of signed types alone (converted photons)",
    )
    geometry: str | None = Field(
        default=None,
        json_schema_extra=PATH,
        min_length=1,
        description="CrystFEL geometry (.geom) of images of modules one below the other, in place of [[detector.module]]: places in whole pixels, turns, beam, bad pixels",
    )
    image_fast: Direction | None = Field(
        default=None,
        description="how columns of the assembled image run in the laboratory (z along the beam, y up): -x, or as most modules of the geometry do",
    )
    image_slow: Direction | None = Field(
        default=None, description="how its rows run: -y, or as those of most modules of the geometry do"
    )
    control: Control | None = Field(default=None, description="a detector that no emulator plays")
    module: list[Module] = Field(default=[Module(x=0, y=0)], min_length=1, max_length=MOST_MODULES)
