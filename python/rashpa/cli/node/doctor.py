# SPDX-License-Identifier: Apache-2.0
"""`rashpa doctor [RUN.toml] [URL…]`: lists faults and missing parts of this machine for a run, and the hop at which data stop."""

import asyncio
import json as written
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rashpa.control.nodes.named_nodes import clients_of_plan, clients_of_urls, nodes_elsewhere
from rashpa.control.nodes.node_client import NodeClient, NodeError
from rashpa.control.nodes.node_url import is_node_url
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.runfile.token import TokenError, token_of_environment
from rashpa.control.telegrams.telegram import Status
from rashpa.data.base.exit_code import ExitCode
from rashpa.node.doctor.checkup import apply as set_now
from rashpa.node.doctor.checkup import look, needs_here
from rashpa.node.doctor.finding import Finding, Host
from rashpa.node.doctor.needs import Needs
from rashpa.node.doctor.silent_hop import look as look_at_nodes
from rashpa.node.doctor.silent_hop import silent_hop
from rashpa.node.host.interfaces import interfaces

_BETWEEN_S = 1.0


def doctor(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN.toml] [URL]...",
            help="The run file that this machine is to carry out, and URLs of nodes that carry it out now.",
            show_default=False,
        ),
    ] = None,
    authority: Annotated[
        str, typer.Option(help="Certificate file that nodes are checked against; the system's when not given.")
    ] = "",
    apply: Annotated[
        bool,
        typer.Option(
            "--apply", help="Make the settings that need no restart of the machine. They last until the next start."
        ),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON document of the findings, the settings made, and the hop.")
    ] = False,
) -> None:
    """Show what this machine lacks for a run, with the command that mends it, and the place where the data of a run end.

    Each fact of the machine is good, poor or unknown. With URLs of nodes, or a run file that names some, the command asks the nodes for their status twice,
    one second apart. It names the first hop that forwards nothing: source, interface, socket, link, images, vetoes or sinks.
    """
    try:
        plan, clients = _given(names or (), authority)
        needs = needs_here(plan)
        findings = look(needs)
        done, failed = set_now(findings) if apply else ([], [])
        if apply:
            findings = look(needs)
        hop = asyncio.run(_hop(clients, needs)) if clients else ""
    except (NodeError, TokenError, RunFileError, OSError) as error:
        sys.stderr.write(f"rashpa doctor: {error}\n")
        raise typer.Exit(ExitCode.BAD_INPUT) from None
    if json:
        typer.echo(written.dumps(_document(findings, needs, done, failed, hop)))
    else:
        typer.echo("\n".join(_lines(findings, needs, done, failed, hop)))
    poor = failed or any(finding.state == "poor" for finding in findings)
    raise typer.Exit(ExitCode.FAILED if poor else ExitCode.GOOD)


def _given(names: Sequence[str], authority: str) -> tuple[Plan | None, list[NodeClient]]:
    """Return the plan of the run file, None without one, and clients of the nodes."""
    urls = [name for name in names if is_node_url(name)]
    files = [name for name in names if name not in urls]
    if len(files) > 1:
        raise TokenError(f"{files[1]}: a second run file; give one run file, and URLs of nodes")
    plan = load_plan(Path(files[0])) if files else None
    if plan is None:
        return None, clients_of_urls(urls, token_of_environment(), authority) if urls else []
    if not urls and not nodes_elsewhere(plan):
        return plan, []
    token = plan.file.nodes.token or token_of_environment()
    of_urls = clients_of_urls(urls, token, authority or plan.authority)
    return plan, [*of_urls, *clients_of_plan(plan, token, authority)]


async def _hop(clients: Sequence[NodeClient], needs: Needs) -> str:
    """Read the status of the nodes twice, and return the hop at which data stop, as text."""
    host = Host()
    names = [one.name for one in interfaces() if any(end.address in one.addresses for end in needs.receiving)]
    ports = [end.port + thread for end in needs.receiving if end.port for thread in range(end.threads)]
    try:
        before = look_at_nodes(await _statuses(clients), names, ports, host)
        await asyncio.sleep(_BETWEEN_S)
        return silent_hop(before, look_at_nodes(await _statuses(clients), names, ports, host))
    finally:
        await asyncio.gather(*(client.close() for client in clients))


async def _statuses(clients: Sequence[NodeClient]) -> list[Status]:
    return await asyncio.gather(*(client.status() for client in clients))


def _document(
    findings: Sequence[Finding], needs: Needs, done: Sequence[str], failed: Sequence[str], hop: str
) -> dict[str, object]:
    told = [{key: value for key, value in asdict(one).items() if key != "settings"} for one in findings]
    return {
        "findings": told,
        "elsewhere": list(needs.elsewhere),
        "set": list(done),
        "not_set": list(failed),
        "hop": hop,
    }


def _lines(
    findings: Sequence[Finding], needs: Needs, done: Sequence[str], failed: Sequence[str], hop: str
) -> list[str]:
    lines: list[str] = []
    for one in sorted(findings, key=lambda finding: ("poor", "good", "unknown").index(finding.state)):
        wanted = f", wanted: {one.wanted}" if one.wanted else ""
        lines.append(f"{one.state:8} {one.subject}: {one.found}{wanted}")
        if one.why:
            lines.append(f"{'':9}{one.why}")
        if one.command:
            lines.append(f"{'':9}→ {one.command}")
    lines += [f"set      {line}" for line in done]
    lines += [f"not set  {line}" for line in failed]
    poor = [one for one in findings if one.state == "poor"]
    if any(one.settings for one in poor):
        lines.append("`rashpa doctor --apply` as root sets what needs no restart of the machine")
    if needs.elsewhere:
        lines.append(f"on other machines: {', '.join(needs.elsewhere)}; run `rashpa doctor` there, too")
    if hop:
        lines.append(f"hop      {hop}")
    return lines
