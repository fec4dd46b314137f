# SPDX-License-Identifier: Apache-2.0
"""Tables of datasets and calibrations are checked before anything is made, and errors name the wrong key."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from rashpa.data.datasets.calibration_spec import CalibrationSpec
from rashpa.data.datasets.dataset_spec import FilesSpec, JungfrauSpec, parse_dataset_spec

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
        ({"kind": "directory"}, "path"),
    ],
)
def test_a_wrong_section_is_refused_with_the_key(values: dict[str, Any], key: str) -> None:
    with pytest.raises(ValidationError, match=key):
        parse_dataset_spec(values)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({}, "pedestal is needed"),
        ({"pedestal": ["a.npy"]}, "gain is needed"),
        ({**CALIBRATION, "mask": ["a", "b"]}, "one a module"),
        ({**CALIBRATION, "simulated_seed": 1}, "leave one out"),
        ({**CALIBRATION, "gain_unit": "keV"}, "gain_unit"),
    ],
)
def test_a_wrong_calibration_is_refused(values: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        CalibrationSpec.model_validate(values)


def test_relative_paths_count_from_the_given_folder_and_absolute_ones_stay() -> None:
    base = Path("/data")
    spec = FilesSpec.model_validate({"kind": "files", "files": [["x.npy", "/y.npy"]]})
    assert spec.resolved(base).files == [["/data/x.npy", "/y.npy"]]
    calibration = CalibrationSpec.model_validate(CALIBRATION).resolved(base)
    assert calibration.pedestal == [["/data/a0", "/data/a1", "/data/a2"]]
    assert calibration.gain == ["/data/g.npz:gain"]
    assert [str(path) for path in calibration.files()] == ["/data/a0", "/data/a1", "/data/a2", "/data/g.npz"]
    assert parse_dataset_spec({"kind": "directory", "path": "d"}).resolved(base).path == "/data/d"  # type: ignore[union-attr]


def test_a_resolved_section_survives_the_way_through_json() -> None:
    spec = FilesSpec.model_validate({"kind": "files", "files": [["x.npy"]]}).resolved(Path("/d"))
    assert parse_dataset_spec(spec.model_dump(mode="json")) == spec
    calibration = CalibrationSpec.model_validate(CALIBRATION).resolved(Path("/d"))
    assert CalibrationSpec.model_validate(calibration.model_dump(mode="json")) == calibration
