# SPDX-License-Identifier: Apache-2.0
"""Machine facts are plain JSON and name what every figure needs beside it."""

import json
import os
from pathlib import Path

import pytest

from rashpa.control.nodes.machine import machine_facts, measured, write_measured


def test_facts_are_json_and_name_processor_memory_and_system() -> None:
    facts = machine_facts()
    assert json.loads(json.dumps(facts)) == facts
    assert {"cores", "memory_gb", "kernel", "os", "python", "architecture"} <= facts.keys()
    assert facts["cores"] == len(os.sched_getaffinity(0))


def test_what_is_not_known_is_left_out() -> None:
    assert None not in machine_facts().values()


def test_every_benchmark_writes_one_form_of_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/a/folder/stream.py", "--rounds", "2", "a b"])
    document = measured("stream", iter([{"what": "a", "value": 1, "unit": "s"}]), load=[0.5])
    assert list(document) == ["name", "command", "machine", "load", "rows"]
    assert document["command"] == "stream.py --rounds 2 'a b'"
    write_measured(tmp_path / "µ.json", document)
    assert json.loads((tmp_path / "µ.json").read_text(encoding="utf-8")) == document
