# SPDX-License-Identifier: Apache-2.0
"""`rashpa status` and `rashpa top`, on nodes that are processes of their own."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from rashpa.cli.main import app
from rashpa.control.nodes.node_client import NodeClient
from rashpa.control.orders.grant import Grant
from rashpa.control.telegrams.telegram_xml import encode
from rashpa.testing.telegram_samples import telegram_samples

pytestmark = pytest.mark.whole


@contextlib.contextmanager
def node_of(role: str, name: str) -> Iterator[str]:
    command = [sys.executable, "-m", "rashpa.testing.fake_node", role, name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(Grant("secret").line())
        process.stdin.flush()
        yield json.loads(process.stdout.readline())["url"]
        process.stdin.close()
        process.wait(120)


@pytest.fixture(scope="module")
def nodes() -> Iterator[tuple[str, str]]:
    """Run an idle emulator and a configured receiver with the token `secret` during the context."""
    with node_of("emulator", "left") as emulator, node_of("receiver", "store") as receiver:
        headers = {"authorization": "Bearer secret", "content-type": "application/xml"}
        sample = encode(telegram_samples()["configure_destination"])
        assert httpx.post(f"{receiver}/telegram", content=sample, headers=headers).status_code == 200
        yield emulator, receiver


def said(*words: str, token: str | None = "secret") -> tuple[int, str]:
    done = CliRunner().invoke(app, [*words, "--every", "0.1"], env={"RASHPA_TOKEN": token})
    return done.exit_code, done.output


def test_status_shows_states_and_books_once_where_no_terminal_is(nodes: tuple[str, str]) -> None:
    code, text = said("status", *nodes)
    assert code == 0
    left, store = (next(line for line in text.splitlines() if f" {name} " in line) for name in ("left", "store"))
    assert "idle" in left
    assert f"{nodes[1]}/preview?buffer=full" in text
    assert [part in store for part in ("configured", "buffer full", "0.0%", "100% free")] == [True] * 4


@pytest.mark.parametrize("command", ["status", "top"])
@pytest.mark.parametrize("columns", [80, 200])
def test_tables_fit_a_terminal(nodes: tuple[str, str], command: str, columns: int) -> None:
    done = CliRunner().invoke(
        app, [command, *nodes, "--every", "0.1"], env={"RASHPA_TOKEN": "secret", "COLUMNS": f"{columns}"}
    )
    assert max(map(len, done.output.splitlines())) <= columns
    words = done.output.split()
    assert {"left", "store", "idle", "configured"} <= set(words)
    assert "…" not in done.output


def test_status_finds_the_runs_of_this_machine(monkeypatch: pytest.MonkeyPatch, nodes: tuple[str, str]) -> None:
    journal = Path("out/run_attach.json")
    monkeypatch.setattr("rashpa.cli.run.watch.journals_here", lambda: [journal])
    monkeypatch.setattr("rashpa.cli.run.watch.find_journal", lambda path: path)
    monkeypatch.setattr(
        "rashpa.cli.run.watch.clients_at", lambda path, *_: [NodeClient(f"node of {path}", nodes[0], "secret")]
    )
    code, text = said("status", "--json", "--once", token=None)
    assert code == 0, text
    assert [node["url"] for node in json.loads(text)["nodes"]] == [nodes[0]]


def test_status_says_the_same_to_programs(nodes: tuple[str, str]) -> None:
    code, text = said("status", "--json", "--once", *nodes)
    assert code == 0
    document = json.loads(text)
    left, store = document["nodes"]
    assert (left["url"], left["problem"], left["state"], left["parts"]) == (nodes[0], "", "idle", [])
    (part,) = store["parts"]
    assert part["name"] == "full"
    assert part["books"]["expected"] == 2400
    assert part["free_slots"] == 1.0
    assert set(store) == {"url", "problem", "node", "role", "state", "holder", "message", "parts", "standing"}


def test_top_shows_processors_memory_and_threads(nodes: tuple[str, str]) -> None:
    code, text = said("top", "--threads", "1", *nodes)
    assert code == 0
    assert " MiB " in text
    assert "full: 0 slots (0%), sinks 0" in text
    code, text = said("top", "--json", "--once", *nodes)
    for node in json.loads(text)["nodes"]:
        assert 0 <= node["busy"] <= node["processors"]
        assert node["resident_bytes"] > 1e6
        assert node["threads"]


@pytest.mark.parametrize("command", ["status", "top"])
def test_a_node_that_does_not_answer_is_said_and_is_the_exit_code(command: str, nodes: tuple[str, str]) -> None:
    code, text = said(command, "--json", "--once", nodes[1], "http://127.0.0.1:1")
    assert code == 1
    good, lost = json.loads(text)["nodes"]
    assert good["problem"] == ""
    assert "http://127.0.0.1:1 cannot be reached" in lost["problem"]
    code, text = said(command, nodes[1], token="wrong")
    assert code == 1
    assert "needs its bearer token" in text


def test_the_nodes_of_a_run_file_are_those_with_a_url(nodes: tuple[str, str], tmp_path: Path) -> None:
    base = '[run]\nname = "a"\nframes = 4\n[detector]\nwidth = 64\nheight = 32\n[dataset]\nkind = "pattern"\nwidth = 64\nheight = 32\n[[buffer]]\nname = "b"\nsink = [{ kind = "null" }]\n'
    file = tmp_path / "run.toml"
    file.write_text(f'{base}[nodes]\nreceiver = "{nodes[1]}"\ntoken = "secret"\n')
    code, text = said("status", "--json", "--once", str(file), token=None)
    assert code == 0, text
    assert [node["url"] for node in json.loads(text)["nodes"]] == [nodes[1]]
    file.write_text(base)
    code, text = said("status", str(file))
    assert code == 2
    assert "the run file names no node by its URL, and its run does not go on" in text
    code, text = said("status", "store")
    assert code == 2
    assert "store is neither a URL of a node nor a run file (.toml) nor" in text


def test_node_audit_shows_who_gave_which_order(nodes: tuple[str, str]) -> None:
    done = CliRunner().invoke(app, ["node", "audit", nodes[1]], env={"RASHPA_TOKEN": "secret"})
    assert done.exit_code == 0
    record = json.loads(done.output.splitlines()[0])
    assert (record["order"], record["answer"], record["run"]) == ("Configure", "Configured", "first_light, number 7")


def test_a_run_that_has_no_nodes_yet_is_no_run_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    journal = tmp_path / "run.rashpa-run"
    journal.write_text("")
    monkeypatch.setattr("rashpa.cli.run.watch.journals_here", lambda: [journal])
    monkeypatch.setattr("rashpa.cli.run.watch.find_journal", lambda path: path)
    monkeypatch.setattr("rashpa.cli.run.watch.clients_at", lambda *_: [])
    code, text = said("status")
    assert code == 2
    assert f"{journal}: the run has no nodes yet, or not any more; ask again, or give URLs of nodes" in text
