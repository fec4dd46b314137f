# SPDX-License-Identifier: Apache-2.0
"""Whether the dataset of a run file is there and fits the detector, as far as that can be said without reading it."""

import os
from collections.abc import Iterator
from pathlib import Path

from rashpa.control.dataset_spec import (
    AnyDatasetSpec,
    CalibrationSpec,
    DirectorySpec,
    FilesSpec,
    JungfrauSpec,
    PatternSpec,
    StoredSpec,
)
from rashpa.control.run_file import RunFile
from rashpa.control.run_file_reader import RunFileSource
from rashpa.data.calibration_reference import file_of
from rashpa.data.regular_file import json_of, read_regular, reason

_LONGEST_PATH = 200  # of what a message repeats
_MOST_DESCRIPTION = 64 << 20  # bytes of dataset.json
_PIXEL_BYTES = {"uint8": 1, "uint16": 2, "int16": 2, "uint32": 4, "int32": 4, "float32": 4}
JUNGFRAU_SHAPE = (1024, 512, "uint16")


def resolved_dataset(file: RunFile, source: RunFileSource, node: str) -> AnyDatasetSpec:
    """For a node of this machine, relative paths count from the run file's folder; a remote node takes them from where it runs. Simulated
    modules lie where, and as, the detector has them."""
    spec = file.dataset
    if isinstance(spec, JungfrauSpec) and not spec.places and len(file.detector.module) == spec.modules:
        update: dict[str, object] = {"places": [(module.x, module.y) for module in file.detector.module]}
        if not all(module.orientation.upright for module in file.detector.module):
            update["orientations"] = [(module.turn, module.flip) for module in file.detector.module]
        return spec.model_copy(update=update)
    if isinstance(spec, StoredSpec):
        spec = _with_modules(spec, file)
    return spec.resolved(source.path.resolve().parent) if node == "local" else spec


def _with_modules(spec: StoredSpec, file: RunFile) -> StoredSpec:
    """Stored images are cut into the modules of the detector."""
    detector = file.detector
    update: dict[str, object] = {"width": spec.width or detector.width, "height": spec.height or detector.height}
    if spec.masked == "delivered":
        update["masked"] = detector.masked
    if not spec.places:
        update["places"] = [(module.x, module.y) for module in detector.module]
        update["orientations"] = [(module.turn, module.flip) for module in detector.module]
    return spec.model_copy(update=update)


def dataset_problems(file: RunFile, source: RunFileSource, here: bool) -> Iterator[str]:
    """What is wrong with [dataset], a line each. `here`: an emulator of this machine reads it, so that its files must be there."""
    spec = file.dataset
    detector = file.detector
    if isinstance(spec, JungfrauSpec | PatternSpec) and spec.modules != len(detector.module):
        yield (
            f"{source.where(('dataset', 'modules'))}: the dataset has {spec.modules} modules, [[detector.module]] lists {len(detector.module)}; "
            "make them agree"
        )
    if isinstance(spec, FilesSpec) and len(spec.files) != len(detector.module):
        yield (
            f"{source.where(('dataset', 'files'))}: files of {len(spec.files)} modules, [[detector.module]] lists {len(detector.module)}; "
            "files is a list of lists, one a module"
        )
    if isinstance(spec, StoredSpec) and spec.places and len(spec.places) != len(detector.module):
        yield (
            f"{source.where(('dataset', 'places'))}: places of {len(spec.places)} modules, [[detector.module]] lists {len(detector.module)}; "
            "give one each, or none"
        )
    shape = _shape_of(spec)
    wanted = (detector.width, detector.height, detector.pixel)
    if shape is not None and shape != wanted:
        described = ["{} × {} pixels {}".format(*one) for one in (shape, wanted)]
        yield f"{source.where(('dataset',))}: the dataset has {described[0]}, [detector] says {described[1]}; make them agree"
    yield from _calibration_problems(file, source)
    if here:
        yield from _file_problems(file, source, resolved_dataset(file, source, "local"))


def _calibration_problems(file: RunFile, source: RunFileSource) -> Iterator[str]:
    spec = file.dataset
    if not isinstance(spec, PatternSpec) and not (isinstance(spec, FilesSpec) and spec.calibration is None):
        return
    what = "name them in [dataset.calibration]" if isinstance(spec, FilesSpec) else 'take kind = "jungfrau"'
    for number, buffer in enumerate(file.buffer):
        for position, kernel in enumerate(buffer.kernel):
            if kernel.name == "jungfrau":
                yield (
                    f"{source.where(('buffer', number, 'kernel', position, 'name'))}: kernel jungfrau needs pedestal and gain, and dataset {spec.kind} "
                    f"has none; {what}, or leave the kernel out"
                )


