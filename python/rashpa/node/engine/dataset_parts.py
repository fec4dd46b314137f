# SPDX-License-Identifier: Apache-2.0
"""What a telegram says of datasets and calibrations, as the models that have their bounds."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from rashpa.control.runfile.dataset_spec import AnyDatasetSpec, parse_dataset_spec
from rashpa.control.telegrams import telegram
from rashpa.data.datasets.calibration_spec import CalibrationSpec
from rashpa.data.files.regular_file import json_of
from rashpa.node.engine.engine import EngineError


def spec_of(dataset: telegram.Dataset) -> AnyDatasetSpec:
    """The dataset's specification. EngineError names what is wrong with it."""
    values = {"kind": dataset.kind, **_decoded(f"dataset {dataset.kind}", dataset.parameters)}
    try:
        return parse_dataset_spec(values)
    except ValidationError as error:
        raise _explained(f"dataset {dataset.kind}", error, 1) from None


def calibration_spec_of(calibration: telegram.Calibration) -> CalibrationSpec:
    """The calibration's specification. EngineError names what is wrong with it."""
    try:
        return CalibrationSpec.model_validate(_decoded("calibration", calibration.parameters))
    except ValidationError as error:
        raise _explained("calibration", error, 0) from None


def _decoded(what: str, parameters: Sequence[telegram.Parameter]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.name in values:
            raise EngineError("config", f"{what}: {parameter.name} is given twice")
        try:
            values[parameter.name] = json_of(parameter.value)
        except (ValueError, RecursionError) as error:
            raise EngineError("config", f"{what}: {parameter.name} is no JSON: {error}") from None
    return values


def _explained(what: str, error: ValidationError, before_key: int) -> EngineError:
    """`before_key`: so many parts of the place are no keys, but the kind."""
    first = error.errors()[0]
    known = ("union_tag_invalid", "union_tag_not_found")
    if first["type"] in known:
        return EngineError("config", f"{what} is not known here")
    key = ".".join(str(part) for part in first["loc"][before_key:])
    return EngineError("config", f"{what}: {key}: {first['msg']}" if key else f"{what}: {first['msg']}")
