"""What a telegram says of the dataset, as the model that the data package understands."""

import json
from typing import Any

from pydantic import ValidationError

from rashpa.control import telegram
from rashpa.control.dataset_spec import AnyDatasetSpec, parse_dataset_spec
from rashpa.node.engine import EngineError


def parameters_of(part: telegram.Kernel | telegram.Sink | telegram.Dataset) -> dict[str, Any]:
    """The parameters of a telegram part, decoded. EngineError when one is no JSON."""
    try:
        return {parameter.name: json.loads(parameter.value) for parameter in part.parameters}
    except (ValueError, RecursionError) as error:
        raise EngineError("config", f"a parameter of {type(part).__name__} is no JSON: {error}") from None


def spec_of(dataset: telegram.Dataset) -> AnyDatasetSpec:
    """The dataset's specification. EngineError names what is wrong with it."""
    try:
        return parse_dataset_spec({"kind": dataset.kind, **parameters_of(dataset)})
    except ValidationError as error:
        first = error.errors()[0]
        raise EngineError(
            "config", f"dataset {dataset.kind}: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        ) from None
