# SPDX-License-Identifier: Apache-2.0
"""Clients of nodes that people name, by a URL or in a run file."""

from collections.abc import Iterable

from rashpa.control.nodes.node_client import NodeClient
from rashpa.control.plan.model import Plan
from rashpa.control.plan.planned_node import PlannedNode


def nodes_elsewhere(plan: Plan) -> list[PlannedNode]:
    """Return the nodes that the run file names by their URLs; its run starts the others."""
    return [node for node in plan.nodes if node.node != "local"]


def clients_of_urls(urls: Iterable[str], token: str, authority: str) -> list[NodeClient]:
    """Return a client for each URL, which is its name, too."""
    return [NodeClient(url, url, token, authority) for url in urls]


def clients_of_plan(plan: Plan, token: str, authority: str) -> list[NodeClient]:
    """Return a client for each node that the run file names by its URL. The run file's own token comes before `token`, and `authority` before the run
    file's."""
    own = plan.file.nodes.token or token
    certificate = authority or plan.authority
    return [NodeClient(node.label, node.node, own, certificate) for node in nodes_elsewhere(plan)]
