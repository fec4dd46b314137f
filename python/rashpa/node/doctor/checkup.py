# SPDX-License-Identifier: Apache-2.0
"""Inspects this machine as a whole, and applies settings that need no restart."""

from collections.abc import Iterable

from rashpa.control.plan.model import Plan
from rashpa.node.doctor.clock import clock_findings
from rashpa.node.doctor.congestion import congestion_findings
from rashpa.node.doctor.finding import Finding, Host
from rashpa.node.doctor.interfaces import interface_findings
from rashpa.node.doctor.memory import memory_findings
from rashpa.node.doctor.needs import NOTHING, Needs, needs_of
from rashpa.node.doctor.processors import processor_findings
from rashpa.node.doctor.sockets import socket_findings
from rashpa.node.host.interfaces import interfaces


def needs_here(plan: Plan | None) -> Needs:
    """Return the demands of a plan on this machine; without a plan there are no demands."""
    if plan is None:
        return NOTHING
    own = {address for one in interfaces() for address in one.addresses}
    return needs_of(plan, own)


def look(needs: Needs, host: Host | None = None) -> tuple[Finding, ...]:
    """Return all findings. Each path to another end is measured for 0.3 s."""
    host = host or Host()
    known = interfaces(host.system, host.processes)
    return (
        *socket_findings(host, needs),
        *interface_findings(host, needs, known),
        *congestion_findings(host, known),
        *processor_findings(host, needs),
        *memory_findings(host, needs),
        *clock_findings(host),
    )


def likely_causes(plan: Plan, most: int = 2) -> tuple[str, ...]:
    """Return at most `most` lines on poor facts of this machine that can make a run lose packets here, the likeliest first."""
    needs = needs_here(plan)
    if not needs.receiving:
        return ()
    host = Host()
    known = interfaces(host.system, host.processes)
    findings = (
        *socket_findings(host, needs),
        *interface_findings(host, needs, known, measured=False),
        *processor_findings(host, needs),
    )
    poor = [one for one in findings if one.state == "poor"]
    return tuple(f"{one.subject}: {one.found}, wanted: {one.wanted}; {one.command}" for one in poor[:most])


def apply(findings: Iterable[Finding]) -> tuple[list[str], list[str]]:
    """Apply the settings of all poor findings that have some. Return a line for each finding that is now good, and a line for each that is not. The
    settings last until the machine restarts."""
    done: list[str] = []
    failed: list[str] = []
    for finding in findings:
        if finding.state != "poor" or not finding.settings:
            continue
        try:
            for setting in finding.settings:
                setting.path.write_text(setting.value, encoding="ascii")
            done.append(f"{finding.subject}: {finding.found} → {finding.settings[0].value}")
        except OSError as error:
            failed.append(f"{finding.subject}: {error.strerror or error}; as root: {finding.command}")
    return done, failed
