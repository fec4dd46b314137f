# SPDX-License-Identifier: Apache-2.0
"""A key of a section that is the engine's is declared once, in C++: run file, telegram, its schema and the native call have it by that, with its bounds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.control.runfile.engine_keys import MODELS, FaultsKeys, keys_of  # noqa: E402
from rashpa.control.runfile.run_file import Faults, Group, Run  # noqa: E402
from rashpa.control.runfile.schemas import schema_path  # noqa: E402
from rashpa.control.telegrams import telegram  # noqa: E402
from rashpa.node.engine.native_emulator import _fault_plan  # noqa: E402

DECLARED = json.loads(native.sections_json())


def test_the_schema_of_sections_is_what_the_native_module_declares() -> None:
    assert json.loads(schema_path("sections.json").read_text(encoding="utf-8")) == DECLARED
    assert [tuple(model.model_fields) for model in MODELS] == [
        tuple(one["name"] for one in DECLARED[section]) for section in ("run", "faults", "group")
    ]
    assert {one["name"] for one in DECLARED["faults"]} <= set(Faults.model_fields)
    assert {one["name"] for one in DECLARED["run"]} <= set(Run.model_fields)
    assert {one["name"] for one in DECLARED["group"]} <= set(Group.model_fields)


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
    with pytest.raises(native.ConfigError, match="run: example_key: no such parameter"):
        native.RunKeys({"example_key": 1})


ADDED = """
import json, sys
from pathlib import Path
from rashpa.control.runfile import schemas

declared = json.loads(schemas.schema_path("sections.json").read_text())
declared["run"].append({"name": "example_key", "kind": "integer", "least": 1, "most": 9, "default": 3, "doc": "an example"})
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
assert '<xs:attribute name="example_key">' in schema_text(), "the schema has it"
element = etree.Element("Source", example_key="7")
assert read(element, RunKeys).example_key == 7, "the node has it"
try:
    Run(name="a", frames=1, example_key=10)
except ValueError:
    sys.stdout.write("followed")
"""


def test_a_new_key_of_run_is_in_run_file_telegram_and_native_call_by_its_declaration(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", ADDED, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout == "followed", done.stderr
