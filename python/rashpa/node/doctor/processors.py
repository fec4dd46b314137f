# SPDX-License-Identifier: Apache-2.0
"""Inspects the processors of this machine: the settings that affect their response time, and their number compared with the threads of a run."""

import os
from collections import Counter
from collections.abc import Iterator

from rashpa.node.doctor.finding import Finding, Host, Setting, unknown
from rashpa.node.doctor.needs import Needs

_SLOW_US = 50  # to leave a state of sleep; a packet of 4 KiB takes 0.3 µs at 100 Gb/s
_GOVERNOR = "performance"


def processor_findings(host: Host, needs: Needs) -> Iterator[Finding]:
    """Yield findings on the processors of this machine."""
    yield _governor(host)
    yield _sleep(host)
    threads = sum(end.threads for end in needs.receiving)
    if threads:
        yield _enough(threads)


def _governor(host: Host) -> Finding:
    subject = "governor of processors"
    files = sorted((host.system / "devices" / "system" / "cpu").glob("cpu[0-9]*/cpufreq/scaling_governor"))
    names = Counter(name for path in files if (name := host.text(path)))
    if not names:
        return unknown(subject, "this machine tells none; a virtual machine has its host's")
    words = ", ".join(f"{name} ({count})" for name, count in names.most_common())
    if set(names) == {_GOVERNOR}:
        return Finding(subject, "good", words, _GOVERNOR)
    why = "a processor that has slept is slow when packets come"
    settings = tuple(Setting(path, _GOVERNOR) for path in files)
    return Finding(subject, "poor", words, _GOVERNOR, why, f"cpupower frequency-set -g {_GOVERNOR}", settings)


def _sleep(host: Host) -> Finding:
    subject = "deepest sleep of processors"
    states = sorted((host.system / "devices" / "system" / "cpu" / "cpu0" / "cpuidle").glob("state*"))
    latencies = [
        (host.number(state / "latency") or 0, state) for state in states if host.number(state / "disable") == 0
    ]
    if not latencies:
        return unknown(subject, "this machine tells none; a virtual machine has its host's")
    worst = max(latency for latency, _ in latencies)
    if worst <= _SLOW_US:
        return Finding(subject, "good", f"{worst} µs to wake", f"{_SLOW_US} µs or less")
    numbers = sorted({state.name for latency, state in latencies if latency > _SLOW_US})
    cpus = sorted((host.system / "devices" / "system" / "cpu").glob("cpu[0-9]*/cpuidle"))
    settings = tuple(Setting(cpu / name / "disable", "1") for cpu in cpus for name in numbers)
    why = "the first packets after a pause wait, and the socket fills meanwhile"
    return Finding(
        subject,
        "poor",
        f"{worst} µs to wake",
        f"{_SLOW_US} µs or less",
        why,
        f"cpupower idle-set -D {_SLOW_US}",
        settings,
    )


def _enough(threads: int) -> Finding:
    subject = "processors for receiving threads"
    there = len(os.sched_getaffinity(0))
    if there > threads:
        return Finding(subject, "good", f"{there}", f"more than {threads}")
    why = "kernels, files and the receiving threads take turns"
    return Finding(
        subject, "poor", f"{there}", f"more than {threads}", why, "fewer threads in the run file, or another machine"
    )
