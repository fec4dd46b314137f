# SPDX-License-Identifier: Apache-2.0
"""Checks, without reading frames, that dataset and calibration of a run file exist and fit the detector."""

import os
from collections.abc import Iterator
from pathlib import Path

from rashpa.control.runfile.dataset_spec import (
    AnyDatasetSpec,
    DirectorySpec,
    FilesSpec,
    JungfrauSpec,
    PatternSpec,
    StoredSpec,
)
from rashpa.control.runfile.kernels import declaration
from rashpa.control.runfile.pipeline import PIXEL_BYTES
from rashpa.control.runfile.run_file import RunFile
from rashpa.control.runfile.run_file_reader import RunFileSource
from rashpa.data.datasets.calibration_spec import CalibrationSpec
from rashpa.data.files.file_names import NumberingError, frame_files, in_order, is_file, is_pattern, located
from rashpa.data.files.regular_file import json_of, read_regular, reason

_LONGEST_PATH = 200  # of a path that a message repeats
MOST_DESCRIPTION = 64 << 20  # bytes of dataset.json
JUNGFRAU_SHAPE = (1024, 512, "uint16")


def resolved_dataset(file: RunFile, source: RunFileSource, node: str) -> AnyDatasetSpec:
    """Return the dataset with resolved paths. For a node of this machine, relative paths start at the run file's folder; a remote node resolves them
    from its working folder. Simulated modules get the detector's places and orientations."""
    spec = file.dataset
    if isinstance(spec, JungfrauSpec) and not spec.places and len(file.detector.module) == spec.modules:
        update: dict[str, object] = {"places": [(module.x, module.y) for module in file.detector.module]}
        if not all(module.orientation.upright for module in file.detector.module):
            update["orientations"] = [(module.turn, module.flip) for module in file.detector.module]
        return spec.model_copy(update=update)
    if isinstance(spec, StoredSpec):
        spec = _with_modules(spec, file)
    return spec.resolved(source.path.resolve().parent) if node == "local" else spec


def resolved_calibration(file: RunFile, source: RunFileSource, node: str) -> CalibrationSpec | None:
    """Return the calibration with paths resolved as in `resolved_dataset`; None without one."""
    spec = file.detector.calibration
    return spec if spec is None or node != "local" else spec.resolved(source.path.resolve().parent)


def _with_modules(spec: StoredSpec, file: RunFile) -> StoredSpec:
    """Return the specification with stored images cut into the modules of the detector."""
    detector = file.detector
    update: dict[str, object] = {"width": spec.width or detector.width, "height": spec.height or detector.height}
    if spec.bad_pixels == "auto":
        update["bad_pixels"] = "masked" if any(buffer.kernel for buffer in file.buffer) else "as_stored"
    if spec.masked == "delivered":
        update["masked"] = detector.masked
    if not spec.places:
        update["places"] = [(module.x, module.y) for module in detector.module]
        update["orientations"] = [(module.turn, module.flip) for module in detector.module]
    return spec.model_copy(update=update)


def dataset_problems(file: RunFile, source: RunFileSource, here: bool) -> Iterator[str]:
    """Yield a line for each fault of [dataset]. `here`: True when this machine reads it, so that its files must exist here."""
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
            "give an entry a module: a file, a pattern, a folder, or a list of these"
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
    if here:
        yield from _file_problems(file, source, resolved_dataset(file, source, "local"))


def calibration_problems(file: RunFile, source: RunFileSource, here: bool) -> Iterator[str]:
    """Yield a line for each fault of [detector.calibration], and for each missing calibration that kernels need. `here`: True when a receiver of this
    machine reads it."""
    where = source.where(("detector", "calibration"))
    modules = len(file.detector.module)
    spec = file.detector.calibration
    if spec is None:
        yield from _lacking_calibration(file, source)
        return
    if spec.modules not in (None, modules):
        yield f"{where}: calibration of {spec.modules} modules, [[detector.module]] lists {modules}; give one entry a module"
    if spec.simulated_seed is not None and (file.detector.width, file.detector.height) != JUNGFRAU_SHAPE[:2]:
        yield f"{source.where(('detector', 'calibration', 'simulated_seed'))}: simulated modules have 1024 × 512 pixels; name files of pedestal and gain"
    resolved = resolved_calibration(file, source, "local") if here else None
    if resolved is not None:
        yield from _said_once(where, list(filter(None, map(trouble_with, resolved.files()))))


