import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from rashpa.control import telegram
from rashpa.control.part_orders import FileMetadata, Hdf5Order
from rashpa.control.plan_telegrams import destination_telegram
from rashpa.control.run_plan import load_plan
from rashpa.node.dataset_parts import kernel_of, sink_of, spec_of
from rashpa.node.engine import EngineError

RUN = """\
[run]
name = "parts"
frames = 10
[detector]
width = 64
height = 32
[dataset]
kind = "pattern"
width = 64
height = 32
[[buffer]]
name = "full"
[[buffer.sink]]
kind = "hdf5"
"""


@pytest.fixture
def buffer(tmp_path: Path) -> telegram.Buffer:
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    plan = load_plan(path)
    destination = destination_telegram(plan, plan.receivers[0]).destination
    assert destination is not None
    return destination.buffers[0]


def changed(part: Any, **values: object) -> Any:
    """The part with other parameters; None leaves one out."""
    kept = [parameter for parameter in part.parameters if parameter.name not in values]
    new = [telegram.Parameter(name, json.dumps(value)) for name, value in values.items() if value is not None]
    return dataclasses.replace(part, parameters=(*kept, *new))


def test_what_a_plan_says_is_understood(buffer: telegram.Buffer) -> None:
    sink = sink_of(buffer.sinks[0])
    assert isinstance(sink, Hdf5Order)
    assert sink.prefix == "out/parts_full"
    assert isinstance(sink.metadata, FileMetadata)
    assert sink.metadata.dtps[0].width == 64
    assert kernel_of(changed(telegram.Kernel("csr"), threshold=2, capacity=1)).name == "csr"


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"threads": 100_000}, "sink hdf5: threads: Input should be less than or equal to 64"),
        ({"threads": "2"}, "sink hdf5: threads: Input should be a valid integer"),
        ({"threads": True}, "sink hdf5: threads: Input should be a valid integer"),
        ({"threads": None, "images_per_file": 0}, "sink hdf5: images_per_file: Input should be greater than"),
        ({"prefix": 7}, "sink hdf5: prefix: Input should be a valid string"),
        ({"prefix": None}, "sink hdf5: prefix: Field required"),
        ({"existing": "delete"}, "sink hdf5: existing: Input should be 'refuse' or 'replace'"),
        ({"metadata": []}, "sink hdf5: metadata: "),
        ({"metadata": {}}, "sink hdf5: metadata.detector_name: Field required"),
        ({"speed": 9}, "sink hdf5: speed: Extra inputs are not permitted"),
        ({"images_per_file": float("nan")}, "sink hdf5: images_per_file: "),
        ({"images_per_file": 10**30}, "sink hdf5: images_per_file: Input should be less than or equal to"),
    ],
)
def test_a_parameter_of_a_sink_that_cannot_be_is_named(
    buffer: telegram.Buffer, values: dict[str, object], says: str
) -> None:
    with pytest.raises(EngineError) as caught:
        sink_of(changed(buffer.sinks[0], **values))
    assert caught.value.code == "config"
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("distance_m", "far"),
        ("modules", [{"name": 1}]),
        ("labels", "x"),
        ("bit_depth_readout", -1),
        ("energy_kev", None),
    ],
)
def test_metadata_of_another_type_is_named(buffer: telegram.Buffer, name: str, value: object) -> None:
    metadata = json.loads(next(item.value for item in buffer.sinks[0].parameters if item.name == "metadata"))
    with pytest.raises(EngineError, match=rf"sink hdf5: metadata\.{name}"):
        sink_of(changed(buffer.sinks[0], metadata={**metadata, name: value}))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"threshold": "x"}, "kernel csr: threshold: Input should be a valid integer"),
        ({"threshold": 0}, "kernel csr: threshold: Input should be greater than or equal to 1"),
        ({"capacity": 2.0}, "kernel csr: capacity: Input should be less than or equal to 1"),
    ],
)
def test_a_parameter_of_a_kernel_that_cannot_be_is_named(values: dict[str, object], says: str) -> None:
    with pytest.raises(EngineError) as caught:
        kernel_of(changed(telegram.Kernel("csr"), **values))
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize("value", ["{", "[" * 100_000, "", "nothing"])
def test_a_value_that_is_no_json_is_named(value: str) -> None:
    parameter = telegram.Parameter("capacity", value)
    for read in (
        lambda: sink_of(telegram.Sink("memory", (parameter,))),
        lambda: kernel_of(telegram.Kernel("csr", (parameter,))),
        lambda: spec_of(telegram.Dataset("pattern", (parameter,))),
    ):
        with pytest.raises(EngineError, match="capacity is no JSON"):
            read()


def test_kinds_that_are_not_known_and_parameters_given_twice_are_refused() -> None:
    twice = (telegram.Parameter("capacity", "1"), telegram.Parameter("capacity", "2"))
    for read, says in (
        (lambda: sink_of(telegram.Sink("tape")), "sink tape is not known here"),
        (lambda: kernel_of(telegram.Kernel("magic")), "kernel magic is not known here"),
        (lambda: spec_of(telegram.Dataset("dream")), "dataset dream is not known here"),
        (lambda: sink_of(telegram.Sink("memory", twice)), "sink memory: capacity is given twice"),
    ):
        with pytest.raises(EngineError, match=says):
            read()