def _file_problems(file: RunFile, source: RunFileSource, spec: AnyDatasetSpec) -> Iterator[str]:
    """Of files that this machine reads: what can be seen without reading frames."""
    found: dict[str, list[str]] = {}
    for key, path in files_of(spec):
        if trouble := trouble_with(path):
            found.setdefault(key, []).append(trouble)
    if not found and isinstance(spec, FilesSpec):
        found["files"] = list(_size_problems(file, spec))
    if not found and isinstance(spec, DirectorySpec):
        found["path"] = list(_description_problems(file, Path(spec.path)))
    for key, troubles in found.items():
        more = f" (and {len(troubles) - 1} more)" if len(troubles) > 1 else ""
        if troubles:
            yield f"{source.where(('dataset', key))}: {troubles[0]}{more}"


def _size_problems(file: RunFile, spec: FilesSpec) -> Iterator[str]:
    """Of headerless files: frames are whole."""
    detector = file.detector
    frame = detector.width * detector.height * _PIXEL_BYTES[spec.pixel]
    for name in (name for names in spec.files for name in names):
        path = Path(name)
        if not path.is_file():
            yield f"{name} is no file; name the files of frames"
        elif 0 in (spec.width, spec.height) and (
            spec.format == "bin" or (spec.format == "auto" and path.suffix == ".bin")
        ):
            yield f"{name} has no header that says its shape; set width, height and pixel of [dataset], as [detector] has them"
        elif spec.format == "bin" or (spec.format == "auto" and path.suffix == ".bin"):
            size = path.stat().st_size
            if size == 0 or size % (frame + spec.header_bytes):
                header = f" and a header of {spec.header_bytes}" if spec.header_bytes else ""
                yield (
                    f"{name} has {size} bytes, which are no whole frames of {frame} bytes{header} ({detector.width} × {detector.height} pixels "
                    f"{spec.pixel}); set header_bytes, or width, height and pixel, as the file has them"
                )


def _description_problems(file: RunFile, folder: Path) -> Iterator[str]:
    """Of a dataset's folder: its description says what [detector] says, and has the calibration that kernels need."""
    try:
        said = json_of(read_regular(folder / "dataset.json", _MOST_DESCRIPTION))
        shape = [said[name] for name in ("modules", "width", "height", "pixel")]
        files = [str(name) for name in said["files"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        yield f"{folder} is no dataset: it has no dataset.json that can be read; make it again with `rashpa dataset make`"
        return
    detector = file.detector
    wanted = [len(detector.module), detector.width, detector.height, detector.pixel]
    if shape != wanted:
        described = ["{} modules of {} × {} pixels {}".format(*one) for one in (shape, wanted)]
        yield f"the dataset has {described[0]}, [detector] says {described[1]}; make them agree"
    kernels = {kernel.name for buffer in file.buffer for kernel in buffer.kernel}
    if "jungfrau" in kernels and "module0_pedestal.npy" not in files:
        yield f"kernel jungfrau needs pedestal and gain, and {folder} has none; take a dataset with calibration, or leave the kernel out"


def _shape_of(spec: AnyDatasetSpec) -> tuple[int, int, str] | None:
    if isinstance(spec, JungfrauSpec):
        return JUNGFRAU_SHAPE
    return (spec.width, spec.height, spec.pixel) if isinstance(spec, PatternSpec) else None


def files_of(spec: AnyDatasetSpec) -> Iterator[tuple[str, Path]]:
    """Key of [dataset] and path of all that the dataset is read from."""
    if isinstance(spec, DirectorySpec | StoredSpec):
        yield "path", Path(spec.path)
    if isinstance(spec, StoredSpec):
        yield from (("follow", Path(folder)) for folder in spec.follow)
    if isinstance(spec, FilesSpec):
        yield from (("files", Path(name)) for names in spec.files for name in names)
        if spec.calibration is not None:
            yield from (("calibration", path) for path in _calibration_files(spec.calibration))


def _calibration_files(calibration: CalibrationSpec) -> Iterator[Path]:
    for entry in (*calibration.pedestal, *calibration.gain, *calibration.mask):
        for name in [entry] if isinstance(entry, str) else entry:
            yield Path(file_of(name))


def trouble_with(path: Path) -> str | None:
    """Why a file cannot be there to be read; None: nothing speaks against it."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return _nearest(path)
    except OSError as error:
        return f"{str(path)[:_LONGEST_PATH]}: {reason(error)}"
    return None


def _nearest(path: Path) -> str:
    """What is missing: the file, or already a folder above it."""
    path = Path(os.path.normpath(path))
    folder = path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if folder == path.parent:
        return f"{path} does not exist; the folder {folder} does: check the name"
    return f"{path} does not exist, nor does its folder; {folder} is there. Relative paths count from the run file's folder"