def dataset_calibrates(file: RunFile) -> bool:
    """Return True when kernels take their calibration from the dataset's folder."""
    return (
        file.detector.calibration is None
        and isinstance(file.dataset, DirectorySpec)
        and any(declaration(kernel.name).calibration for buffer in file.buffer for kernel in buffer.kernel)
    )


def _lacking_calibration(file: RunFile, source: RunFileSource) -> Iterator[str]:
    """Yield a line for each kernel that needs a calibration when the dataset's kind has none."""
    if isinstance(file.dataset, JungfrauSpec | DirectorySpec):
        return
    for number, buffer in enumerate(file.buffer):
        for position, kernel in enumerate(buffer.kernel):
            if declaration(kernel.name).calibration:
                yield (
                    f"{source.where(('buffer', number, 'kernel', position, 'name'))}: kernel {kernel.name} needs pedestal and gain, and dataset "
                    f"{file.dataset.kind} has none; name them in [detector.calibration], or leave the kernel out"
                )


def _said_once(where: str, troubles: list[str]) -> Iterator[str]:
    more = f" (and {len(troubles) - 1} more)" if len(troubles) > 1 else ""
    if troubles:
        yield f"{where}: {troubles[0]}{more}"


def _file_problems(file: RunFile, source: RunFileSource, spec: AnyDatasetSpec) -> Iterator[str]:
    """Yield the faults of files that this machine reads, as far as they can be found without reading frames."""
    found: dict[str, list[str]] = {}
    for key, path in files_of(spec):
        if trouble := trouble_with(path):
            found.setdefault(key, []).append(trouble)
    if not found and isinstance(spec, FilesSpec):
        found["files"] = [*_number_problems(file, source), *_size_problems(file, spec)]
    if not found and isinstance(spec, DirectorySpec):
        found["path"] = list(_description_problems(file, Path(spec.path)))
    for key, troubles in found.items():
        yield from _said_once(source.where(("dataset", key)), troubles)


def _number_problems(file: RunFile, source: RunFileSource) -> Iterator[str]:
    """Yield a line for each pattern or folder with gaps in the numbers of its files."""
    base = source.path.resolve().parent
    written = file.dataset.files if isinstance(file.dataset, FilesSpec) else []
    for name in (located(name, base) for names in written for name in names):
        if is_pattern(name):
            try:
                in_order(frame_files(name))
            except NumberingError as error:
                yield f"{name}: {error}; put it there, or name the files one by one"


def _size_problems(file: RunFile, spec: FilesSpec) -> Iterator[str]:
    """Yield a line for each headerless file that does not hold a whole number of frames."""
    detector = file.detector
    frame = detector.width * detector.height * PIXEL_BYTES[spec.pixel]
    for name in (name for names in spec.files for name in names):
        path = Path(name)
        if not is_file(path):
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
    """Yield the faults of a dataset's folder: a description that contradicts [detector], or a missing calibration that kernels need."""
    try:
        said = json_of(read_regular(folder / "dataset.json", MOST_DESCRIPTION))
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
    needing = [one.name for buffer in file.buffer for one in buffer.kernel if declaration(one.name).calibration]
    if needing and file.detector.calibration is None and "module0_pedestal.npy" not in files:
        yield f"kernel {needing[0]} needs pedestal and gain, and {folder} has none; name them in [detector.calibration], or leave the kernel out"


def _shape_of(spec: AnyDatasetSpec) -> tuple[int, int, str] | None:
    if isinstance(spec, JungfrauSpec):
        return JUNGFRAU_SHAPE
    return (spec.width, spec.height, spec.pixel) if isinstance(spec, PatternSpec) else None


def files_of(spec: AnyDatasetSpec) -> Iterator[tuple[str, Path]]:
    """Yield the key of [dataset] and the path of all files of the dataset."""
    if isinstance(spec, DirectorySpec | StoredSpec):
        yield "path", Path(spec.path)
    if isinstance(spec, StoredSpec):
        yield from (("follow", Path(folder)) for folder in spec.follow)
    if isinstance(spec, FilesSpec):
        yield from (("files", Path(name)) for names in spec.files for name in names)


def trouble_with(path: Path) -> str | None:
    """Return the reason why a file cannot be read, None when no reason is known."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return _nearest(path)
    except OSError as error:
        return f"{str(path)[:_LONGEST_PATH]}: {reason(error)}"
    return None


def _nearest(path: Path) -> str:
    """Return the missing part of a path: the file, or the first folder that does not exist."""
    path = Path(os.path.normpath(path))
    folder = path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if folder == path.parent:
        return f"{path} does not exist; the folder {folder} does: check the name"
    return f"{path} does not exist, nor does its folder; {folder} is there. Relative paths count from the run file's folder"
