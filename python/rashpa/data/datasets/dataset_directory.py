# SPDX-License-Identifier: Apache-2.0
"""Reads, checks and writes a dataset as a folder of `.npy` files and `dataset.json` (schema/dataset.md)."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rashpa import _native
from rashpa.data.base.value_words import faults_of
from rashpa.data.datasets.calibration import Calibration, load_map
from rashpa.data.datasets.dataset_spec import PixelName, Side
from rashpa.data.files.regular_file import json_of, open_regular, read_regular, reason

DESCRIPTION = "dataset.json"
FORMAT = "rashpa-dataset"
VERSION = 1
MOST_BYTES = 64 << 20
"""The most bytes of dataset.json: millions of frames."""


@dataclass
class Description:
    """Holds the content of `dataset.json`, and its folder."""

    folder: Path
    kind: str
    label: str
    parameters: dict[str, Any]
    width: int
    height: int
    pixel: str
    modules: int
    frames: int
    energy_kev: float | None
    kinds: Sequence[str]
    flags: Sequence[int]
    sha256: dict[str, str] = field(default_factory=dict)

    @property
    def frame_files(self) -> list[str]:
        return [f"module{module}_raw.npy" for module in range(self.modules)]

    @property
    def has_calibration(self) -> bool:
        return "module0_pedestal.npy" in self.sha256

    def verify(self) -> None:
        """Check all files against their checksums. Raise FileError when a file is missing or has changed."""
        for name, expected in self.sha256.items():
            path = self.folder / name
            try:
                found = _sha256(path)
            except FileNotFoundError:
                raise _native.FileError(f"dataset: {path}: it is missing; make the dataset again") from None
            except OSError as error:
                raise _native.FileError(f"dataset: {path}: {reason(error)}") from None
            if found != expected:
                raise _native.FileError(
                    f"dataset: {path}: its SHA-256 is not the one in {DESCRIPTION}; make the dataset again"
                )
        missing = [name for name in self.frame_files if name not in self.sha256]
        if missing:
            raise _native.FileError(
                f"dataset: {self.folder / DESCRIPTION}: files has no entry {missing[0]}; make the dataset again"
            )

    def load_calibration(self) -> list[Calibration]:
        if not self.has_calibration:
            return []
        gains, one = (3, self.height, self.width), (self.height, self.width)

        def load(module: int, what: str, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
            return load_map(str(self.folder / f"module{module}_{what}.npy"), np.dtype(dtype), shape)

        return [
            Calibration(load(m, "pedestal", "<f4", gains), load(m, "gain", "<f4", gains), load(m, "mask", "<u4", one))
            for m in range(self.modules)
        ]

    def write(
        self,
        frames: Iterable[Sequence[NDArray[Any]]],
        calibration: Sequence[Calibration],
        is_at: Callable[[float], object] = float,
    ) -> None:
        """Write all files, `dataset.json` last, since a folder without it is no dataset. `frames`: for each module, its frames. `is_at` is called
        with the share of modules written."""
        try:
            be_new(self.folder)
            self.folder.mkdir(parents=True, exist_ok=True)
            for number, (name, module_frames) in enumerate(zip(self.frame_files, frames, strict=True)):
                is_at(number / self.modules)
                self._save(name, np.stack(module_frames))
            for module, maps in enumerate(calibration):
                self._save(f"module{module}_pedestal.npy", maps.pedestal)
                self._save(f"module{module}_gain.npy", maps.gain)
                self._save(f"module{module}_mask.npy", maps.mask)
            (self.folder / DESCRIPTION).write_text(json.dumps(self._document(), indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise _native.FileError(
                f"dataset: {error.filename or self.folder}: {reason(error)}; free some space, or choose another folder"
            ) from None

    def _save(self, name: str, array: NDArray[Any]) -> None:
        plain = np.ascontiguousarray(array)
        with (self.folder / name).open("wb") as file:
            np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(plain))
            file.write(plain.data)  # unlike numpy.save, it says what is wrong with the disk
        self.sha256[name] = _sha256(self.folder / name)

    def _document(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "label": self.label,
            "parameters": self.parameters,
            "width": self.width,
            "height": self.height,
            "pixel": self.pixel,
            "modules": self.modules,
            "frames": self.frames,
            "energy_kev": self.energy_kev,
            "frame_kind": list(self.kinds),
            "frame_flags": list(self.flags),
            "files": {name: {"sha256": digest} for name, digest in self.sha256.items()},
        }


def be_new(folder: Path) -> None:
    """Check that a dataset can be written into `folder`. Raise FileError when it cannot."""
    try:
        if folder.exists() and any(folder.iterdir()):
            raise _native.FileError(f"dataset: {folder}: the folder is not empty; choose a new one")
    except OSError as error:
        raise _native.FileError(f"dataset: {error.filename or folder}: {error.strerror}") from None


class _File(BaseModel):
    """Describes one entry of `files`."""

    sha256: str


class _Document(BaseModel):
    """Declares the form of `dataset.json` (schema/dataset.md). The file may be foreign, so that every value has a type and bounds; unknown keys are
    ignored."""

    model_config = ConfigDict(strict=True)

    format: Literal["rashpa-dataset"]
    version: Literal[1]
    kind: str
    label: str
    parameters: dict[str, Any]
    width: Side
    height: Side
    pixel: PixelName
    modules: int = Field(ge=1, le=4096)
    frames: int = Field(ge=1)
    energy_kev: float | None = Field(gt=0.0, allow_inf_nan=False)
    frame_kind: list[str]
    frame_flags: list[Annotated[int, Field(ge=0, le=2**32 - 1)]]
    files: dict[str, _File]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(self.frame_flags) != self.frames or len(self.frame_kind) not in (0, self.frames):
            raise ValueError(f"frame_flags and frame_kind need one entry for each of {self.frames} frames")
        outside = [name for name in self.files if Path(name).name != name or "\0" in name]
        if outside:
            raise ValueError(f"files: {outside[0]!r} does not lie in the folder itself")
        return self


def read_description(folder: Path) -> Description:
    """Read and check `dataset.json` of `folder`. Raise FileError."""
    path = folder / DESCRIPTION
    try:
        document = json_of(read_regular(path, MOST_BYTES).decode("utf-8"))
    except OSError as error:
        raise _native.FileError(
            f"dataset: {path}: {reason(error)}; `rashpa dataset make` writes such a folder"
        ) from None
    except (ValueError, RecursionError) as error:
        raise _native.FileError(f"dataset: {path}: it is no JSON: {error}; make the dataset again") from None
    try:
        found = _Document.model_validate(document)
    except ValidationError as error:
        faults = faults_of(error)
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise _native.FileError(f"dataset: {path}: {faults[0][:300]}{more}") from None
    return Description(
        folder=folder,
        kind=found.kind,
        label=found.label,
        parameters=found.parameters,
        width=found.width,
        height=found.height,
        pixel=found.pixel,
        modules=found.modules,
        frames=found.frames,
        energy_kev=found.energy_kev,
        kinds=found.frame_kind,
        flags=found.frame_flags,
        sha256={name: file.sha256 for name, file in found.files.items()},
    )


def _sha256(path: Path) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
