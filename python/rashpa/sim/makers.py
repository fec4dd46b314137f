# SPDX-License-Identifier: Apache-2.0
"""Makes dataset folders (schema/dataset.md)."""

from pathlib import Path

from rashpa.data.datasets.dataset_spec import AnyDatasetSpec, JungfrauSpec
from rashpa.data.datasets.datasets import make_folder


def make_dataset(spec: AnyDatasetSpec, folder: Path) -> Path:
    """Make the dataset of `spec` and write it into `folder`, which must be new or empty. Return the folder."""
    make_folder(spec, folder)
    return folder


def make_jungfrau(
    folder: Path,
    *,
    modules: int = 2,
    frames: int = 60,
    seed: int = 1,
    energy_kev: float = 12.4,
    hit_fraction: float = 0.3,
    dark_every: int = 10,
    spots: int = 80,
    background: float = 1.0,
) -> Path:
    """Write synthetic JUNGFRAU frames with their calibration into `folder`; the parameters are those of a run file's [dataset]."""
    spec = JungfrauSpec(
        kind="jungfrau",
        modules=modules,
        frames=frames,
        seed=seed,
        energy_kev=energy_kev,
        hit_fraction=hit_fraction,
        dark_every=dark_every,
        spots=spots,
        background=background,
    )
    return make_dataset(spec, folder)
