"""A dataset as a folder of `.npy` files and `dataset.json` (schema/dataset.md): reading, checking and writing."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.data.calibration import Calibration, load_map

DESCRIPTION = "dataset.json"
FORMAT = "rashpa-dataset"
VERSION = 1


@dataclass
class Description:
    """What `dataset.json` says, and where it is."""

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
        """Raises FileError when a file is missing or its bytes are not those that were written."""
        for name, expected in self.sha256.items():
            path = self.folder / name
            if not path.is_file():
                raise _native.FileError(f"dataset: {path}: it is missing; make the dataset again")
            if _sha256(path) != expected:
                raise _native.FileError(
                    f"dataset: {path}: its SHA-256 is not the one in {DESCRIPTION}; make the dataset again"
                )
        missing = [name for name in self.frame_files if name not in self.sha256]
        if missing:
            raise _native.FileError(f"dataset: {self.folder / DESCRIPTION}: files has no entry {missing[0]}")

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

    def write(self, frames: Iterable[Sequence[NDArray[Any]]], calibration: Sequence[Calibration]) -> None:
        """Writes all files, `dataset.json` last: a folder that was not finished is not a dataset. `frames`: of each module."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if any(self.folder.iterdir()):
                raise _native.FileError(f"dataset: {self.folder}: the folder is not empty; choose a new one")
            for name, module_frames in zip(self.frame_files, frames, strict=True):
                self._save(name, np.stack(module_frames))
            for module, maps in enumerate(calibration):
                self._save(f"module{module}_pedestal.npy", maps.pedestal)
                self._save(f"module{module}_gain.npy", maps.gain)
                self._save(f"module{module}_mask.npy", maps.mask)
            (self.folder / DESCRIPTION).write_text(json.dumps(self._document(), indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise _native.FileError(f"dataset: {error.filename or self.folder}: {error.strerror}") from None

    def _save(self, name: str, array: NDArray[Any]) -> None:
        np.save(self.folder / name, array, allow_pickle=False)
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


def read_description(folder: Path) -> Description:
    """Reads and checks `dataset.json` of `folder`. Raises FileError."""
    path = folder / DESCRIPTION
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _native.FileError(
            f"dataset: {path}: {error.strerror}; `rashpa dataset make` writes such a folder"
        ) from None
    except ValueError as error:
        raise _native.FileError(f"dataset: {path}: {error}") from None
    try:
        return _description(folder, document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _native.FileError(f"dataset: {path}: a key is missing or wrong: {error}") from None


def _description(folder: Path, document: dict[str, Any]) -> Description:
    if document["format"] != FORMAT or document["version"] != VERSION:
        raise ValueError(f"format and version are not {FORMAT} {VERSION}")
    files = {str(name): str(entry["sha256"]) for name, entry in document["files"].items()}
    outside = [name for name in files if Path(name).name != name]
    if outside:
        raise ValueError(f"files: {outside[0]} does not lie in the folder itself")
    energy = document["energy_kev"]
    description = Description(
        folder=folder,
        kind=str(document["kind"]),
        label=str(document["label"]),
        parameters=dict(document["parameters"]),
        width=int(document["width"]),
        height=int(document["height"]),
        pixel=str(document["pixel"]),
        modules=int(document["modules"]),
        frames=int(document["frames"]),
        energy_kev=None if energy is None else float(energy),
        kinds=[str(kind) for kind in document["frame_kind"]],
        flags=[int(flag) for flag in document["frame_flags"]],
        sha256=files,
    )
    if len(description.flags) != description.frames or len(description.kinds) not in (0, description.frames):
        raise ValueError(f"frame_flags and frame_kind need one entry for each of {description.frames} frames")
    if not 1 <= description.modules <= 4096:
        raise ValueError(f"modules is {description.modules}")
    return description


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
