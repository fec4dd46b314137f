# SPDX-License-Identifier: Apache-2.0
"""The page connects to nodes with the rights of commands: a certificate file on the command line takes precedence over that of the run file."""

import os
from pathlib import Path

import pytest

from rashpa.control.handover.journal import VERSION, KnownNode, Record
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.plan.run_plan import load_plan
from rashpa.dashboard.nodes import USUAL, Going, Nodes
from rashpa.testing.run_file import run_file

FAR = "https://127.0.0.1:4781"


def written(folder: Path, **nodes: str) -> Path:
    path = folder / "run.toml"
    path.write_text(run_file(run={"output": folder / "out"}, nodes={"token": "of-the-file", "receiver": FAR, **nodes}))
    return path


def going_of(path: Path) -> Going:
    plan = load_plan(path)
    known = (KnownNode("receiver", FAR, 0), KnownNode("emulator", "http://127.0.0.1:1", os.getpid()))
    text = path.read_text()
    record = Record(VERSION, "r", "f" * 32, "local", "here", str(path), text, True, "out", "", 5.0, known)
    return Going(record, plan, managed=True)


def test_nodes_that_the_run_file_names_are_asked_with_its_token_and_others_with_the_typed_one(tmp_path: Path) -> None:
    path = written(tmp_path)
    (client,) = Nodes(load_plan(path), USUAL, "typed", "").clients(None).items()
    assert client[0] == "receiver"
    assert (client[1].url, client[1]._http.headers["authorization"]) == (FAR, "Bearer of-the-file")
    found = Nodes(None, USUAL, "typed", "").clients(None)
    assert list(found) == list(USUAL)
    assert {one._http.headers["authorization"] for one in found.values()} == {"Bearer typed"}


@pytest.mark.parametrize("goes_on", [False, True], ids=["between runs", "in a run"])
@pytest.mark.parametrize(("typed", "named"), [("", "of_file"), ("typed.pem", "typed")])
def test_a_typed_certificate_file_comes_before_that_of_the_run_file(
    tmp_path: Path, goes_on: bool, typed: str, named: str
) -> None:
    path = written(tmp_path, authority="of_file.pem")
    going = going_of(path) if goes_on else None
    with pytest.raises(NodeError, match=rf"{named}\.pem"):
        Nodes(load_plan(path), USUAL, "", typed).clients(going)
