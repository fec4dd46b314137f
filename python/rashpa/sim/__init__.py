# SPDX-License-Identifier: Apache-2.0
"""Makes datasets, their summary and preview, and the expected values of the pattern."""

from rashpa.data.datasets.datasets import LoadedDataset, calibration_from_spec, dataset_from_spec, load_dataset
from rashpa.data.files.images import read_images
from rashpa.sim.makers import make_dataset, make_jungfrau
from rashpa.sim.pattern import pattern_frame

__all__ = [
    "LoadedDataset",
    "calibration_from_spec",
    "dataset_from_spec",
    "load_dataset",
    "make_dataset",
    "make_jungfrau",
    "pattern_frame",
    "read_images",
]
