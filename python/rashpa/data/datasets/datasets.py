# SPDX-License-Identifier: Apache-2.0
"""Loads datasets: simulated ones, recorded files or folders, with their calibration."""

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from rashpa import _native
from rashpa.data.base.bad_file import advised
from rashpa.data.base.books import DataBooks
from rashpa.data.base.value_words import faults_of
from rashpa.data.datasets.calibration import Calibration, load_calibration, simulated_calibration, simulated_rms
from rashpa.data.datasets.calibration_spec import CalibrationSpec
from rashpa.data.datasets.dataset_directory import DESCRIPTION, Description, be_new, read_description
from rashpa.data.datasets.dataset_spec import (
    AnyDatasetSpec,
    DirectorySpec,
    FilesSpec,
    JungfrauSpec,
    PatternSpec,
    StoredSpec,
    parse_dataset_spec,
)
from rashpa.data.files.file_names import IMAGES, absent, is_file, is_folder, raw_format
from rashpa.data.files.images import is_image, read_images

if TYPE_CHECKING:
    from rashpa.data.datasets.replay import Times

_log = logging.getLogger(__name__)

_GLANCE_BYTES = 128 << 20
DARK = 1
"""Flag bit of a dark frame (FrameRecord)."""
CELL_SHIFT, CELL_MASK, CELLS_DIFFER = 8, 0xF, 1 << 12
"""Bits 8 to 11 of the flags are the storage cell; bit 12: modules of the image name different ones."""
KINDS = ("dark", "blank", "hit")
"""The kinds of simulated frames; the index is the value in JungfrauDataset.kinds()."""


@dataclass(frozen=True)
class LoadedDataset:
    """Holds frames in memory, and their facts. `calibration`: one entry for each module, or empty. `kinds`: the kind of each frame, "" when unknown."""

    dataset: _native.Dataset
    source: str
    label: str  # "synthetic" | "recorded"
    calibration: list[Calibration] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    energy_kev: float | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    times: "Times | None" = None  # at which the frames are due; None: nobody asked for them
    books: DataBooks | None = None  # of the images of a stored run; None: of other kinds all frames are there

    def flags(self) -> NDArray[np.uint32]:
        """Return the flag bits of each frame."""
        return np.array([self.dataset.flags(n) for n in range(self.dataset.frames)], np.uint32)


def dataset_from_spec(
    spec: Mapping[str, Any] | AnyDatasetSpec,
    base: Path,
    making: _native.Making | None = None,
    folders: tuple[Path, ...] = (),
    calibration: CalibrationSpec | None = None,
) -> LoadedDataset:
    """Make or load the dataset that `spec` describes; relative paths start at `base`. `making`: reports the progress to another thread. `folders`:
    the folders to which links of an HDF5 file may lead, by default those in `spec`. `calibration`: replaces the dataset's own; a mapping may have it
    under the key "calibration". Raise ConfigError, FileError or ResourceError."""
    checked, calibration = _checked(spec, base, calibration)
    loaded = _loaded(checked, making, folders)
    if calibration is None:
        return loaded
    data = loaded.dataset
    return replace(loaded, calibration=load_calibration(calibration, data.height, data.width, data.modules))


def _loaded(spec: AnyDatasetSpec, making: _native.Making | None, folders: tuple[Path, ...]) -> LoadedDataset:
    if isinstance(spec, JungfrauSpec):
        return _jungfrau(spec, making)
    if isinstance(spec, PatternSpec):
        return _pattern(spec)
    if isinstance(spec, FilesSpec):
        return _files(spec, making)
    if isinstance(spec, StoredSpec):
        from rashpa.data.datasets.replay import load_replay  # HDF5, only where a run is played again

        replay = load_replay(spec, folders)
        _log.info("%s", replay.said)
        return LoadedDataset(
            replay.dataset,
            spec.path,
            "recorded",
            parameters=spec.model_dump(),
            times=replay.times,
            books=replay.books,
        )
    return load_directory(Path(spec.path), making)


def glance_at_dataset(spec: AnyDatasetSpec, base: Path, folders: tuple[Path, ...] = ()) -> _native.Dataset | None:
    """Load a part of a dataset that shows quickly whether it can be played, and raise errors as `dataset_from_spec` does. Small files are loaded
    whole, large ones not at all, and of other kinds one frame. Return None when nothing was loaded."""
    spec = spec.resolved(base)
    if isinstance(spec, FilesSpec):
        named = [Path(name) for names in spec.files for name in names]
    elif isinstance(spec, DirectorySpec):
        named = [path for path in Path(spec.path).iterdir() if is_file(path)]
    else:
        return _loaded(spec.model_copy(update={"frames": 1}), None, folders).dataset
    return _loaded(spec, None, folders).dataset if sum(path.stat().st_size for path in named) <= _GLANCE_BYTES else None


