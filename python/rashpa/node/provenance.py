# SPDX-License-Identifier: Apache-2.0
"""What went into the pixels, for the output file: calibration maps with their files and checksums, kernels with their parameters."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from rashpa.control.dataset_spec import AnyDatasetSpec
from rashpa.control.kernels import Kernel
from rashpa.control.pipeline import leaves
from rashpa.data.dataset_spec import DirectorySpec, FilesSpec
from rashpa.data.regular_file import open_regular
from rashpa.node.calibration import Maps

_KINDS = ("pedestal", "gain", "mask")
_PIECE_BYTES = 1 << 20


def calibration_facts(spec: AnyDatasetSpec, maps: Sequence[Maps]) -> list[tuple[str, str, str]]:
    """Of each map that was used: "pedestal_0", the file, its SHA-256. Where a map was computed: by what, and the SHA-256 of its values
    (float32 or uint32, little-endian, row by row). OSError when a file cannot be read."""
    facts = []
    for module, one in enumerate(maps):
        for kind in _KINDS:
            files = list(_files_of(spec, kind, module))
            values: NDArray[Any] = getattr(one, kind)
            sha256 = _of_files(files) if files else hashlib.sha256(values.tobytes()).hexdigest()
            facts.append((f"{kind}_{module}", ", ".join(files) or f"computed: dataset {spec.kind}", sha256))
    return facts


def pixel_units(kernels: Sequence[Kernel]) -> str:
    """What a pixel's value means; empty for raw words of the detector."""
    if not kernels:
        return ""
    left = ""
    for kernel in kernels:
        left = leaves(kernel, left)
    return "keV" if left == "float32" else "photons"


def _files_of(spec: AnyDatasetSpec, kind: str, module: int) -> Iterator[str]:
    if isinstance(spec, DirectorySpec):
        yield str(Path(spec.path) / f"module{module}_{kind}.npy")
    elif isinstance(spec, FilesSpec) and spec.calibration is not None:
        entries = getattr(spec.calibration, kind)
        if module < len(entries):
            entry = entries[module]
            yield from [entry] if isinstance(entry, str) else entry


def sha256_of(file: Path) -> str:
    """Of the bytes of a file. OSError when it cannot be read."""
    return _of_files([str(file)])


def _of_files(references: Sequence[str]) -> str:
    """Of several: of all their bytes, one after the other."""
    sha256 = hashlib.sha256()
    for reference in references:
        name, separator, _ = reference.rpartition(":")
        with open_regular(name if separator and name.endswith(".npz") else reference) as file:
            while piece := file.read(_PIECE_BYTES):
                sha256.update(piece)
    return sha256.hexdigest()
