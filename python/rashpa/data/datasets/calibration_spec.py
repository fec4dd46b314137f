# SPDX-License-Identifier: Apache-2.0
"""Describes the table [detector.calibration] of a run file: pedestal and gain of each module. Reading and checking it needs no compiled code."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from rashpa.data.datasets.calibration_reference import file_of, split_reference
from rashpa.data.datasets.spec import FileName, Spec
from rashpa.data.files.file_names import located


class CalibrationSpec(Spec):
    """Pedestal and gain for kernels that need them, with any dataset. By default they come from the dataset, if it is simulated or has them in its folder.

    Each has one entry for each module. An entry of pedestal or gain is one file [3][height][width], or a list of three files [height][width] for G0, G1 and
    G2: `.npy`, headerless float32 `.bin`, `.zst` of these, or `archive.npz:key`. Or it is a calibration file, which also has mask and RMS: `file.h5`, or
    `file.h5:3` for the maps of its module 3.
    """

    pedestal: list[FileName | list[FileName]] = Field(
        default=[], description="ADU; needed, unless the calibration is simulated"
    )
    gain: list[FileName | list[FileName]] = Field(
        default=[], description="gain files; the calibration files of `pedestal` when not given"
    )
    mask: list[FileName] = Field(
        default=[], description="uint32 [height][width], NXmx pixel_mask bits; nothing masked when not given"
    )
    storage_cells: list[Annotated[int, Field(ge=0, le=15)]] = Field(
        default=[],
        description="storage cell of each set of pedestals, whose files are [cells][3][height][width]; images of other cells are errored. One set for all "
        "cells when not given",
    )
    gain_mode: Literal["dynamic", "highgain0", "forceswitchg1", "forceswitchg2", "fixg1", "fixg2"] = Field(
        default="dynamic",
        description="setting of the detector; words of other stages are masked. highgain0: planes 3 to 5 of 6, or plane 3 of 4",
    )
    gain_unit: Literal["adu_per_kev", "adu_per_photon"] = "adu_per_kev"
    photon_energy_kev: float = Field(default=12.4, gt=0.0, description="energy of the photon in adu_per_photon")
    serial: list[str] = Field(
        default=[], description="serial of each module; a calibration file of another one is warned of before the run"
    )
    oldest_days: float = Field(
        default=30.0, ge=0.0, description="age of a calibration file that is warned of before the run; 0: none"
    )
    simulated_seed: int | None = Field(
        default=None,
        ge=0,
        le=2**64 - 1,
        description='seed of simulated modules, whose calibration stands in place of files, of a dataset of kind = "jungfrau" with this seed',
    )

    @model_validator(mode="after")
    def _one_entry_a_module(self) -> Self:
        named = [some for some in (self.pedestal, self.gain, self.mask, self.serial) if some]
        if len(set(self.storage_cells)) < len(self.storage_cells):
            raise ValueError("storage_cells: a cell is there twice; name each once")
        if self.simulated_seed is not None:
            if named or self.storage_cells:
                raise ValueError("simulated_seed and files; leave one out")
            return self
        if not self.pedestal:
            raise ValueError("pedestal is needed; name its files, one entry a module")
        if len({len(some) for some in named}) > 1:
            raise ValueError("pedestal, gain, mask and serial have different numbers of entries; give one a module")
        if not self.gain and not all(isinstance(one, str) and split_reference(one) for one in self.pedestal):
            raise ValueError(
                "gain is needed, as the files of pedestal are no calibration files that have one; name its files"
            )
        return self

    @property
    def modules(self) -> int | None:
        """Return the number of modules, None when the calibration fits any number."""
        return len(self.pedestal) if self.simulated_seed is None else None

    def resolved(self, base: Path) -> Self:
        return self.model_copy(
            update={
                "pedestal": [_resolved_entry(entry, base) for entry in self.pedestal],
                "gain": [_resolved_entry(entry, base) for entry in self.gain],
                "mask": [located(name, base) for name in self.mask],
            }
        )

    def files(self) -> Iterator[Path]:
        """Return all files of the calibration."""
        for entry in (*self.pedestal, *self.gain, *self.mask):
            for name in [entry] if isinstance(entry, str) else entry:
                yield Path(file_of(name))


def _resolved_entry(entry: str | list[str], base: Path) -> str | list[str]:
    return located(entry, base) if isinstance(entry, str) else [located(name, base) for name in entry]
