# SPDX-License-Identifier: Apache-2.0
"""Every answer of a node with a native engine agrees with OpenAPI, between runs and while images arrive; parameters are read as described."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.control.books.outcome import Progress
from rashpa.node.door import query
from rashpa.node.door.http_interface import interface
from rashpa.testing.run_file import run_file
from rashpa.testing.warm_nodes import WarmNodes

pytestmark = pytest.mark.whole

ASKED: Mapping[str, list[dict[str, str]]] = {
    "/log": [{}, {"last": "2"}, {"last": "0"}],
    "/audit": [{}, {"last": "1001"}],
    "/books": [
        {"table": "completeness", "buffer": "full"},
        {"table": "fates", "dtp": "0"},
        {"table": "decisions", "buffer": "full"},
        {"table": "dealt", "buffer": "full"},
        {"table": "all"},
        {"table": "fates", "dtp": "99"},
    ],
    "/preview": [{"buffer": "full"}, {"buffer": "other"}],
    "/view": [{"buffer": "full", "step": "2"}, {"buffer": "full", "of": "vetoed"}, {"of": "all"}, {"x": "-1"}],
}
"""The queries of a path; {} of the others."""


def check(url: str, seen: set[tuple[str, int]]) -> None:
    """Request everything, and compare status, type and content with the document."""
    document = interface()
    for path, operations in document["paths"].items():
        for words in ASKED.get(path, [{}]) if "get" in operations else []:
            answer = httpx.get(f"{url}{path}", params=words, timeout=60.0)
            asked = f"{path} {words}"
            described = operations["get"]["responses"].get(str(answer.status_code))
            assert described is not None, f"{asked}: {answer.status_code} is not described"
            seen.add((path, answer.status_code))
            kinds = described.get("content", {})
            kind = answer.headers.get("content-type", "").partition(";")[0]
            assert kind in kinds or not (kinds or answer.content), f"{asked}: {kind} in place of {list(kinds)}"
            if kind == "application/json":
                schema: dict[str, Any] = {**kinds[kind]["schema"], "components": document["components"]}
                jsonschema.Draft202012Validator(schema).validate(answer.json())


def test_every_answer_of_a_warm_node_is_as_it_is_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = run_file(
        run={"frames": 400, "output": "out"},
        detector={"rate_hz": 200.0},
        buffer={"kernel": [{"name": "total_counts"}], "sink": [{"kind": "hdf5"}]},
        faults={"drop": 0.01, "seed": 3},
    )
    (tmp_path / "run.toml").write_text(text)
    seen: set[tuple[str, int]] = set()
    asked = 0
    monkeypatch.delenv("RASHPA_TOKEN", raising=False)

    with WarmNodes(tmp_path) as nodes:
        urls = [nodes.url("receiver"), nodes.url("emulator")]

        def ask(progress: Progress) -> None:
            nonlocal asked
            arrived = any(
                one.destination and one.destination.buffers[0].books.written for one in progress.receivers.values()
            )
            if arrived and asked < 1:
                asked += 1
                for url in urls:
                    check(url, seen)

        for url in urls:
            check(url, seen)
        outcome = nodes.run(tmp_path / "run.toml", ask)
    assert outcome.problem == ""
    assert asked == 1, "the run was too short to be asked in"
    gets = {path for path, operations in interface()["paths"].items() if "get" in operations}
    assert {path for path, status in seen if status == 200} == gets
    assert {("/log", 400), ("/books", 400), ("/books", 404), ("/view", 400), ("/preview", 404)} <= seen


PARAMETERS = [query.LAST, query.BUFFER, query.TABLE, query.DTP, query.OF, *query.PLACES, query.AFTER]


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda one: one.name)
def test_a_parameter_is_read_as_it_is_described(parameter: query.Parameter) -> None:
    described = parameter.described()
    schema = described["schema"]
    samples = ["", "0", "1", "-1", "1.5", "²", "100", "256", "257", "1000", "1001", str(1 << 53), str((1 << 53) + 1)]
    for text in [*samples, "9" * 30, "accepted", "fates", "Accepted"]:
        value: object = text
        if schema["type"] == "integer" and text.isascii() and text.removeprefix("-").isdecimal():
            value = int(text)
        good = jsonschema.Draft202012Validator({**schema, "pattern": ""}).is_valid(value)
        try:
            assert parameter.read({parameter.name: text}) == value
        except ValueError as error:
            assert not good, text
            assert str(error).startswith(f"{parameter.name}: it is ")
        else:
            assert good, text
    if described["required"]:
        with pytest.raises(ValueError, match=f"{parameter.name}: it is"):
            parameter.read({})
    else:
        assert parameter.read({}) == schema.get("default", "" if schema["type"] == "string" else None)
