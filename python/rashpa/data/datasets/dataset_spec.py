# SPDX-License-Identifier: Apache-2.0
"""Describes the table [dataset] of a run file: the data that an emulator plays. Reading and checking it needs no compiled code."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, Strict, TypeAdapter, model_validator

from rashpa.data.base.masking_names import MaskedName
from rashpa.data.datasets.spec import FileName, Spec
from rashpa.data.files.file_names import frame_files, located
from rashpa.data.geometry.orientation import Turn

PixelName = Literal["uint8", "uint16", "uint32", "int16", "int32", "float32"]
Side = Annotated[int, Field(ge=1, le=65536)]
_Pixels = Annotated[int, Field(ge=0, le=2**20)]
Place = Annotated[tuple[_Pixels, _Pixels], Strict(False)]


class JungfrauSpec(Spec):
    """Synthetic raw frames of JUNGFRAU modules (1024 x 512 pixels, uint16) with hits, blanks and darks."""

    kind: Literal["jungfrau"]
    modules: int = Field(default=2, ge=1, le=64)
    frames: int = Field(default=60, ge=1, le=2**32 - 1, description="different frames; a run repeats them")
    seed: int = Field(default=1, ge=0, le=2**64 - 1)
    energy_kev: float = Field(default=12.4, ge=2.0, le=100.0, description="photon energy")
    hit_fraction: float = Field(
        default=0.3, ge=0.0, le=1.0, description="share of hits among the frames that are not dark"
    )
    dark_every: int = Field(
        default=10, ge=0, le=2**32 - 1, description="distance from one dark frame to the next; 0: none is dark"
    )
    spots: int = Field(default=80, ge=0, le=10000, description="Bragg spots of a hit, on all modules together")
    background: float = Field(default=1.0, ge=0.0, le=1000.0, description="mean photons a pixel of a hit")
    places: list[Place] = Field(
        default=[],
        max_length=64,
        description="x, y of each module in the assembled image, which the picture is continuous in; as [detector] says when not given",
    )

    orientations: list[Annotated[tuple[Turn, bool], Strict(False)]] = Field(
        default=[],
        max_length=64,
        description="turn and flip of each module at its place; as [detector] says when not given",
    )

    @model_validator(mode="after")
    def _place_of_every_module(self) -> Self:
        if len(self.orientations) not in (0, len(self.places)):
            raise ValueError(
                f"{len(self.orientations)} orientations for {len(self.places)} places; give one each, or none"
            )
        if self.places and len(self.places) != self.modules:
            raise ValueError(f"{len(self.places)} places for {self.modules} modules; give one each, or none")
        return self


class PatternSpec(Spec):
    """A computed pattern, never 0: every pixel's value follows from its module, frame, row and column."""

    kind: Literal["pattern"]
    modules: int = Field(default=1, ge=1, le=4096)
    frames: int = Field(default=16, ge=1, le=2**32 - 1, description="different frames; a run repeats them")
    width: Side = 1024
    height: Side = 512
    pixel: PixelName = "uint16"


def _lists(files: Any) -> Any:
    """Return `files` with a list of names for each module."""
    return [[one] if isinstance(one, str) else one for one in files] if isinstance(files, list) else files


