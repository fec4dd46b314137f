# SPDX-License-Identifier: Apache-2.0
"""Findings on a machine made of files: every check with a good machine, a poor one, and one without information."""

import os
import resource
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rashpa.control.telegrams.telegram import Interface
from rashpa.node.doctor import cards, interfaces
from rashpa.node.doctor.checkup import apply, look
from rashpa.node.doctor.finding import Finding, Host
from rashpa.node.doctor.needs import NOTHING, End, Needs
from rashpa.node.doctor.sockets import drops_of

END = End(
    name="receiver",
    role="receiver",
    address="10.0.0.2",
    peers=("10.0.0.1",),
    port=4791,
    threads=2,
    kind="roce",
    packets_per_s=1e6,
    bytes_per_s=1e9,
    packet_bytes=4156,
    processor=3,
)
NEEDS = Needs((END,), (), memory_bytes=1 << 30, pinned_bytes=0, huge=True, socket_bytes=8 << 20)
CARD = (Interface(name="eth7", device="", bits_per_s=10**10, addresses=("10.0.0.2",)),)
GOOD = {
    "proc/sys/net/core/rmem_max": "16777216",
    "proc/sys/net/core/netdev_max_backlog": "30000",
    "proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    8388608 kB",
    "proc/irq/31/effective_affinity_list": "2",
    "proc/irq/32/effective_affinity_list": "3",
    "sys/class/net/eth7/mtu": "9000",
    "sys/class/net/eth7/speed": "25000",
    "sys/class/net/eth7/flags": "0x1003",
    "sys/class/net/eth7/device/numa_node": "0",
    "sys/class/net/eth7/device/msi_irqs/31": "msix",
    "sys/class/net/eth7/device/msi_irqs/32": "msix",
    "sys/class/net/eth7/queues/rx-0/rps_cpus": "0",
    "sys/class/net/eth7/queues/rx-1/rps_cpus": "0",
    "sys/class/net/eth7/statistics/rx_missed_errors": "0",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/latency": "1",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/disable": "0",
    "sys/devices/system/cpu/cpu3/node0/cpulist": "0-3",
    "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages": "600",
    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "600",
    "sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]",
}
# what a file says instead: the finding that is poor then, and what its command or settings must hold
POOR = [
    ("proc/sys/net/core/rmem_max", "212992", "most bytes of a socket", "net.core.rmem_max=8388608"),
    ("proc/sys/net/core/netdev_max_backlog", "1000", "packets that wait for the kernel", "netdev_max_backlog=10000"),
    ("proc/meminfo", "MemAvailable: 1000 kB", "memory for buffers", "fewer slots"),
    ("proc/irq/32/effective_affinity_list", "2", "interrupts of eth7", "smp_affinity_list"),
    ("sys/class/net/eth7/mtu", "1500", "MTU of eth7", "mtu 4156"),
    ("sys/class/net/eth7/speed", "1000", "speed of eth7", ""),
    ("sys/class/net/eth7/device/numa_node", "1", "NUMA node of receiver", "numa = 1"),
    ("sys/class/net/eth7/statistics/rx_missed_errors", "7", "packets that eth7 has dropped", ""),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave", "governor of processors", "performance"),
    ("sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "133", "deepest sleep of processors", "idle-set"),
    ("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "100", "huge pages", "nr_hugepages=1012"),
]


@pytest.fixture(autouse=True)
def _user_without_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(interfaces, "path_mtu", lambda _own, _peer, wanted: wanted)
    monkeypatch.setattr(cards, "ring_of", lambda _: cards.Ring(4096, 8192))
    monkeypatch.setattr(cards, "pauses", lambda _: True)
    monkeypatch.setattr("rashpa.node.doctor.checkup.interfaces", lambda *_: CARD)


def machine(folder: Path, files: dict[str, str]) -> Host:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{text}\n")
    return Host(folder / "proc", folder / "sys")


def found(host: Host, needs: Needs = NEEDS) -> Iterator[Finding]:
    yield from (one for one in look(needs, host) if one.subject != "clock")  # the kernel's own, of this machine


def test_a_good_machine_has_nothing_poor_and_tells_all(tmp_path: Path) -> None:
    findings = list(found(machine(tmp_path, GOOD)))
    assert [one for one in findings if one.state != "good"] == []
    assert len(findings) == 16
    assert not any(one.command or one.settings or one.why for one in findings)


@pytest.mark.parametrize(("file", "text", "subject", "command"), POOR, ids=[subject for *_, subject, _ in POOR])
def test_each_poor_fact_is_named_alone_with_its_remedy(
    tmp_path: Path, file: str, text: str, subject: str, command: str
) -> None:
    (poor,) = [one for one in found(machine(tmp_path, GOOD | {file: text})) if one.state != "good"]
    assert (poor.subject, poor.state) == (subject, "poor")
    assert poor.why
    assert command in poor.command


def test_a_machine_that_tells_nothing_is_unknown_and_never_good(tmp_path: Path) -> None:
    findings = {one.subject: one for one in found(Host(tmp_path / "proc", tmp_path / "sys"))}
    told = {"time that sockets of receiver hold", "processors for receiving threads", "path from 10.0.0.2 to 10.0.0.1"}
    told |= {"receive ring of eth7", "pause frames of eth7"}  # of the driver, not of files
    assert {name for name, one in findings.items() if one.state == "good"} == told
    assert {name for name, one in findings.items() if one.state == "poor"} == {"receive queues of eth7"}


def test_without_a_run_only_the_machine_itself_is_judged(tmp_path: Path) -> None:
    names = {one.subject for one in found(machine(tmp_path, GOOD), NOTHING)}
    assert names == {"governor of processors", "deepest sleep of processors"}


def test_other_demands_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cards, "ring_of", lambda _: cards.Ring(512, 8192))
    monkeypatch.setattr(interfaces, "path_mtu", lambda *_: 1500)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 20, 1 << 20))
    needs = replace(
        NEEDS,
        ends=(replace(END, kind="verbs", threads=9), replace(END, name="other", address="10.9.9.9", peers=())),
        pinned_bytes=1 << 30,
        socket_bytes=1 << 20,
    )
    poor = {one.subject: one.command for one in found(machine(tmp_path, GOOD), needs) if one.state == "poor"}
    assert poor == {
        "receive ring of eth7": "ethtool -G eth7 rx 8192",
        "receive queues of eth7": "ethtool -L eth7 combined 9",
        "path from 10.0.0.2 to 10.0.0.1": "a larger MTU at each interface and switch of the path, or a smaller pmtu in the run file",
        "memory that may be pinned": "ulimit -l unlimited, or LimitMEMLOCK=infinity in the node's service",
        "processors for receiving threads": "fewer threads in the run file, or another machine",
        "address of other": "ip addr",
        "time that sockets of other hold": "socket_buffer = 5000000 in the run file",
    }


