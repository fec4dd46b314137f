# SPDX-License-Identifier: Apache-2.0
"""An engine's key of a table is declared once, in C++: run file, telegram, its schema and the native call use this declaration, with its bounds."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest
from lxml import etree
from pydantic import ValidationError

native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.control.runfile import engine_keys  # noqa: E402
from rashpa.control.runfile.buffer_section import Reduction  # noqa: E402
from rashpa.control.runfile.engine_keys import MODELS, BufferKeys, FaultsKeys, keys_of, stub_text  # noqa: E402
from rashpa.control.runfile.run_file import Buffer, Faults, Group, Run  # noqa: E402
from rashpa.control.runfile.schemas import schema_path  # noqa: E402
from rashpa.control.runfile.section import Section  # noqa: E402
from rashpa.control.telegrams import telegram  # noqa: E402
from rashpa.control.telegrams.telegram_xml import encode  # noqa: E402
from rashpa.node.engine.native_emulator import _fault_plan  # noqa: E402
from rashpa.node.engine.native_receiver import WORKED_OUT  # noqa: E402
from rashpa.testing.telegram_samples import telegram_samples  # noqa: E402

DECLARED = json.loads(native.sections_json())


def test_the_schema_of_sections_is_what_the_native_module_declares() -> None:
    assert json.loads(schema_path("sections.json").read_text(encoding="utf-8")) == DECLARED
    assert [tuple(model.model_fields) for model in MODELS] == [
        tuple(one["name"] for one in DECLARED[section]) for section in ("run", "faults", "group", "reduction", "buffer")
    ]
    sections: dict[str, type[Section]] = {
        "run": Run,
        "faults": Faults,
        "group": Group,
        "reduction": Reduction,
        "buffer": Buffer,
    }
    for section, model in sections.items():
        assert {one["name"] for one in DECLARED[section]} <= set(model.model_fields), section
    assert stub_text() == (Path(engine_keys.__file__).with_suffix(".pyi")).read_text(encoding="utf-8")


def test_every_key_of_faults_reaches_the_native_plan_and_a_wrong_one_is_refused_there() -> None:
    keys = keys_of(Faults(drop=0.1, duplicate=0.2, reorder=0.3, corrupt=0.4, stall=0.5, stall_us=6), FaultsKeys)
    values = keys.model_dump(mode="json")
    assert values == {"drop": 0.1, "duplicate": 0.2, "reorder": 0.3, "corrupt": 0.4, "stall": 0.5, "stall_us": 6}
    plan = _fault_plan(
        telegram.Faults(seed=2**63 + 1, keys=keys, dead_modules=(telegram.DeadModule(module=1, from_frame=2),))
    )
    assert (plan.seed, plan.dead_modules) == (2**63 + 1, [(1, 2)])
    for name, beyond in {**dict.fromkeys(set(values) - {"stall_us"}, 1.5), "stall_us": 60_000_001}.items():
        with pytest.raises(native.ConfigError, match=f"faults: {name}: "):
            native.FaultPlan({**values, name: beyond})
    with pytest.raises(native.ConfigError, match="run: example_key: there is no such parameter; leave it out"):
        native.RunKeys({"example_key": 1})


def test_every_key_of_a_buffer_is_in_its_telegram_or_worked_out_by_the_plan() -> None:
    by_the_plan = {"receiver", "group", "region", "bands", "device", "devices", "reduction"}
    parts = {"dtp", "kernel", "sink"}
    named = {field.name for field in dataclasses.fields(telegram.Buffer)} | set(BufferKeys.model_fields)
    assert set(Buffer.model_fields) - named == (by_the_plan | parts) - {"device"}
    plain = {field.name for field in dataclasses.fields(telegram.Buffer) if field.type in (bool, int, float, str)}
    assert plain - set(WORKED_OUT) == {"card"}, "the node makes a device of it"
    assert all(hasattr(native.BufferConfig, name) for name in WORKED_OUT)


BEYOND = {
    "every": (0, 2**32),
    "phase": (-1, 2**32),
    "slots": (1, (1 << 20) + 1),
    "stack": (0, (1 << 16) + 1),
    "deadline_ms": (0, 600_001),
    "partial": ("drop",),
    "keep_darks": (1, "yes"),
    "threads": (0, 257),
    "unit": ("gpu",),
    "trigger": ("soon",),
    "share": ("columns",),
}


def test_every_key_of_a_buffer_is_refused_beyond_its_bounds_by_run_file_telegram_and_node() -> None:
    # a text has no bounds: the plan refuses a wrong one (test_part_events.py), and the node as it lays memory out (memory_layout_test.cpp)
    assert set(BEYOND) == {one["name"] for one in DECLARED["buffer"] if one["kind"] != "text"}
    schema = etree.XMLSchema(etree.parse(str(schema_path("telegram.xsd"))))
    good = etree.fromstring(encode(telegram_samples()["configure_destination"]))
    (element,) = good.iter("{*}Buffer")
    assert schema.validate(good)
    for name, values in BEYOND.items():
        for value in values:
            with pytest.raises(ValidationError):
                Buffer.model_validate({"name": "b", "sink": [{"kind": "null"}], name: value})
            with pytest.raises(native.ConfigError, match=f"buffer: {name}: "):
                native.BufferConfig({name: value})
            kept = element.attrib[name]
            element.set(name, str(value))
            refused = not schema.validate(good)
            element.set(name, kept)
            assert refused or value == 1, (name, value)  # 1 is true in XML
    assert schema.validate(good)


ADDED = """
import json, sys
from pathlib import Path
from rashpa.control.runfile import schemas

declared = json.loads(schemas.schema_path("sections.json").read_text())
for section in ("run", "buffer"):
    declared[section].append({"name": "example_key", "kind": "integer", "least": 1, "most": 9, "default": 3, "doc": "an example"})
path = Path(sys.argv[1]) / "sections.json"
path.write_text(json.dumps(declared))
found = schemas.schema_path
schemas.schema_path = lambda name: path if name == "sections.json" else found(name)

from rashpa.control.runfile.engine_keys import RunKeys, keys_of
from rashpa.control.runfile.run_file import Run
from rashpa.control.telegrams.part_schema import schema_text
from rashpa.control.telegrams.part_xml import keys_of as read
from lxml import etree

run = Run(name="a", frames=1, example_key=5)
keys = keys_of(run, RunKeys)
assert keys.model_dump() == {"example_key": 5}, "the order has it"
assert schema_text().count('<xs:attribute name="example_key">') == 2, "the schema has both"
element = etree.Element("Source", example_key="7")
assert read(element, RunKeys).example_key == 7, "the node has it"
from rashpa.control.runfile.engine_keys import BufferKeys, stub_text
from rashpa.control.runfile.run_file import Buffer
buffer = Buffer(name="b", sink=[{"kind": "null"}], example_key=5)
assert keys_of(buffer, BufferKeys).example_key == 5, "the order to the receiver has it"
assert "    example_key: int = ..." in stub_text(), "mypy knows it"
try:
    Run(name="a", frames=1, example_key=10)
except ValueError:
    sys.stdout.write("followed")
"""


def test_a_new_key_of_run_or_buffer_is_in_run_file_telegram_and_native_call_by_its_declaration(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", ADDED, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout == "followed", done.stderr
