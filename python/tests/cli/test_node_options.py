# SPDX-License-Identifier: Apache-2.0
"""The options that emulator and receiver share are declared once, and reach the node."""

import dataclasses
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from rashpa.cli.node.node import emulator, receiver
from rashpa.cli.node.node_options import NodeOptions
from rashpa.cli.option_fields import with_options

SHARED = [field.name for field in dataclasses.fields(NodeOptions)]


def parameters_of(*commands: object) -> dict[str, dict[str, object]]:
    app = typer.Typer()
    for command in commands:
        app.command()(command)  # type: ignore[type-var]  # functions
    group = typer.main.get_group(app)
    return {
        name: {one.name: (one.opts, getattr(one, "help", ""), one.default) for one in command.params if one.name}
        for name, command in group.commands.items()
    }


def test_both_roles_have_every_shared_option_with_one_text_and_ports_of_their_own() -> None:
    of_role = parameters_of(emulator, receiver)
    assert list(of_role["emulator"]) == SHARED
    assert list(of_role["receiver"])[: len(SHARED)] == SHARED
    assert {"kernels", "feedback", "publish", "measure"} < set(of_role["receiver"])
    differ = {name for name in SHARED if of_role["emulator"][name] != of_role["receiver"][name]}
    assert differ == {"port"}
    assert (of_role["emulator"]["port"][2], of_role["receiver"]["port"][2]) == (4780, 4781)  # type: ignore[index]


def test_what_is_typed_is_in_the_options_and_the_rest_has_its_default(tmp_path: Path) -> None:
    taken: list[tuple[NodeOptions, int]] = []

    @with_options(NodeOptions, port=7)
    def command(options: NodeOptions, more: int = 3) -> None:
        taken.append((options, more))

    app = typer.Typer()
    app.command()(command)
    typed = ["--lease", "30", "--read", str(tmp_path), "--read", "b", "--alias", "c", "--of-run", "--more", "4"]
    assert CliRunner().invoke(app, typed).exit_code == 0
    ((options, more),) = taken
    assert more == 4
    assert options == NodeOptions(port=7, lease=30.0, read=[tmp_path, Path("b")], alias=["c"], of_run=True)
    listen = options.listen()
    assert (listen.port, listen.lease_s, listen.aliases, listen.with_parent) == (7, 30.0, ("c",), True)


def test_without_folders_a_node_may_use_the_current_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert (NodeOptions().readable(), NodeOptions().writable()) == ([tmp_path], [tmp_path])
    assert NodeOptions(read=[Path("x")]).readable() == [Path("x")]