def test_what_needs_no_restart_is_set_and_the_rest_is_left(tmp_path: Path) -> None:
    host = machine(tmp_path, GOOD | {file: text for file, text, *_ in POOR})
    done, failed = apply(found(host))
    assert failed == []
    assert len(done) == 6  # two sysctls, MTU, governor, sleep, huge pages
    assert host.number(host.sysctl("net.core.rmem_max")) == 8 << 20
    poor = {one.subject for one in found(host) if one.state == "poor"}
    assert poor == {
        "memory for buffers",
        "interrupts of eth7",
        "speed of eth7",
        "NUMA node of receiver",
        "packets that eth7 has dropped",
        "huge pages",  # the kernel of this machine gives none; it only has been asked
    }


def test_a_setting_that_cannot_be_written_is_told_with_its_command(tmp_path: Path) -> None:
    host = machine(tmp_path, GOOD | {"proc/sys/net/core/rmem_max": "1"})
    findings = list(found(host))
    place = host.sysctl("net.core.rmem_max")
    place.unlink()
    place.mkdir()
    done, failed = apply(findings)
    assert done == []
    assert failed == ["most bytes of a socket: Is a directory; as root: sysctl -w net.core.rmem_max=8388608"]


def test_drops_at_sockets_are_found_by_port(tmp_path: Path) -> None:
    line = "  1: 0100007F:{port:04X} 00000000:0000 07 00000000:00000000 00:00000000 00000000 0 0 1 2 0 {drops}\n"
    head = "  sl  local_address rem_address st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode ref pointer drops\n"
    (tmp_path / "proc" / "net").mkdir(parents=True)
    (tmp_path / "proc" / "net" / "udp").write_text(
        head + line.format(port=4791, drops=5) + line.format(port=4792, drops=8) + "nonsense\n"
    )
    (tmp_path / "proc" / "net" / "udp6").write_text(head + line.format(port=4791, drops=2))
    host = Host(tmp_path / "proc")
    assert (drops_of(host, 4791), drops_of(host, 4792), drops_of(host, 4793)) == (7, 8, None)
