# SPDX-License-Identifier: Apache-2.0
"""The [dataset] section of a run file, for the control plane: the models live in rashpa.data, where datasets are also loaded."""

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
