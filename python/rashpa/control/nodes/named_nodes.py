# SPDX-License-Identifier: Apache-2.0
"""Makes clients of nodes that users name, by URL or in a run file."""

from collections.abc import Iterable

from rashpa.control.nodes.node_client import NodeClient
from rashpa.control.plan.model import Plan
from rashpa.control.plan.planned_node import PlannedNode


def nodes_elsewhere(plan: Plan) -> list[PlannedNode]:
    """Return the nodes for which the run file has a URL; the run starts the others itself."""
    return [node for node in plan.nodes if node.node != "local"]


def clients_of_urls(urls: Iterable[str], token: str, authority: str) -> list[NodeClient]:
    """Return a client for each URL; the URL is also its name."""
    return [NodeClient(url, url, token, authority) for url in urls]


def clients_of_plan(plan: Plan, token: str, authority: str) -> list[NodeClient]:
    """Return a client for each node with a URL in the run file. A token in the run file takes precedence over `token`; `authority` takes precedence
    over that of the run file."""
    own = plan.file.nodes.token or token
    certificate = authority or plan.authority
    return [NodeClient(node.label, node.node, own, certificate) for node in nodes_elsewhere(plan)]
