# SPDX-License-Identifier: Apache-2.0
"""Every key of the run file that names a file or a folder, by the schema: `~` is the home of the user who runs it, and a relative path starts at the
run file's folder."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rashpa.control.orders.grant import grant_of
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.runfile.schemas import schema_path

FILE = """
[run]
name = "r"
frames = 2
{Run}
[detector]
width = 8
height = 4
{Detector}
{CalibrationSpec}
[dataset]
{dataset}
[nodes]
{Nodes}
{Emulator}
[[buffer]]
name = "b"
{Buffer}
{kernel}
[[buffer.sink]]
kind = "hdf5"
"""
# Such a detector sends by itself: it has neither a dataset nor an emulator.
CONTROLLED = """
[run]
name = "r"
frames = 2
[detector]
width = 1024
height = 512
[detector.control]
kind = "slsdet"
config = "{name}"
[link]
kind = "sls"
[[buffer]]
name = "b"
[[buffer.sink]]
kind = "hdf5"
"""
CARD_UNIT = Path(__file__).parents[3] / "examples" / "12_card_unit.toml"
PATTERN = 'kind = "pattern"\nwidth = 8\nheight = 4'


def read(role: str) -> Callable[[Plan], set[str]]:
    return lambda plan: set(grant_of(plan, role, "t" * 16).read)


def cards(role: str) -> Callable[[Plan], set[str]]:
    return lambda plan: set(grant_of(plan, role, "t" * 16).cards)


@dataclass(frozen=True)
class Key:
    """Describes a key. `place`: the place of `text` in FILE, with PATH for the name; `found`: returns the resolved path; `cwd`: True when a relative
    path starts at the working folder."""

    place: str
    text: str
    found: Callable[[Plan], set[str]]
    cwd: bool = False


def kernel(name: str, key: str, more: str = "") -> Key:
    text = f'[[buffer.kernel]]\nname = "{name}"\n{key} = "PATH"\n{more}'
    return Key("kernel", text, read("receiver"))


def azimuthal(key: str) -> Key:
    return kernel("azimuthal", key, "bins = 4\n" + ('poni = "p.poni"\n' if key != "poni" else ""))


FILES = 'kind = "files"\nfiles = [["PATH"]]\nwidth = 8\nheight = 4'
STORED = 'kind = "stored"\n{}\nwidth = 8\nheight = 4'
CALIBRATION = '[detector.calibration]\n{} = ["PATH"]\n'
KEYS = {
    "Run output": Key("Run", 'output = "PATH"', lambda plan: set(grant_of(plan, "receiver", "t" * 16).write), cwd=True),
    "Control config": Key("", "", lambda plan: {plan.control_config}),
    "Nodes authority": Key("Nodes", 'authority = "PATH"', lambda plan: {plan.authority}),
    "Detector geometry": Key("Detector", 'geometry = "PATH"', lambda plan: {plan.file.detector.geometry or ""}),
    "Emulator card": Key("Emulator", '[[emulator]]\nname = "e"\nengine = "fpga"\ncard = "PATH"', cards("emulator")),
    "OnlyEmulator card": Key("Emulator", '[emulator]\nengine = "fpga"\ncard = "PATH"', cards("emulator")),
    "Buffer card": Key("Buffer", "", cards("receiver")),  # in the example of such a unit
    "Reduction offset": Key("Buffer", '[buffer.reduction]\noffset = ["PATH"]', read("emulator")),
    "FilesSpec files": Key("dataset", FILES, read("emulator")),
    "DirectorySpec path": Key("dataset", 'kind = "directory"\npath = "PATH"', read("emulator")),
    "StoredSpec path": Key("dataset", STORED.format('path = "PATH"'), read("emulator")),
    "StoredSpec follow": Key("dataset", STORED.format('path = "s_master.h5"\nfollow = ["PATH"]'), read("emulator")),
    "CalibrationSpec pedestal": Key("CalibrationSpec", CALIBRATION.format("pedestal"), read("receiver")),
    "CalibrationSpec gain": Key("CalibrationSpec", 'PEDESTAL' + CALIBRATION.format("gain"), read("receiver")),
    "CalibrationSpec mask": Key("CalibrationSpec", 'PEDESTAL' + CALIBRATION.format("mask"), read("receiver")),
    "Azimuthal poni": azimuthal("poni"),
    "Azimuthal mask": azimuthal("mask"),
    "Azimuthal dark": azimuthal("dark"),
    "Azimuthal flat": azimuthal("flat"),
    "Peakfinder poni": kernel("peakfinder", "poni"),
    "Peakfinder geometry": kernel("peakfinder", "geometry"),
    "Peakfinder8 poni": kernel("peakfinder8", "poni"),
    "Peakfinder8 geometry": kernel("peakfinder8", "geometry"),
    "Sparsify poni": kernel("sparsify", "poni"),
    "Sparsify geometry": kernel("sparsify", "geometry"),
}  # fmt: skip


def names_a_path(schema: Any) -> bool:
    if isinstance(schema, list):
        return any(map(names_a_path, schema))
    return isinstance(schema, dict) and (schema.get("format") == "path" or any(map(names_a_path, schema.values())))


def test_every_key_that_the_schema_calls_a_path_is_in_this_table() -> None:
    tables = json.loads(schema_path("run.schema.json").read_text(encoding="utf-8"))["$defs"]
    found = {
        f"{table} {key}"
        for table, one in tables.items()
        for key, schema in one.get("properties", {}).items()
        if names_a_path(schema)
    }
    assert found == set(KEYS)


def test_no_key_that_is_called_like_one_is_left_out() -> None:
    tables = json.loads(schema_path("run.schema.json").read_text(encoding="utf-8"))["$defs"]
    called = (
        "path",
        "file",
        "folder",
        "directory",
        "certificate",
        "mask",
        "dark",
        "flat",
        "geometry",
        "poni",
        "output",
    )
    words = {"Jungfrau output", "PluginKernel file"}  # a choice; a name in the folder of the run file, which is no path
    found = {f"{table} {key}" for table, one in tables.items() for key in one.get("properties", {}) if key in called}
    assert found - words - set(KEYS) == set()


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the run file; beside it are a home and the working folder. Every named file exists in all of them."""
    for name in ("runs", "home", "cwd"):
        folder = tmp_path / name
        (folder / "d").mkdir(parents=True)
        for file in ("x", "x_master.h5", "p.poni", "s_master.h5"):
            for at in (folder, folder / "d"):
                (at / file).write_bytes(bytes(64))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "cwd")
    return tmp_path / "runs"