def calibration_from_spec(
    spec: Mapping[str, Any] | AnyDatasetSpec,
    base: Path,
    height: int,
    width: int,
    calibration: CalibrationSpec | None = None,
    modules: int | None = None,
) -> list[Calibration]:
    """Return the calibration of every module for a receiver, without making or reading frames; empty when there is none. `calibration`, `modules`: as
    for `dataset_from_spec` and `load_calibration`."""
    checked, calibration = _checked(spec, base, calibration)
    if calibration is not None:
        if modules is None and isinstance(checked, FilesSpec):
            modules = len(checked.files)
        return load_calibration(calibration, height, width, modules)
    if isinstance(checked, JungfrauSpec):
        return simulated_calibration(checked.seed, checked.modules)
    if isinstance(checked, DirectorySpec):
        return read_description(Path(checked.path)).load_calibration()
    return []


def load_dataset(path: Path) -> LoadedDataset:
    """Load a dataset folder, or files of frames with a known shape (.npy, .npy.zst, images): a file, a folder of files, or a pattern of names."""
    if is_folder(path) and (path / DESCRIPTION).exists():
        return load_directory(path)
    spec = FilesSpec(kind="files", files=[[str(path)]]).resolved(Path())
    if is_folder(Path(spec.files[0][0])):
        raise _native.FileError(f"dataset: {path}: the folder has neither {DESCRIPTION} nor images; give one that has")
    if not os.path.lexists(spec.files[0][0]) and ":/" not in str(path):  # an array of an HDF5 file
        raise _native.FileError(f"dataset: {path}: {absent(path, IMAGES)}")
    return _files(spec)


def load_directory(folder: Path, making: _native.Making | None = None) -> LoadedDataset:
    """Load a folder as schema/dataset.md describes it; check the files against their checksums."""
    description = read_description(folder)
    description.verify()
    files = [[str(folder / name)] for name in description.frame_files]
    dataset = _native.raw_dataset(
        files,
        width=description.width,
        height=description.height,
        pixel=description.pixel,
        flags=np.array(description.flags, np.uint32),
        making=making,
    )
    if dataset.frames != description.frames:
        raise _native.FileError(
            f"dataset: {folder}: the files have {dataset.frames} frames, dataset.json says {description.frames}; make the dataset again"
        )
    return LoadedDataset(
        dataset=dataset,
        source=str(folder),
        label=description.label,
        calibration=description.load_calibration(),
        kinds=list(description.kinds),
        energy_kev=description.energy_kev,
        parameters={"kind": description.kind, **description.parameters},
    )


def unwatched(_doing: str, _share: Callable[[], float]) -> None:
    """Ignore the progress of a step."""


def make_folder(
    spec: AnyDatasetSpec,
    folder: Path,
    begin: Callable[[str, Callable[[], float]], object] = unwatched,
    is_at: Callable[[float], object] = float,
    calibration: CalibrationSpec | None = None,
) -> None:
    """Make the dataset and write it into `folder`, which must be new or empty. `begin` is called at each step with a function that returns its
    finished share; `is_at` is called with the written share. An exception of either stops the work."""
    be_new(folder)
    making = _native.Making()
    begin("making frames", lambda: making.share)
    loaded = dataset_from_spec(spec, Path(), making, calibration=calibration)
    begin("writing them", float)
    save_dataset(loaded, folder, is_at)


def save_dataset(loaded: LoadedDataset, folder: Path, is_at: Callable[[float], object] = float) -> Path:
    """Write frames and calibration as schema/dataset.md describes into `folder`, which must be new or empty; return it. `is_at` is called with the
    written share."""
    data = loaded.dataset
    parameters = {key: value for key, value in loaded.parameters.items() if key != "kind"}
    description = Description(
        folder=folder,
        kind=str(loaded.parameters.get("kind", "files")),
        label=loaded.label,
        parameters=parameters,
        width=data.width,
        height=data.height,
        pixel=data.pixel,
        modules=data.modules,
        frames=data.frames,
        energy_kev=loaded.energy_kev,
        kinds=loaded.kinds,
        flags=[int(flag) for flag in loaded.flags()],
    )
    frames = ([data.frame(module, n) for n in range(data.frames)] for module in range(data.modules))
    description.write(frames, loaded.calibration, is_at)
    return folder


def _checked(
    spec: Mapping[str, Any] | AnyDatasetSpec, base: Path, calibration: CalibrationSpec | None
) -> tuple[AnyDatasetSpec, CalibrationSpec | None]:
    """Return specification and calibration with all paths resolved from `base`. Raise ConfigError."""
    if isinstance(spec, Mapping):
        own = {key: value for key, value in spec.items() if key != "calibration"}
        try:
            dataset = parse_dataset_spec(own)
        except ValidationError as error:
            raise _refused(faults_of(error, leading=1)) from None
        try:
            if spec.get("calibration") is not None:
                calibration = CalibrationSpec.model_validate(spec["calibration"])
        except ValidationError as error:
            raise _refused(faults_of(error, within="calibration")) from None
    else:
        dataset = spec
    if calibration is None:
        return dataset.resolved(base), None
    if isinstance(dataset, FilesSpec) and calibration.modules not in (None, len(dataset.files)):
        raise _native.ConfigError(
            f"[dataset] calibration has {calibration.modules} entries for {len(dataset.files)} modules of files; give one a module"
        )
    return dataset.resolved(base), calibration.resolved(base)


