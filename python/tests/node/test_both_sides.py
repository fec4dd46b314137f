# SPDX-License-Identifier: Apache-2.0
"""The models of the run file and the structures of the native module have the same keys: names, types, bounds, choices, defaults. A key on one side
only is found here."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from rashpa.control.runfile import links, run_file
from rashpa.control.runfile.kernels import MODELS as KERNELS
from rashpa.control.runfile.kernels import OUTSIDE
from rashpa.control.telegrams.part_orders import SINKS, FileMetadata
from rashpa.control.telegrams.part_xml import KINDS, name_of, plain_fields

native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

Facts = dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]


def of_python(model: type[BaseModel], tag: str) -> dict[str, Facts]:
    """Return, for each plain key, its allowed values and its default, None without one."""
    schema = model.model_json_schema()
    found: dict[str, Facts] = {}
    for name, shape in plain_fields(model, tag):
        if shape.how == "attribute":
            described = schema["properties"][name]
            found[name] = {**_facts(described), "default": described.get("default")}
    return found


def _facts(described: Facts) -> Facts:
    one = next((one for one in described.get("anyOf", [described]) if one.get("type") != "null"), described)
    choices = one.get("enum", [one["const"]] if "const" in one else None)
    if choices is not None:
        return {"allowed" if isinstance(choices[0], int) else "choices": choices}
    kind = {"boolean": "flag", "integer": "integer", "number": "number", "string": "text"}[one["type"]]
    bounds = {"least": "minimum", "above": "exclusiveMinimum", "most": "maximum"}
    return {"kind": kind, **{ours: one[theirs] for ours, theirs in bounds.items() if theirs in one}}


def of_native(declared: str) -> dict[str, dict[str, Facts]]:
    """Return the same for each part that the native module declares."""
    return {
        part["name"]: {one["name"]: _native_facts(one) for one in part["parameters"]} for part in json.loads(declared)
    }


def _native_facts(parameter: Facts) -> Facts:
    default = {"default": parameter.get("default")}
    for several in ("choices", "allowed"):
        if several in parameter:
            return {several: parameter[several], **default}
    return {name: parameter[name] for name in ("kind", "least", "above", "most") if name in parameter} | default


def sides(models: Sequence[type[BaseModel]], tag: str) -> dict[str, dict[str, Facts]]:
    return {name_of(model, tag): of_python(model, tag) for model in models}


def test_kernels_have_the_same_keys_on_both_sides() -> None:
    declared = of_native(native.kernels_json())
    assert {name: keys for name, keys in sides(KERNELS, "name").items() if name not in OUTSIDE} == declared


def test_sinks_have_the_same_keys_on_both_sides() -> None:
    assert sides(SINKS, "kind") == of_native(native.sinks_json())


def test_links_have_the_same_keys_on_both_sides() -> None:
    assert sides(links.MODELS, "kind") == of_native(native.links_json())


def test_the_run_files_link_has_a_table_of_each_kind_that_the_native_module_declares() -> None:
    native_keys = of_native(native.links_json())
    of_all = {"kind", "source", "destination", "flow", "on_full"}
    assert set(run_file.Link.model_fields) == of_all | set(native_keys)
    link = run_file.Link()
    for kind, keys in native_keys.items():
        table = of_python(type(link.of(kind)), "")
        assert table == {key: facts for key, facts in keys.items() if key != links.DEVICE}
        assert link.options(kind, "rxe0").kind == kind


def test_what_files_say_of_the_experiment_has_its_place_in_the_native_metadata() -> None:
    there = of_native(f'[{{"name": "metadata", "parameters": {native.metadata_json()}}}]')["metadata"]
    here = of_python(FileMetadata, "")
    of_vectors = {"image_fast", "image_slow"}  # of which the node makes the places of modules
    here = {name: facts for name, facts in here.items() if name not in of_vectors}
    assert {name: facts["kind"] for name, facts in here.items()}.items() <= {
        name: facts["kind"] for name, facts in there.items()
    }.items()
    by_the_node = {"end_time_estimated", "software_version", "proof"}
    assert set(there) - set(here) == by_the_node


ADDED = """
import sys
from pydantic import Field
from rashpa.control.runfile import sink_sections

