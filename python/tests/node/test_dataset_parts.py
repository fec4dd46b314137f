# SPDX-License-Identifier: Apache-2.0
import pytest

from rashpa.control.telegrams import telegram
from rashpa.node.engine.dataset_parts import calibration_spec_of, spec_of
from rashpa.node.engine.engine import EngineError


@pytest.mark.parametrize("value", ["{", "[" * 100_000, "", "nothing"])
def test_a_value_that_is_no_json_is_named(value: str) -> None:
    parameter = telegram.Parameter(name="capacity", value=value)
    with pytest.raises(EngineError, match="capacity is no JSON"):
        spec_of(telegram.Dataset(kind="pattern", parameters=(parameter,)))


@pytest.mark.parametrize(
    ("kind", "values", "says"),
    [
        ("dream", {}, 'dataset dream: "dream" is not known; it must be "'),
        ("files", {"files": "1"}, "dataset files: files: it is 1; it must be a list in brackets"),
        ("files", {"files": '[["a.npy"], [7]]'}, "dataset files: files[1][0]: it is 7; it must be a text in quotes"),
        ("files", {}, "dataset files: files: it is needed and not there; give it"),
        ("pattern", {"width": "0"}, "dataset pattern: width: it is 0; it must be at least 1"),
        ("pattern", {"speed": "0"}, "dataset pattern: speed: no such key; leave it out"),
        ("jungfrau", {"places": "[[0, 0]]"}, "dataset jungfrau: 1 places for 2 modules"),
    ],
)
def test_a_parameter_that_cannot_be_is_named(kind: str, values: dict[str, str], says: str) -> None:
    parameters = tuple(telegram.Parameter(name=name, value=value) for name, value in values.items())
    with pytest.raises(EngineError) as caught:
        spec_of(telegram.Dataset(kind=kind, parameters=parameters))
    assert caught.value.code == "config"
    assert str(caught.value).startswith(says)


def test_a_parameter_given_twice_is_refused() -> None:
    twice = (telegram.Parameter(name="width", value="1"), telegram.Parameter(name="width", value="2"))
    with pytest.raises(EngineError, match="dataset pattern: width is given twice"):
        spec_of(telegram.Dataset(kind="pattern", parameters=twice))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({}, "calibration: pedestal is needed"),
        ({"pedestal": "7"}, "calibration: pedestal: it is 7; it must be a list in brackets"),
        ({"pedestal": "{"}, "calibration: pedestal is no JSON"),
        ({"simulated_seed": "-1"}, "calibration: simulated_seed: it is -1; it must be at least 0"),
        ({"speed": "0"}, "calibration: speed: no such key; leave it out"),
    ],
)
def test_a_calibration_that_cannot_be_is_named(values: dict[str, str], says: str) -> None:
    parameters = tuple(telegram.Parameter(name=name, value=value) for name, value in values.items())
    with pytest.raises(EngineError) as caught:
        calibration_spec_of(telegram.Calibration(parameters=parameters))
    assert str(caught.value).startswith(says)
