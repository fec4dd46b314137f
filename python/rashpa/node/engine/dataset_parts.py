# SPDX-License-Identifier: Apache-2.0
"""Converts datasets and calibrations of telegrams to the models that check their values."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from rashpa.control.runfile.dataset_spec import AnyDatasetSpec, parse_dataset_spec
from rashpa.control.telegrams import telegram
from rashpa.data.base.value_words import faults_of
from rashpa.data.datasets.calibration_spec import CalibrationSpec
from rashpa.data.files.regular_file import json_of
from rashpa.node.engine.engine import EngineError


def spec_of(dataset: telegram.Dataset) -> AnyDatasetSpec:
    """Return the dataset's specification. Raise EngineError that names the fault of the dataset."""
    values = {"kind": dataset.kind, **_decoded(f"dataset {dataset.kind}", dataset.parameters)}
    try:
        return parse_dataset_spec(values)
    except ValidationError as error:
        raise _explained(f"dataset {dataset.kind}", error, 1) from None


def calibration_spec_of(calibration: telegram.Calibration) -> CalibrationSpec:
    """Return the calibration's specification. Raise EngineError that names the fault of the calibration."""
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
    """Return a validation error in our words. `before_key`: the number of leading elements of the error's location that name the kind and not a key."""
    return EngineError("config", "\n".join(f"{what}: {fault}" for fault in faults_of(error, before_key)))