class MemorySink(sink_sections.MemorySink):
    \"\"\"With a key more.\"\"\"
    tries: int = Field(default=3, ge=1, le=9, description="a key that is written here, and in the C++ structure")

sink_sections.MemorySink = MemorySink

from rashpa.control.telegrams.part_orders import SINKS
from rashpa.control.telegrams.part_schema import schema_text
from rashpa.control.telegrams.part_xml import KINDS, element_of, part_of
from lxml import etree

text = schema_text()
assert 'name="tries"' in text, "the schema has it"
kind = KINDS["Sink"]
part = MemorySink(kind="memory", tries=5)
element = element_of(part, kind, "urn:x", str)
assert element[0].get("tries") == "5", "the telegram has it"
assert part_of(element, kind) == part, "the node has it"
assert part.model_dump(mode="json", exclude={"kind"})["tries"] == 5, "and the native module is told"
sys.stdout.write("followed")
"""


def test_a_new_key_of_a_sink_is_in_schema_telegram_and_native_call_by_being_in_its_model() -> None:
    done = subprocess.run([sys.executable, "-c", ADDED], capture_output=True, text=True, check=False)
    assert done.stdout == "followed", done.stderr


def test_a_key_that_the_native_side_does_not_have_is_said_and_not_ignored() -> None:
    with pytest.raises(
        native.ConfigError, match="sink memory: tries: there is no such parameter; choose one of capacity"
    ):
        native.SinkConfig("memory", {"tries": 5})
    with pytest.raises(native.ConfigError, match="link pcie: tries: there is no such parameter; choose one of verify"):
        native.LinkOptions("pcie", {"tries": 5})


def test_no_file_between_model_and_structure_names_a_key() -> None:
    """Check that the code between a model and the native module has no list of keys."""
    keys = {name for kind in KINDS.values() for model in kind.models for name, _ in plain_fields(model, kind.tag)}
    elsewhere = {
        "address",
        "connections",
        "late",
        "verify",
        "records",
        "transport",
        "queue",
        "on_full",
        "capacity",
        "icrc",
        "window_bytes",
        "noise",
        "keep",
        "reason",
        "added",
        "borders",
        "connected",
        "consumers",
        "endpoint",
        "engine",
        "pattern",
        "waiting",
        "bins",
        "bits",
        "dark",
        "compress",
        "detector",
        "errors",
        "flip",
        "mask",
        "max",
        "module_height",
        "module_width",
        "sum",
        "window",
        "geometry",
        "interfaces",
    }  # of other things, too
    spelt = keys - {
        "threads",
        "name",
        "kind",
        "output",
        "prefix",
        "existing",
        "series_images",
        "metadata",
        "parameters",
        "check",
        "device",
        "file",
        "function",
    }
    assert {"images_per_file", "capacity", "unit_bytes", "min_pixels", "socket_buffer"} <= spelt
    patterns = (
        "src/bindings/**/*.[ch]pp",
        "python/rashpa/node/engine/native_*.py",
        "python/rashpa/control/telegrams/*.py",
        "python/rashpa/control/orders/*.py",
        "python/rashpa/control/runfile/links.py",
        "python/rashpa/control/runfile/engine_keys.py",
        "python/rashpa/_native.pyi",
        "schema/telegram.xsd",
    )
    assert [pattern for pattern in patterns if not any(ROOT.glob(pattern))] == [], "a room has moved"
    between = [path for pattern in patterns for path in ROOT.glob(pattern)]
    found = [
        f"{path.name}: {key}"
        for path in between
        for key in spelt - elsewhere
        if re.search(rf"\b{key}\b", path.read_text(encoding="utf-8"))
    ]
    assert found == []
