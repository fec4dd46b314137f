# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
from typing import Any

import pytest
import typer

from rashpa.cli.commands import COMMANDS
from rashpa.cli.main import app
from rashpa.testing.waiting import GUARD_S

# What a word about commands needs; everything else of this package is imported by the command that uses it.
_LIST = {
    "rashpa",
    "rashpa.cli",
    "rashpa.cli.commands",
    "rashpa.cli.entry",
    "rashpa.cli.help_text",
    "rashpa.cli.main",
    "rashpa.cli.old_words",
    "rashpa.old_names",
    "rashpa.data",
    "rashpa.data.base",
    "rashpa.data.base.exit_code",
    "rashpa.data.base.limit_said",
    "rashpa.data.base.plain_text",
    "rashpa.data.base.process_end",
    "rashpa.data.base.telling",
}
_VERSION = _LIST | {"rashpa.control", "rashpa.control.nodes", "rashpa.control.nodes.version"}
_HEAVY = {"PIL", "asyncio", "bokeh", "fabio", "h5py", "hdf5plugin", "httpx", "lxml", "matplotlib", "numpy", "prometheus_client", "pydantic", "starlette", "uvicorn", "zstandard"}  # fmt: skip

IMPORTED = """\
import atexit, sys
sys.argv = ["rashpa", *sys.argv[1:]]
from rashpa.cli import entry
atexit.register(lambda: print("\\n".join(sys.modules), file=sys.stderr))
entry.main()
"""

# The commands that `rashpa --help` leaves out, and those whose module cannot be imported, where nothing is compiled.
UNCOMPILED = """\
import importlib.util, sys
sys.modules["rashpa._native"] = None
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "rashpa._native" else find(name, package)
import typer
from rashpa.cli.main import app
root = typer.main.get_command(app)
context = typer.Context(root, info_name="rashpa")
print(*[name for name, one in root._listing().commands.items() if one.hidden])
print(*[name for name in root.list_commands(context) if root.get_command(context, name).hidden])
"""


def imported_by(*words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, *words], capture_output=True, text=True, timeout=GUARD_S, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    return set(done.stderr.split())


@pytest.mark.parametrize(("words", "own"), [(["--help"], _LIST), (["--version"], _VERSION)])
def test_a_word_about_commands_imports_none_of_them(words: list[str], own: set[str]) -> None:
    imported = imported_by(*words)
    assert {name for name in imported if name.partition(".")[0] == "rashpa"} == own
    assert not imported & _HEAVY


def test_the_version_needs_no_rich() -> None:
    assert "rich" not in imported_by("--version")


@pytest.fixture(scope="module")
def root() -> Any:
    return typer.main.get_command(app)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_of_a_command_what_its_own_help_begins_with(root: Any, name: str) -> None:
    command = root.get_command(typer.Context(root, info_name="rashpa"), name)
    assert COMMANDS[name].text == " ".join(command.help.partition("\n\n")[0].split())


def test_the_table_marks_the_commands_that_nothing_compiled_leaves_without_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNCOMPILED], capture_output=True, text=True, timeout=GUARD_S, check=False
    )
    assert done.returncode == 0, done.stderr
    left_out, without = (line.split() for line in done.stdout.splitlines())
    assert left_out == without == [name for name, one in COMMANDS.items() if one.native]


def test_the_long_version_says_what_the_build_has() -> None:
    from rashpa.data.base.components import components

    said = subprocess.run(
        [sys.executable, "-m", "rashpa.cli.entry", "--version", "--long"],
        capture_output=True,
        text=True,
        check=True,
        timeout=GUARD_S,
    ).stdout.splitlines()
    assert said[0].startswith("rashpa ")
    assert said[1].startswith("Python ")
    rows = [f"{one.name}: {'built' if one.built else 'left out'} ({one.adds})" for one in components()]
    assert said[2 : 2 + len(rows)] == rows


def test_long_is_for_the_version_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rashpa.cli.entry", "--long"],
        capture_output=True,
        text=True,
        check=False,
        timeout=GUARD_S,
    )
    assert done.returncode == 2
    assert done.stderr == "--long: it says more of --version alone; write rashpa --version --long\n"