def _refused(faults: list[str]) -> _native.ConfigError:
    return _native.ConfigError("\n".join(f"[dataset] {fault}" for fault in faults))


def _jungfrau(spec: JungfrauSpec, making: _native.Making | None) -> LoadedDataset:
    data = _native.jungfrau_dataset(
        modules=spec.modules,
        frames=spec.frames,
        seed=spec.seed,
        energy_kev=spec.energy_kev,
        hit_fraction=spec.hit_fraction,
        dark_every=spec.dark_every,
        spots=spec.spots,
        background_photons=spec.background,
        places=spec.places,
        orientations=[_native.Orientation(*way) for way in spec.orientations],
        making=making,
    )
    return LoadedDataset(
        dataset=data,
        source="JUNGFRAU simulator",
        label="synthetic",
        calibration=[
            Calibration(data.pedestal(m), data.gain(m), data.mask(m), simulated_rms(data.noise(m)))
            for m in range(spec.modules)
        ],
        kinds=[KINDS[kind] for kind in data.kinds()],
        energy_kev=spec.energy_kev,
        parameters=spec.model_dump(),
    )


def _pattern(spec: PatternSpec) -> LoadedDataset:
    data = _native.pattern_dataset(spec.width, spec.height, spec.pixel, spec.modules, spec.frames)
    return LoadedDataset(data, "pattern", "synthetic", parameters=spec.model_dump())


def _files(spec: FilesSpec, making: _native.Making | None = None) -> LoadedDataset:
    images = [is_image(name) for names in spec.files for name in names]
    if spec.format == "image" or (spec.format == "auto" and any(images)):
        if spec.format == "auto" and not all(images):
            raise _native.ConfigError("[dataset] files: image files and raw files do not mix; give them separately")
        data = _images(spec)
    else:
        flags = _dark_flags(spec.dark_frames) if spec.dark_frames else None
        try:
            kind = raw_format([name for names in spec.files for name in names], spec.format)
        except ValueError as error:
            raise _native.ConfigError(f"[dataset] files: {error}") from None
        try:
            data = _native.raw_dataset(
                spec.files, spec.width, spec.height, spec.pixel, kind, spec.header_bytes, flags, making
            )
        except _native.FileError as error:
            raise _native.FileError(advised(str(error), "give files of frames that can be read")) from None
    if spec.dark_frames and max(spec.dark_frames) >= data.frames:
        raise _native.ConfigError(
            f"[dataset] dark_frames: there is no frame {max(spec.dark_frames)}; the files have {data.frames}"
        )
    if spec.storage_cells and isinstance(data, _native.MemoryDataset):  # as both kinds of files are
        for frame in range(data.frames):
            cell = spec.storage_cells[frame % len(spec.storage_cells)]
            data.set_flags(frame, data.flags(frame) | cell << CELL_SHIFT)
    return LoadedDataset(
        dataset=data,
        source=spec.files[0][0] if len(spec.files) == len(spec.files[0]) == 1 else f"{sum(map(len, spec.files))} files",
        label="recorded",
        kinds=["dark" if n in set(spec.dark_frames) else "" for n in range(data.frames)],
        energy_kev=spec.energy_kev,
        parameters=spec.model_dump(),
    )


def _dark_flags(dark_frames: list[int]) -> NDArray[np.uint32]:
    """Return the flags of the frames up to the last dark frame; later frames have no flags."""
    flags = np.zeros(max(dark_frames) + 1, np.uint32)
    flags[dark_frames] = DARK
    return flags


def _images(spec: FilesSpec) -> _native.Dataset:
    modules = [read_images(names) for names in spec.files]
    for module, frames in enumerate(modules):
        if frames.shape != modules[0].shape or frames.dtype != modules[0].dtype:
            raise _native.FileError(
                f"dataset: module {module} has {frames.shape} {frames.dtype}, module 0 {modules[0].shape} {modules[0].dtype}"
            )
    height, width = modules[0].shape[1:]
    if spec.width not in (0, width) or spec.height not in (0, height):
        raise _native.FileError(
            f"dataset: {spec.files[0][0]}: {width} x {height} pixels, not {spec.width} x {spec.height} as asked for; correct width and height"
        )
    flags = np.zeros(modules[0].shape[0], np.uint32)
    flags[[n for n in spec.dark_frames if n < len(flags)]] = DARK
    return _native.memory_dataset(np.ascontiguousarray(np.stack(modules, axis=1)), flags)
