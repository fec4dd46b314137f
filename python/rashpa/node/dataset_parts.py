"""What a telegram says of datasets, kernels and sinks, as the models that have their bounds."""

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from rashpa.control import run_file as toml
from rashpa.control import telegram
from rashpa.control.dataset_spec import AnyDatasetSpec, parse_dataset_spec
from rashpa.control.kernels import Kernel
from rashpa.control.part_orders import Hdf5Order, KernelOrder, SinkOrder
from rashpa.node.engine import EngineError

_T = TypeVar("_T")


def kernel_of(kernel: telegram.Kernel) -> Kernel:
    """EngineError names what is wrong with it."""
    return _checked(f"kernel {kernel.name}", KernelOrder, {"name": kernel.name}, kernel.parameters)


def sink_of(sink: telegram.Sink) -> Hdf5Order | toml.MemorySink | toml.NullSink:
    """EngineError names what is wrong with it."""
    return _checked(f"sink {sink.kind}", SinkOrder, {"kind": sink.kind}, sink.parameters)


def spec_of(dataset: telegram.Dataset) -> AnyDatasetSpec:
    """The dataset's specification. EngineError names what is wrong with it."""
    values = {"kind": dataset.kind, **_decoded(f"dataset {dataset.kind}", dataset.parameters)}
    try:
        return parse_dataset_spec(values)
    except ValidationError as error:
        raise _explained(f"dataset {dataset.kind}", error) from None


def _checked(what: str, model: TypeAdapter[_T], tag: dict[str, str], parameters: Sequence[telegram.Parameter]) -> _T:
    try:
        return model.validate_python({**_decoded(what, parameters), **tag}, strict=True)
    except ValidationError as error:
        raise _explained(what, error) from None


def _decoded(what: str, parameters: Sequence[telegram.Parameter]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.name in values:
            raise EngineError("config", f"{what}: {parameter.name} is given twice")
        try:
            values[parameter.name] = json.loads(parameter.value)
        except (ValueError, RecursionError) as error:
            raise EngineError("config", f"{what}: {parameter.name} is no JSON: {error}") from None
    return values


def _explained(what: str, error: ValidationError) -> EngineError:
    first = error.errors()[0]
    known = ("union_tag_invalid", "union_tag_not_found")
    if first["type"] in known:
        return EngineError("config", f"{what} is not known here")
    # a union's members stand in the location by their tags, which are no keys
    key = ".".join(str(part) for part in first["loc"] if part != what.rpartition(" ")[2])
    return EngineError("config", f"{what}: {key}: {first['msg']}")
