# SPDX-License-Identifier: Apache-2.0
"""Defines kernels, sinks and links in orders: the models of the run file, with the additions of a plan."""

from typing import Annotated, Literal, get_args

from pydantic import BaseModel, Field

from rashpa.control.runfile import sink_sections
from rashpa.control.runfile.kernels import MODELS
from rashpa.control.runfile.run_file import ModuleNumber
from rashpa.control.runfile.section import Section
from rashpa.data.geometry.laboratory import Direction
from rashpa.data.geometry.orientation import Turn

MOST_PLACES = 1024
"""Parts of an image that lie in the laboratory each for itself."""
Text = Annotated[str, Field(max_length=4096)]
Vector = Annotated[str, Field(max_length=96)]
"""Three numbers with blanks between them."""
Pixels = Annotated[int, Field(ge=0, le=2**21)]


class ModulePlace(Section):
    """The rectangle that encloses a buffer's part of a module, or of one of its panels. `corner`, `fast`, `slow`: its place in the laboratory, in m:
    the outer corner of its first pixel, and the steps to the next column and row. When they are empty, the beam and the axes of the image give the
    place."""

    name: Text
    x: Pixels
    y: Pixels
    width: Pixels
    height: Pixels
    corner: Vector = ""
    fast: Vector = ""
    slow: Vector = ""


class DtpPlace(Section):
    """The place of a DTP's pixels in the buffer's image, and the orientation of its module."""

    id: int = Field(ge=0, le=65535)
    module: ModuleNumber
    x: Pixels
    y: Pixels
    width: Pixels
    height: Pixels
    turn: Turn = 0
    flip: bool = False


class FileMetadata(Section):
    """The experiment as the output file describes it; names and units are as in src/rashpa/sink/nxmx_metadata.hpp. An absent field has the default of
    its key in a run file, or a value of the buffer: the beam is at the centre of its image, `bit_depth_readout` is that of its pixels, and `modules`
    and `dtps` are the places of its DTPs."""

    detector_name: Text = "detector"
    description: Text = ""
    instrument_name: Text = ""
    source_name: Text = ""
    sample_name: Text = ""
    distance_m: float = 0.1
    beam_center_x: float | None = None
    beam_center_y: float | None = None
    energy_kev: float = 12.4
    wavelength_angstrom: float = Field(default=0.0, description="0: by energy_kev")
    pixel_size_m: float = 75e-6
    pixel_size_y_m: float = Field(default=0.0, ge=0.0, description="0: as pixel_size_m")
    sensor_material: Text = "Si"
    sensor_thickness_m: float = 320e-6
    count_time_s: float = 0.0
    frame_time_s: float = 0.0
    bit_depth_readout: int = Field(default=0, ge=0, le=64)
    labels: list[Text] = Field(default=[], max_length=64)
    image_fast: Direction = "-x"
    image_slow: Direction = "-y"
    modules: list[ModulePlace] = Field(default=[], max_length=MOST_PLACES)
    dtps: list[DtpPlace] = Field(default=[], max_length=256)
    receiver: Text = ""
    start_time: Text = ""
    saturation_value: float = 0.0
    pixel_units: Text = ""
    run_number: int = Field(default=0, ge=0, le=2**32 - 1)
    run_name: Text = ""
    run_file: Text = ""
    run_file_sha256: str = Field(default="", max_length=64)
    run_id: str = Field(default="", max_length=64)


class Hdf5Order(sink_sections.Hdf5Sink):
    """The order to a receiver for a sink hdf5."""

    prefix: str = Field(max_length=4096)
    existing: Literal["refuse", "replace"] = "refuse"
    series_images: int = Field(default=0, ge=0, le=2**31)
    metadata: FileMetadata = FileMetadata()


class Stream2Order(sink_sections.Stream2Sink):
    """The order to a receiver for a sink stream2."""

    metadata: FileMetadata = FileMetadata()


class RawOrder(sink_sections.RawSink):
    """The order to a receiver for a sink raw."""

    prefix: str = Field(max_length=4096)
    existing: Literal["refuse", "replace"] = "refuse"
    series_images: int = Field(default=0, ge=0, le=2**31)
    metadata: FileMetadata = FileMetadata()


FILE_ORDERS = (Hdf5Order, RawOrder)
ENDINGS = {"hdf5": "", "raw": "_raw"}
"""The endings of the names <run name>_<buffer> at the beginning of such a sink's files."""
SinkOrder = Hdf5Order | RawOrder | sink_sections.MemorySink | sink_sections.NullSink | Stream2Order

# the kinds of parts, each with an element of its own
KERNELS: tuple[type[BaseModel], ...] = MODELS
SINKS: tuple[type[BaseModel], ...] = get_args(SinkOrder)
