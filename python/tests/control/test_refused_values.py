# SPDX-License-Identifier: Apache-2.0
"""Every place where a model refuses a value: the error names key, fault and remedy in our words, and never in those of pydantic."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_core._pydantic_core import list_all_errors
from typer.testing import CliRunner

from rashpa.cli.main import app
from rashpa.control.plan.groups import Joined, PlannedGroup, with_joined
from rashpa.control.runfile.engine_keys import GroupKeys
from rashpa.control.runfile.run_file_reader import RunFileError, run_file_of
from rashpa.control.runfile.schemas import schema_path
from rashpa.control.telegrams.schema_words import said_of_schema
from rashpa.control.telegrams.telegram_xml import decode
from rashpa.data.base.value_words import PATTERNS, faults_of, said_of_value
from rashpa.node.door.viewing import asked_of

LIBRARY = re.compile(r"Input|should|Field required|Extra inputs|validation error|pydantic|Element '|facet|xs:")
GOLDEN = schema_path("telegram.xsd").parent / "golden"
RUN = {
    "run": {"name": "r", "frames": 2},
    "detector": {"width": 8, "height": 8, "pixel": "uint16"},
    "dataset": {"kind": "pattern"},
}


def of_telegram(old: str, new: str) -> Callable[[Path], None]:
    text = (GOLDEN / "configure_destination.xml").read_text(encoding="utf-8")
    assert text.count(old) == 1
    return lambda _: void(decode(text.replace(old, new).encode()))


def of_run(table: str, values: dict[str, Any]) -> Callable[[Path], None]:
    return lambda _: void(run_file_of({**RUN, table: values}))


def of_description(**changes: Any) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
        assert native
        from rashpa.data.datasets.dataset_directory import read_description

        (folder / "dataset.json").write_text(json.dumps({"format": "rashpa-dataset", **changes}))
        read_description(folder)

    return read


def of_spec(**values: Any) -> Callable[[Path], None]:
    def load(folder: Path) -> None:
        pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
        from rashpa.data.datasets.datasets import dataset_from_spec

        dataset_from_spec(values, folder)

    return load


def of_join(**values: Any) -> Callable[[Path], None]:
    file, _ = run_file_of(
        {
            **RUN,
            "receiver": [{"name": "one"}, {"name": "two"}],
            "group": [{"name": "g", "receivers": ["one", "two"]}],
            "buffer": [{"name": "b_one", "receiver": "one", "sink": [{"kind": "null"}]}],
        }
    )
    group = PlannedGroup("g", 0, ("one", "two"), ("b_one", "b_two"), 10, GroupKeys())
    return lambda _: void(with_joined(file, [group], Joined("g", values)))


def void(_: object) -> None:
    """Ignore the result of a function that is called for its error."""


# a door, and the message for a value that it refuses
DOORS: dict[str, tuple[Callable[[Path], None], str]] = {
    "run, type": (of_run("run", {"frames": "two"}), 'run: run.frames: it is "two"; it must be '),
    "run, unknown": (of_run("run", {"frames": 2, "frame": 3}), 'run: run.frame: no such key; did you mean "frames"?'),
    "run, missing": (of_run("run", {}), "run: run.frames: this key is needed and not there: "),
    "telegram, attribute": (of_telegram('slots="40"', 'slots="x"'), 'Buffer.slots: it is "x"; it must be a whole number'),
    "telegram, choice": (of_telegram('pmtu="4096"', 'pmtu="1500"'), 'verbs.pmtu: it is "1500"; it must be "256", "512"'),
    "telegram, missing": (of_telegram('images="2400" ', ""), "Buffer.images: it is needed and not there; give it"),
    "telegram, unknown": (of_telegram('slots="40"', 'slots="40" a="1"'), "Buffer.a: no such attribute; leave it out"),
    "telegram, element": (of_telegram("<null ", "<tape "), "tape: it has no place here; the next one is hdf5, raw, memory"),
    "telegram, value of several kinds": (
        of_telegram('type="number">0.5<', 'type="number">1e400<'),
        "plugin.parameters.gain: it is Infinity; it must be a finite number",
    ),
    "dataset.json, missing": (of_description(), "dataset.json: version: it is needed and not there; give it (and "),
    "dataset.json, choice": (of_description(format="other"), 'dataset.json: format: it is "other"; it must be "rashpa-dataset"'),
    "[dataset], bound": (of_spec(kind="pattern", width=0), "[dataset] width: it is 0; it must be at least 1"),
    "[dataset], kind": (of_spec(kind="dream"), '[dataset] "dream" is not known; it must be "'),
    "[dataset], unknown": (of_spec(kind="pattern", speed=1), "[dataset] speed: no such key; leave it out"),
    "join": (of_join(name="three", port="x"), 'receiver.port: it is "x"; it must be a whole number'),
    "/view, number": (lambda _: void(asked_of({"step": "x"})), 'step: it is "x"; it must be a whole number, 1 … '),
    "/view, choice": (lambda _: void(asked_of({"of": "veto"})), 'of: it is "veto"; it must be "accepted"'),
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_a_refused_value_is_told_by_its_key_with_a_remedy(door: str, tmp_path: Path) -> None:
    act, says = DOORS[door]
    with pytest.raises((ValueError, RuntimeError)) as caught:
        act(tmp_path)
    said = str(caught.value)
    assert says in said
    assert not LIBRARY.search(said), said
    assert isinstance(caught.value, RunFileError) or door.partition(",")[0] != "run"


class Refused:
    """Replaces an error of a model."""

    def __init__(self, items: list[Any]) -> None:
        self._items = items

    def errors(self, *, include_url: bool) -> list[Any]:
        assert not include_url
        return self._items


OPTIONS = [
    (["dataset", "make", "--frames", "0"], "'--frames': it is \"0\"; it must be at least 1"),
    (["dataset", "make", "--frames", "x"], "'--frames': it is \"x\"; it must be a whole number"),
    (["dataset", "make", "--kind", "foo"], "'--kind': 'foo' is not one of 'jungfrau'"),
    (["dataset", "make", "-o", "d", "--hit-fraction", "3"], "rashpa dataset make: --hit-fraction: it is 3.0; it must be at most 1"),
    (["run", "a.toml", "--timeout", "x"], "'--timeout': it is \"x\"; it must be a number"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "says"), OPTIONS)
def test_an_option_is_told_in_our_words(
    words: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    monkeypatch.chdir(tmp_path)
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, words)
    said = " ".join(re.sub("[│╭╮╰╯─]", " ", done.output).split())
    assert done.exit_code == 2
    assert says in said
    assert not LIBRARY.search(said), said


def test_no_error_of_the_library_is_told_in_its_words() -> None:
    for error in list_all_errors():
        item = {
            "type": error["type"],
            "loc": ("key", 0),
            "msg": error["example_message_python"],
            "input": "value",
            "ctx": error.get("example_context") or {"error": "it is wrong; take another"},
        }
        (said,) = faults_of(Refused([item]))
        assert said.startswith("key[0]: ")
        assert not LIBRARY.search(said), said


def test_a_pattern_without_words_is_named_as_another_form() -> None:
    item = {"type": "string_pattern_mismatch", "loc": (), "msg": "", "input": "?", "ctx": {"pattern": "^x$"}}
    assert said_of_value(item) == 'it is "?"; it must be of another form'
    assert said_of_value({**item, "ctx": {"pattern": next(iter(PATTERNS))}}).endswith(next(iter(PATTERNS.values())))


def test_a_message_of_a_strangers_value_of_millions_is_made_at_once() -> None:
    value = "' is not an element of the set {" * 100_000
    said = said_of_schema(
        f"Element 'a', attribute 'b': The value '{value}' is less than the minimum value allowed ('0')."
    )
    assert said.startswith("a.b: it is ") and said.endswith("it must be at least 0")
