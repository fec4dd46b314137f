# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from rashpa.control.nodes.named_nodes import clients_of_plan, clients_of_urls, nodes_elsewhere
from rashpa.control.nodes.node_client import NodeError
from rashpa.control.plan.run_plan import load_plan


def plan_file(folder: Path, nodes: str) -> Path:
    text = (Path(__file__).parents[3] / "examples" / "01_first_light.toml").read_text(encoding="utf-8")
    file = folder / "run.toml"
    file.write_text(text + nodes, encoding="utf-8")
    return file


def test_a_plan_has_clients_of_the_nodes_that_it_names_and_of_no_others(tmp_path: Path) -> None:
    assert nodes_elsewhere(load_plan(plan_file(tmp_path, ""))) == []
    named = load_plan(plan_file(tmp_path, '\n[nodes]\nreceiver = "http://127.0.0.1:4781"\ntoken = "of-the-file"\n'))
    assert [node.name for node in nodes_elsewhere(named)] == ["receiver"]
    (client,) = clients_of_plan(named, "another", "")
    assert client.url == "http://127.0.0.1:4781"
    assert client._http.headers["authorization"] == "Bearer of-the-file"
    with pytest.raises(NodeError, match=r"gone\.pem"):
        clients_of_plan(named, "", str(tmp_path / "gone.pem"))


def test_a_url_is_the_name_of_its_node() -> None:
    one, other = clients_of_urls(["http://a:1", "http://b:2"], "secret", "")
    assert (one.name, other.url) == ("http://a:1", "http://b:2")
    assert other._http.headers["authorization"] == "Bearer secret"
