# SPDX-License-Identifier: Apache-2.0
"""Run files that tests make from tables are TOML with these values, and can be planned."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from rashpa.control.plan.run_plan import load_plan
from rashpa.testing.run_file import run_file, small_run


def test_without_tables_it_is_a_run_that_can_be_planned(tmp_path: Path) -> None:
    for text, sink in ((run_file(), "null"), (small_run(), "hdf5")):
        (tmp_path / "run.toml").write_text(text)
        plan = load_plan(tmp_path / "run.toml")
        assert plan.file.run.frames == 20
        assert [one.kind for one in plan.file.buffer[0].sink] == [sink]


def test_keys_go_over_those_of_their_table_and_none_leaves_one_out() -> None:
    made = tomllib.loads(
        run_file(
            run={"frames": 5, "output": Path("a/b")},
            detector={"width": 8, "pixel": "uint8"},
            receiver=None,
            link={"kind": "pcie", "pcie": {"engine": "cpu"}, "flow": None},
            buffer={"slots": 40, "kernel": [{"name": "bragg_count", "threshold": 2.5}], "sink": []},
        )
    )
    assert made == {
        "run": {"name": "small", "frames": 5, "output": "a/b"},
        "detector": {"width": 8, "height": 32, "pixel": "uint8"},
        "dataset": {"kind": "pattern", "width": 8, "height": 32, "pixel": "uint8"},
        "link": {"kind": "pcie", "pcie": {"engine": "cpu"}},
        "buffer": [
            {"name": "full", "slots": 40, "kernel": [{"name": "bragg_count", "threshold": 2.5}], "sink": []},
        ],
    }  # fmt: skip


def test_lists_of_tables_and_a_dataset_of_another_kind_replace_what_is_there() -> None:
    receivers: list[dict[str, Any]] = [{"name": "a", "port": 0}, {"name": "b", "port": 0}]
    buffers: list[dict[str, Any]] = [{"name": "x", "sink": [{"kind": "null"}, {"kind": "hdf5"}]}, {"name": "y"}]
    files = {"kind": "files", "files": [["a.npy"]]}
    made = tomllib.loads(run_file(receiver=receivers, buffer=buffers, dataset=files))
    assert (made["receiver"], made["buffer"], made["dataset"]) == (receivers, buffers, files)


@pytest.mark.parametrize(
    "value", ['"\\\n\tä\x7f', "", True, -3, 1e30, float("inf"), [[1, 2], []], [{"a b": {"c": 0.5}}], {}]
)
def test_every_value_is_read_as_it_was_given(value: object) -> None:
    assert tomllib.loads(run_file(extra={"key": value}))["extra"] == {"key": value}


def test_a_value_without_a_form_in_toml_is_refused() -> None:
    with pytest.raises(TypeError, match="has no form in TOML; give a text"):
        run_file(run={"frames": object()})