class FilesSpec(Spec):
    """Recorded frames."""

    kind: Literal["files"]
    files: Annotated[
        list[Annotated[list[FileName], Field(min_length=1)]],
        BeforeValidator(_lists, json_schema_input_type=list[FileName | list[FileName]]),
    ] = Field(
        min_length=1,
        description="an entry a module, whole frames each: a file, a pattern such as m0_*.bin, a folder, or a list of these",
    )
    format: Literal["auto", "bin", "zst", "npy", "image"] = Field(
        default="auto", description="auto: by name; image: CBF, TIFF, EDF, plain or .bz2, .gz, .zst"
    )
    width: int = Field(default=0, ge=0, le=65536, description="pixels; 0: as the files say")
    height: int = Field(default=0, ge=0, le=65536, description="pixels; 0: as the files say")
    pixel: PixelName = "uint16"
    header_bytes: int = Field(default=0, ge=0, le=1 << 20, description="before each frame; 112: SLS receiver")
    dark_frames: list[Annotated[int, Field(ge=0, le=2**24 - 1)]] = Field(
        default=[], description="frames flagged as dark"
    )
    storage_cells: list[Annotated[int, Field(ge=0, le=15)]] = Field(
        default=[], description="storage cell of frame 0, 1, …, then from the first again"
    )
    energy_kev: float | None = Field(default=None, gt=0.0, description="photon energy, for previews")

    def resolved(self, base: Path) -> Self:
        files = [[file for name in names for file in frame_files(located(name, base))] for names in self.files]
        return self.model_copy(update={"files": files})


class DirectorySpec(Spec):
    """A folder that `rashpa dataset make` wrote (schema/dataset.md)."""

    kind: Literal["directory"]
    path: FileName

    def resolved(self, base: Path) -> Self:
        return self.model_copy(update={"path": located(self.path, base)})


class StoredSpec(Spec):
    """A stored run that is played again: files of the sinks hdf5 or raw, or NXmx files of other writers. Frames that it lacks are left out."""

    kind: Literal["stored"]
    path: FileName = Field(description="_master.h5 of the stored run, or file of others")
    speed: float = Field(
        default=0.0,
        ge=0.0,
        le=1e6,
        description="speed relative to the recording, with each frame at its recorded time; 0: at detector.rate_hz",
    )
    frames: int = Field(
        default=0, ge=0, le=2**32 - 1, description="number of stored images to use, from the first on; 0: all"
    )
    follow: list[FileName] = Field(
        default=[],
        max_length=64,
        description="folders to which the file may lead besides its own: by links, virtual datasets, external storage",
    )
    allow_missing: bool = Field(
        default=False, description="play the images that are there, when data files or parts of them are gone"
    )
    masked: MaskedName = Field(
        default="delivered",
        description="masking of the pixels, that of [detector] when not given; a file that states another is refused",
    )
    bad_pixels: Literal["auto", "masked", "as_stored"] = Field(
        default="auto",
        description="bad pixels of the file's pixel_mask: masked, no kernel counts them, as they hold the masked value; auto: masked when a buffer has kernels",
    )
    width: int = Field(default=0, ge=0, le=65536, description="pixels of a module; as [detector] says when not given")
    height: int = Field(default=0, ge=0, le=65536, description="pixels of a module; as [detector] says when not given")
    places: list[Place] = Field(
        default=[],
        max_length=4096,
        description="x, y of each module in the stored images; as [detector] says when not given",
    )
    orientations: list[Annotated[tuple[Turn, bool], Strict(False)]] = Field(
        default=[],
        max_length=4096,
        description="turn and flip of each module at its place; as [detector] says when not given",
    )

    @model_validator(mode="after")
    def _way_of_every_module(self) -> Self:
        if len(self.orientations) not in (0, len(self.places)):
            raise ValueError(
                f"{len(self.orientations)} orientations for {len(self.places)} places; give one each, or none"
            )
        return self

    def resolved(self, base: Path) -> Self:
        follow = [located(name, base) for name in self.follow]
        return self.model_copy(update={"path": located(self.path, base), "follow": follow})


DatasetSpec = Annotated[
    JungfrauSpec | PatternSpec | FilesSpec | DirectorySpec | StoredSpec, Field(discriminator="kind")
]
AnyDatasetSpec = JungfrauSpec | PatternSpec | FilesSpec | DirectorySpec | StoredSpec

_ADAPTER: TypeAdapter[AnyDatasetSpec] = TypeAdapter(DatasetSpec)


def parse_dataset_spec(values: Mapping[str, Any]) -> AnyDatasetSpec:
    """Check a [dataset] section. Raise pydantic.ValidationError that names the keys."""
    return _ADAPTER.validate_python(dict(values))
