# SPDX-License-Identifier: Apache-2.0
"""The [dataset] section is checked before anything is made, and says which key is wrong."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from rashpa.data.dataset_spec import FilesSpec, JungfrauSpec, parse_dataset_spec

CALIBRATION = {"pedestal": [["a0", "a1", "a2"]], "gain": ["g.npz:gain"]}


def test_a_section_becomes_the_model_of_its_kind() -> None:
    spec = parse_dataset_spec({"kind": "jungfrau", "frames": 20, "seed": 3})
    assert isinstance(spec, JungfrauSpec)
    assert (spec.frames, spec.seed, spec.modules) == (20, 3, 2)


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"kind": "tape"}, "kind"),
        ({}, "kind"),
        ({"kind": "jungfrau", "fames": 3}, "fames"),
        ({"kind": "jungfrau", "frames": 0}, "frames"),
        ({"kind": "jungfrau", "hit_fraction": 1.5}, "hit_fraction"),
        ({"kind": "pattern", "pixel": "float64"}, "pixel"),
        ({"kind": "files", "files": []}, "files"),
        ({"kind": "files", "files": [[]]}, "files"),
        ({"kind": "files", "files": [["a"], ["b"]], "calibration": CALIBRATION}, "2 modules"),
        ({"kind": "files", "files": [["a"]], "calibration": {**CALIBRATION, "mask": ["a", "b"]}}, "one a module"),
        ({"kind": "directory"}, "path"),
    ],
)
def test_a_wrong_section_is_refused_with_the_key(values: dict[str, Any], key: str) -> None:
    with pytest.raises(ValidationError, match=key):
        parse_dataset_spec(values)


def test_relative_paths_count_from_the_given_folder_and_absolute_ones_stay() -> None:
    base = Path("/data")
    spec = FilesSpec.model_validate({"kind": "files", "files": [["x.npy", "/y.npy"]], "calibration": CALIBRATION})
    resolved = spec.resolved(base)
    assert resolved.files == [["/data/x.npy", "/y.npy"]]
    assert resolved.calibration is not None
    assert resolved.calibration.pedestal == [["/data/a0", "/data/a1", "/data/a2"]]
    assert resolved.calibration.gain == ["/data/g.npz:gain"]
    assert parse_dataset_spec({"kind": "directory", "path": "d"}).resolved(base).path == "/data/d"  # type: ignore[union-attr]


def test_a_resolved_section_survives_the_way_through_json() -> None:
    spec = FilesSpec.model_validate({"kind": "files", "files": [["x.npy"]], "calibration": CALIBRATION}).resolved(
        Path("/d")
    )
    assert parse_dataset_spec(spec.model_dump(mode="json")) == spec
