# SPDX-License-Identifier: Apache-2.0
"""Raw frames of each module, from our own files or from recordings, for calibration."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rashpa import _native
from rashpa.data.datasets import dataset_from_spec
from rashpa.data.hdf5.files import folders_of
from rashpa.data.older_files import MASTER
from rashpa.data.reader import Run, open_run
from rashpa.data.run_parts import RunFileError

READING_ERRORS = (RunFileError, _native.ConfigError, _native.FileError, _native.ResourceError)
"""What reading frames raises besides OSError."""


def dark_frames(
    files: Sequence[Path], width: int = 0, height: int = 0, header_bytes: int = 0, follow: Sequence[Path] = ()
) -> list[NDArray[np.uint16]]:
    """[frame][row][column] of each module, as it is read. Files of `rashpa run` hold all modules, a recording one. Raises FileError, ConfigError, RunFileError, OSError."""
    if all(file.name.endswith(MASTER) for file in files):
        runs = [_of_run(file, follow) for file in files]
        if len({len(run) for run in runs}) > 1:
            raise _native.FileError(f"{files[0]}: the files have different numbers of modules")
        return [np.concatenate([run[module] for run in runs]) for module in range(len(runs[0]))]
    shape = {"width": width, "height": height} if any(_headerless(file) for file in files) else {}
    loaded = dataset_from_spec(
        {"kind": "files", "files": [[str(file) for file in files]], "header_bytes": header_bytes, **shape}, Path.cwd()
    )
    data = loaded.dataset
    if data.pixel != "uint16":
        raise _native.FileError(f"{files[0]}: its pixels are {data.pixel}; raw words are uint16")
    return [np.stack([data.frame(0, number) for number in range(data.frames)])]


def _headerless(file: Path) -> bool:
    return file.name.removesuffix(".zst").endswith((".bin", ".raw"))


def _of_run(file: Path, follow: Sequence[Path]) -> list[NDArray[np.uint16]]:
    with open_run(file, folders=folders_of(file, follow)) as run:
        _check(run, file)
        images = np.stack([pixels for _, pixels in run.images()])
        modules = zip(run.module_places, run.module_orientations, strict=True)
        return [way.turned_back(images[:, y : y + height, x : x + width]) for (x, y, width, height), way in modules]


def _check(run: Run, file: Path) -> None:
    if run.form == "sparse" or run.dtype != np.uint16 or run.facts.pixel_units:
        raise _native.FileError(f"{file}: it holds no raw words; run without kernels, and with keep_darks = true")
    if len(run) == 0:
        raise _native.FileError(f"{file}: it holds no images; dark frames are stored with keep_darks = true")
