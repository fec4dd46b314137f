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
)
from rashpa.control.run_file import RunFile
from rashpa.control.run_file_reader import RunFileSource
from rashpa.data.regular_file import reason

_LONGEST_PATH = 200  # of what a message repeats
JUNGFRAU_SHAPE = (1024, 512, "uint16")


def resolved_dataset(file: RunFile, source: RunFileSource, node: str) -> AnyDatasetSpec:
    """For a node of this machine, relative paths count from the run file's folder; a remote node takes them from where it runs."""
    return file.dataset.resolved(source.path.resolve().parent) if node == "local" else file.dataset


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
    shape = _shape_of(spec)
    wanted = (detector.width, detector.height, detector.pixel)
    if shape is not None and shape != wanted:
        described = ["{} × {} pixels {}".format(*one) for one in (shape, wanted)]
        yield f"{source.where(('dataset',))}: the dataset has {described[0]}, [detector] says {described[1]}; make them agree"
    if here:
        absent: dict[str, list[str]] = {}
        for key, path in files_of(resolved_dataset(file, source, "local")):
            if trouble := _trouble_with(path):
                absent.setdefault(key, []).append(trouble)
        for key, troubles in absent.items():
            more = f" (and {len(troubles) - 1} more)" if len(troubles) > 1 else ""
            yield f"{source.where(('dataset', key))}: {troubles[0]}{more}"


def _shape_of(spec: AnyDatasetSpec) -> tuple[int, int, str] | None:
    if isinstance(spec, JungfrauSpec):
        return JUNGFRAU_SHAPE
    return (spec.width, spec.height, spec.pixel) if isinstance(spec, PatternSpec) else None


def files_of(spec: AnyDatasetSpec) -> Iterator[tuple[str, Path]]:
    """Key of [dataset] and path of all that the dataset is read from."""
    if isinstance(spec, DirectorySpec):
        yield "path", Path(spec.path)
    if isinstance(spec, FilesSpec):
        yield from (("files", Path(name)) for names in spec.files for name in names)
        if spec.calibration is not None:
            yield from (("calibration", path) for path in _calibration_files(spec.calibration))


def _calibration_files(calibration: CalibrationSpec) -> Iterator[Path]:
    for entry in (*calibration.pedestal, *calibration.gain, *calibration.mask):
        for name in [entry] if isinstance(entry, str) else entry:
            head, found, _ = name.rpartition(".npz:")
            yield Path(f"{head}.npz") if found else Path(name)


def _trouble_with(path: Path) -> str | None:
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
