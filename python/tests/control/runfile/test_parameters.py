# SPDX-License-Identifier: Apache-2.0
"""Parameters that a part of the program declares become fields of the run file, with their bounds."""

from typing import Any

import pytest
from pydantic import ValidationError, create_model

from rashpa.control.runfile.parameters import Parameter, field_of, made_of


def model(**facts: Any) -> Any:
    fields: Any = {"x": field_of(Parameter("x", **facts))}
    return create_model("Model", **fields)


def test_lists_of_json_are_tuples() -> None:
    made = made_of(Parameter, {"name": "by", "kind": "choice", "choices": ["a", "b"], "default": "a"})
    assert made == Parameter("by", "choice", choices=("a", "b"), default="a")
    assert not made.needed
    assert Parameter("by", "text").needed and not Parameter("by", "text", taken_from="detector.pixel").needed


@pytest.mark.parametrize(
    ("facts", "good", "bad"),
    [
        ({"kind": "integer", "least": 1, "most": 4}, [1, 4], [0, 5, "a", 1.5]),
        ({"kind": "number", "above": 0}, [0.1, 7], [0, -1]),
        ({"kind": "choice", "choices": ("raw", "split")}, ["raw"], ["other"]),
        ({"kind": "integer", "allowed": (2, 8)}, [2, 8], [4]),
        ({"kind": "flag"}, [True, False], ["perhaps"]),
        ({"kind": "text"}, ["a"], [1]),
    ],
)
def test_values_are_taken_within_their_bounds(facts: dict[str, Any], good: list[Any], bad: list[Any]) -> None:
    made = model(**facts)
    assert [made(x=value).x for value in good] == good
    for value in bad:
        with pytest.raises(ValidationError):
            made(x=value)
    with pytest.raises(ValidationError):
        made()


def test_a_default_or_a_source_makes_a_value_unneeded() -> None:
    assert model(kind="integer", default=7)().x == 7
    assert model(kind="integer", taken_from="detector.pixel")().x is None


def test_the_description_and_the_mark_of_a_file_are_in_the_schema() -> None:
    made = model(kind="text", doc="A mask", file=True).model_json_schema()["properties"]["x"]
    assert made["description"] == "A mask"
    assert made.keys() > {"type", "description"}
    assert model(kind="text", doc="A mask").model_json_schema()["properties"]["x"].keys() < made.keys()
