# SPDX-License-Identifier: Apache-2.0
"""Runs nodes in this process in place of URLs: the whole path manager ↔ HTTP ↔ node, without sockets for the control plane."""

import asyncio
from collections.abc import Mapping

import httpx

from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.model import Plan
from rashpa.control.run.manager import Manager
from rashpa.control.run.run_notes import Observer, unobserved
from rashpa.node.door.server import NodeApp
from rashpa.node.state.node import Node


def transports_of(nodes: Mapping[str, Node]) -> dict[str, httpx.AsyncBaseTransport]:
    """Return transports with which a manager reaches `nodes`, by the names of the plan."""
    return {name: httpx.ASGITransport(NodeApp(node, "test").starlette()) for name, node in nodes.items()}


def run_in_process(plan: Plan, nodes: Mapping[str, Node], observer: Observer = unobserved) -> Outcome:
    """Carry out one run with nodes of this process and return its outcome."""
    return asyncio.run(Manager(plan, observer, transports=transports_of(nodes)).run())
