# SPDX-License-Identifier: Apache-2.0
"""Inspects congestion control for RoCE, as far as drivers and `dcb` report it: priority flow control, the card's ECN, and the traffic class of its
packets."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

from rashpa.control.telegrams.telegram import Interface
from rashpa.node.doctor.finding import Finding, Host, unknown

_WAIT_S = 5.0


def congestion_findings(host: Host, known: tuple[Interface, ...]) -> Iterator[Finding]:
    """Yield findings on the interfaces of RDMA devices; nothing without such a device."""
    for one in known:
        if one.device:
            yield _priorities(one.name)
            yield _marks(host, one.name)
            yield _class(host, one)


def _priorities(name: str) -> Finding:
    subject = f"priorities of {name} that may pause (PFC)"
    try:
        done = subprocess.run(  # noqa: S603  names of interfaces come from the kernel
            ["dcb", "-j", "pfc", "show", "dev", name],  # noqa: S607  of the system's own path
            capture_output=True,
            text=True,
            timeout=_WAIT_S,
            check=False,
        )
        told: Any = json.loads(done.stdout) if done.returncode == 0 else None
    except (OSError, ValueError, subprocess.TimeoutExpired):
        told = None
    if not isinstance(told, dict):
        return unknown(subject, "its driver does not tell")
    enabled = [str(number) for number in told.get("prio-pfc", []) if isinstance(number, (int, str))]
    return Finding(subject, "good", ", ".join(enabled) or "none", "as the switch has it")


def _marks(host: Host, name: str) -> Finding:
    """Return the finding on ECN, which only NVIDIA's drivers report."""
    subject = f"ECN of {name}"
    places = [host.interface(name) / "ecn" / part / "enable" for part in ("roce_np", "roce_rp")]
    on = sorted({path.name for place in places for path in place.glob("[0-7]") if host.number(path) == 1})
    if not any(place.exists() for place in places):
        return unknown(subject, "its driver does not tell")
    return Finding(subject, "good", f"priorities {', '.join(on)}" if on else "off", "as the switch has it")


def _class(host: Host, one: Interface) -> Finding:
    subject = f"traffic class of {one.device}"
    value = host.text(host.system / "class" / "infiniband" / one.device / "tc" / "1" / "traffic_class")
    return (
        Finding(subject, "good", value, "as the switch has it")
        if value
        else unknown(subject, "its driver does not tell")
    )
