# SPDX-License-Identifier: Apache-2.0
"""Gives the control plane access to the models of [dataset], which are in rashpa.data, where datasets are loaded."""

from rashpa.data.datasets.dataset_spec import (
    AnyDatasetSpec,
    DatasetSpec,
    DirectorySpec,
    FilesSpec,
    JungfrauSpec,
    PatternSpec,
    StoredSpec,
    parse_dataset_spec,
)

__all__ = [
    "AnyDatasetSpec",
    "DatasetSpec",
    "DirectorySpec",
    "FilesSpec",
    "JungfrauSpec",
    "PatternSpec",
    "StoredSpec",
    "parse_dataset_spec",
]
