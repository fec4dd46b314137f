# SPDX-License-Identifier: Apache-2.0
"""Describes the origin of pixels for the output file: calibration maps with their files and checksums, kernels with their parameters."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from rashpa.control.runfile.dataset_spec import AnyDatasetSpec
from rashpa.data.datasets.calibration_reference import file_of, split_reference
from rashpa.data.datasets.calibration_spec import CalibrationSpec
from rashpa.data.datasets.dataset_spec import DirectorySpec
from rashpa.data.files.regular_file import open_regular
from rashpa.node.engine.calibration import Maps

_KINDS = ("pedestal", "gain", "mask")
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class CalibrationFact:
    """Describes a calibration map: its kind ("pedestal_0"), file and SHA-256. For a map of a calibration file, it also has the file's version, date
    and source, otherwise empty texts."""

    kind: str
    file: str
    sha256: str
    version: str = ""
    date: str = ""
    source: str = ""


def calibration_facts(spec: AnyDatasetSpec | CalibrationSpec, maps: Sequence[Maps]) -> list[CalibrationFact]:
    """Return the facts of each map. A computed map has the name of its computation and the SHA-256 of its values (float32 or uint32, little-endian,
    row by row). Raise OSError or CalibrationFileError when a file cannot be read."""
    facts = []
    for module, one in enumerate(maps):
        for kind in _KINDS:
            files = list(_files_of(spec, kind, module))
            values: NDArray[Any] = getattr(one, kind)
            sha256 = _of_files(files) if files else hashlib.sha256(values.tobytes()).hexdigest()
            said = ("", "", "")
            if (split := split_reference(files[0]) if len(files) == 1 else None) is not None:
                from rashpa.data.datasets.calibration_file import (
                    read_facts,  # HDF5, for the orders that name such files
                )

                known = read_facts(Path(split[0]))
                said = (str(known.version), known.date, known.source)
            facts.append(CalibrationFact(f"{kind}_{module}", ", ".join(files) or _computed(spec), sha256, *said))
    return facts


def _computed(spec: AnyDatasetSpec | CalibrationSpec) -> str:
    """Return the name of the computation of maps that come from no file."""
    if not isinstance(spec, CalibrationSpec):
        return f"computed: dataset {spec.kind}"
    return "computed: no mask" if spec.simulated_seed is None else f"computed: simulated, seed {spec.simulated_seed}"


def _files_of(spec: AnyDatasetSpec | CalibrationSpec, kind: str, module: int) -> Iterator[str]:
    if isinstance(spec, DirectorySpec):
        yield str(Path(spec.path) / f"module{module}_{kind}.npy")
    elif isinstance(spec, CalibrationSpec):
        entries = getattr(spec, kind)
        pedestal = spec.pedestal[module] if module < len(spec.pedestal) else ""
        if not entries and isinstance(pedestal, str) and split_reference(pedestal):
            yield pedestal  # a calibration file brings what is not named
        if module < len(entries):
            entry = entries[module]
            yield from [entry] if isinstance(entry, str) else entry


def sha256_of(file: Path) -> str:
    """Return the SHA-256 of a file. Raise OSError when it cannot be read."""
    with open_regular(file) as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _of_files(references: Sequence[str]) -> str:
    """Return the SHA-256 of the concatenated bytes of several files."""
    sha256 = hashlib.sha256()
    for reference in references:
        with open_regular(file_of(reference)) as file:
            while piece := file.read(_PIECE_BYTES):
                sha256.update(piece)
    return sha256.hexdigest()