def named(runs: Path, key: str, name: str) -> set[str]:
    """Return the resolved paths of the name in this key; for a name that the plan refuses, take them from the error."""
    one = KEYS[key]
    places = dict.fromkeys(("Run", "Detector", "CalibrationSpec", "Nodes", "Emulator", "Buffer", "kernel"), "")
    text = one.text.replace("PATH", name)
    if text.startswith("PEDESTAL"):
        text = text.removeprefix("PEDESTAL").replace("]\n", ']\npedestal = ["x"]\n', 1)
    if key == "CalibrationSpec mask":
        text += 'gain = ["x"]\n'
    if key == "CalibrationSpec pedestal":
        text += 'gain = ["x"]\n'
    written = FILE.format(**{"dataset": PATTERN, **places, one.place: text})
    if key == "Control config":
        written = CONTROLLED.format(name=name)
    if key == "Buffer card":
        written = CARD_UNIT.read_text(encoding="utf-8").replace(
            'unit = "fpga"\ncard = "sim"', f'unit = "fpga"\ncard = "{name}"'
        )
    (runs / "r.toml").write_text(written, encoding="utf-8")
    try:
        return one.found(load_plan(runs / "r.toml"))
    except RunFileError as error:
        return {word.rstrip(":;,") for word in str(error).split()}


@pytest.mark.parametrize("key", list(KEYS))
def test_one_rule_holds_for_all(runs: Path, key: str, tmp_path: Path) -> None:
    folder = tmp_path / "cwd" if KEYS[key].cwd else runs
    name = "d" if key in ("DirectorySpec path", "StoredSpec follow") else "x_master.h5" if "Stored" in key else "d/x"
    for given, expected in (
        (name, folder / name),
        (f"~/{name}", tmp_path / "home" / name),
        (str(tmp_path / "cwd" / name), tmp_path / "cwd" / name),
    ):
        assert str(expected) in named(runs, key, given), given
