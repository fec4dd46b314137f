#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures critical rates of receivers of a JUNGFRAU's datagrams (one interface, 128 packets of 8240 bytes a frame): the highest rate at which a flow of some
seconds loses nothing, from one network namespace to another (veth, MTU 9000). Rounds of all receivers alternate; figures are medians, and ratios
medians of those of each round.

  rashpa          link sls with UDP_GRO
  rashpa_plain    the same without UDP_GRO
  rashpa_xdp      engine xdp
  slsreceiver     slsReceiver of slsDetectorPackage, without files and streams
  std_detector    std_udp_recv_jf of std_detector_buffer

Each takes images into memory and does nothing else with them. `--flow GBPS` plays one flow of --seconds three times in place of the search. Needs
root. --programs: the folder with slsReceiver, sls_detector_put, sls_detector_get and jungfrauDetectorServer_virtual; --std: std_udp_recv_jf.
Receivers whose programs are absent are left out.

Prints rows; --json writes them with machine facts. Usage: sls_peers.py BENCH [--programs DIR] [--std FILE] [--rounds 3] [--seconds 2] [--flow GBPS] [--json OUT.json]
BENCH: build/release/bench/rashpa_sls_rate_bench.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rashpa.control.nodes.machine import measured, write_measured

IP = shutil.which("ip") or "/usr/sbin/ip"
TOLD = "RASHPA_BENCH_THERE"  # the other namespace, told by the process outside
HERE, THERE = f"sls_here_{os.getpid()}", os.environ.get(TOLD, f"sls_there_{os.getpid()}")
ADDRESS, PACKETS, PACKET_BYTES = "10.91.0.1", 128, 8240
RATES = [round(1.15**step, 2) for step in range(34)]  # 1 … 100 Gb/s
NICE = -15  # beside other work
DRAINED_S, SETTLED_S, READY_S = 1.7, 0.6, 30.0
SHARED = Path("/dev/shm")  # noqa: S108 - where the peers leave files
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Flow:
    """Describes one flow. `sent`, `complete`: images; `gbps`: UDP payload that left; `cpu_ns`: of the receiver, a packet; `books`: other counts."""

    sent: int
    complete: int
    gbps: float
    cpu_ns: float
    books: dict[str, Any]

    @property
    def whole(self) -> bool:
        return self.complete == self.sent


def cpu_s(process: int) -> float:
    """Return the processor time of a process and all its threads."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def wait_for_port(port: int) -> None:
    """Wait until a UDP port is in use in this namespace."""
    until = time.monotonic() + READY_S
    while f":{port:04X} " not in Path("/proc/net/udp").read_text(encoding="utf-8"):
        if time.monotonic() > until:
            raise TimeoutError(f"nobody receives at port {port} after {READY_S:.0f} s")
        time.sleep(0.02)
    time.sleep(SETTLED_S)


def send(bench: Path, port: int, gbps: float, seconds: float) -> tuple[int, float]:
    """Send frames from the other namespace; return their number and the rate that was reached."""
    words = ["send", f"address={ADDRESS}", f"port={port}", "interfaces=1", f"seconds={seconds}", f"gbps={gbps}"]
    done = subprocess.run([IP, "netns", "exec", THERE, bench, *words], check=True, capture_output=True, text=True)
    sent = json.loads(done.stdout)
    return sent["sent_images"], sent["sent_packets"] * PACKET_BYTES * 8e-9 / seconds


class Ours:
    """Receives with rashpa, in a process for each flow."""

    def __init__(self, bench: Path, *words: str) -> None:
        self._bench, self._words, self._port = bench, words, 50100

    def flow(self, gbps: float, seconds: float) -> Flow:
        last = seconds + SETTLED_S + DRAINED_S + 1.0
        self._port += 1  # a socket that still closes is no matter
        words = [f"address={ADDRESS}", f"port={self._port}", "interfaces=1", f"seconds={last}", *self._words]
        receiver = subprocess.Popen([self._bench, "receive", *words], stdout=subprocess.PIPE, text=True)
        wait_for_port(self._port)
        before = cpu_s(receiver.pid)
        sent, reached = send(self._bench, self._port, gbps, seconds)
        time.sleep(DRAINED_S / 2)
        spent = cpu_s(receiver.pid) - before
        books = json.loads(receiver.communicate()[0])
        counts = {name: books[name] for name in ("lost", "packets", "host_drops")}
        return Flow(sent, books["complete"], reached, spent * 1e9 / (sent * PACKETS), counts)

    def end(self) -> None:
        """Do nothing: each flow ends its process."""


class SlsReceiver:
    """Receives with slsReceiver, of one JUNGFRAU that its virtual server stands for."""

    def __init__(self, bench: Path, programs: Path, folder: Path) -> None:
        self._bench, self._programs, self._port = bench, programs, 50010
        self._environment = os.environ | {"SLSDETNAME": f"bench_{os.getpid()}"}
        self._started = [
            self._start(folder, "jungfrauDetectorServer_virtual", "--port", "1952"),
            self._start(folder, "slsReceiver", "-t", "1954"),
        ]
        until = time.monotonic() + READY_S
        while "ERROR" in self._said("put", "hostname localhost:1952"):
            if time.monotonic() > until:
                raise TimeoutError("the virtual detector does not answer")
            time.sleep(0.2)
        for command in (
            f"udp_dstip {ADDRESS}", f"udp_srcip {ADDRESS}", f"udp_dstport {self._port}", "rx_hostname localhost:1954",
            "fwrite 0", "rx_zmqstream 0", "frames 10000000",
        ):  # fmt: skip
            said = self._said("put", command)
            if "ERROR" in said:
                raise RuntimeError(f"{command}: {said}")

    def flow(self, gbps: float, seconds: float) -> Flow:
        self._said("put", "rx_start")
        wait_for_port(self._port)
        before = cpu_s(self._started[1].pid)
        sent, reached = send(self._bench, self._port, gbps, seconds)
        time.sleep(DRAINED_S)
        spent = cpu_s(self._started[1].pid) - before
        said = self._said("get", "rx_framescaught")
        self._said("put", "rx_stop")
        complete = int(re.findall(r"\d+", said)[-1])
        return Flow(sent, complete, reached, spent * 1e9 / (sent * PACKETS), {})

    def end(self) -> None:
        for one in self._started:
            one.terminate()
            one.wait(READY_S)
        for left in SHARED.glob(f"slsDetectorPackage*bench_{os.getpid()}"):
            left.unlink()

    def _start(self, folder: Path, program: str, *words: str) -> subprocess.Popen[bytes]:
        with (folder / f"{program}.log").open("wb") as log:
            command = [str(self._programs / program), *words]
            return subprocess.Popen(
                command, cwd=self._programs, stdout=log, stderr=subprocess.STDOUT, env=self._environment
            )

    def _said(self, way: str, command: str) -> str:
        words = [str(self._programs / f"sls_detector_{way}"), *command.split()]
        done = subprocess.run(words, capture_output=True, text=True, env=self._environment, timeout=READY_S)
        return done.stdout + done.stderr


class StdDetector:
    """Receives with std_udp_recv_jf, which prints its counts each second."""

    def __init__(self, bench: Path, program: Path, folder: Path) -> None:
        self._bench, self._port, self._log = bench, 50020, folder / "std.log"
        detector = {
            "detector_name": f"bench{os.getpid()}",
            "detector_type": "jungfrau-converted",
            "n_modules": 1,
            "bit_depth": 16,
            "image_pixel_height": 512,
            "image_pixel_width": 1024,
            "start_udp_port": self._port,
            "module_positions": {"0": [0, 0, 1023, 511]},
            "log_level": "info",
            "stats_collection_period": 1,
        }
        (folder / "std.json").write_text(json.dumps(detector), encoding="utf-8")
        with self._log.open("wb") as log:
            self._process = subprocess.Popen([program, folder / "std.json", "0"], stdout=log, stderr=subprocess.STDOUT)
        wait_for_port(self._port)
        self.flow(4.0, 3.0)  # its 1000 slots are new memory once

    def flow(self, gbps: float, seconds: float) -> Flow:
        seen = self._log.stat().st_size
        before = cpu_s(self._process.pid)
        sent, reached = send(self._bench, self._port, gbps, seconds)
        time.sleep(2 * DRAINED_S)
        spent = cpu_s(self._process.pid) - before
        said = self._log.read_text(encoding="utf-8")[seen:]
        count = {
            name: sum(map(int, re.findall(rf"{name}=(\d+)", said))) for name in ("frames_counter", "n_corrupted_frames")
        }
        complete = count["frames_counter"] - count["n_corrupted_frames"]
        return Flow(sent, complete, reached, spent * 1e9 / (sent * PACKETS), {})

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for left in SHARED.glob(f"*bench{os.getpid()}*"):
            left.unlink()


def critical(flow: Callable[[float, float], Flow], seconds: float, costs: list[float]) -> float:
    """Return the highest rate that was reached without loss, by halving the list of rates."""
    low, high, best = 0, len(RATES), 0.0
    while low < high:
        middle = (low + high) // 2
        one = flow(RATES[middle], seconds)
        if one.whole:
            best = max(best, one.gbps)
            costs.append(one.cpu_ns)
            low = middle + 1
            if one.gbps < 0.9 * RATES[middle]:
                break  # the sender has no more
        else:
            high = middle
    return best


def receivers(chosen: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return the receivers whose programs exist, by name."""
    made: dict[str, Any] = {
        "rashpa": Ours(chosen.bench, "gro=1"),
        "rashpa_plain": Ours(chosen.bench, "gro=0"),
        "rashpa_xdp": Ours(chosen.bench, "engine=xdp"),
    }
    if chosen.flow:
        return {name: one for name, one in made.items() if name in chosen.only}
    if chosen.programs:
        made["slsreceiver"] = SlsReceiver(chosen.bench, chosen.programs.resolve(), folder)
    if chosen.std:
        made["std_detector"] = StdDetector(chosen.bench, chosen.std.resolve(), folder)
    return made


def search_rows(made: dict[str, Any], chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """Search the critical rate of each receiver in each round; return a row for each."""
    rates: dict[str, list[float]] = {name: [] for name in made}
    costs: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(chosen.rounds):
        for name, receiver in made.items():
            rates[name].append(critical(receiver.flow, chosen.seconds, costs[name]))
            print(f"{name:14} {rates[name][-1]:6.2f} Gb/s", file=sys.stderr)
    rows: list[dict[str, Any]] = []
    for name in made:
        row: dict[str, Any] = {
            "what": name,
            "value": round(statistics.median(rates[name]), 2),
            "unit": "Gb/s",
            "rounds": [round(one, 2) for one in rates[name]],
            "receiver_ns_a_packet": round(statistics.median(costs[name])) if costs[name] else None,
        }
        for peer in ("slsreceiver", "std_detector"):
            if peer in made and name != peer and all(rates[peer]):
                ratios = [mine / theirs for mine, theirs in zip(rates[name], rates[peer], strict=True)]
                row[f"of_{peer}"] = round(statistics.median(ratios), 2)
        rows.append(row)
    return rows


def flow_rows(made: dict[str, Any], chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """Play a flow three times with each receiver; return a row for each flow."""
    rows = []
    for name, receiver in made.items():
        for time_of in range(3):
            one = receiver.flow(chosen.flow, chosen.seconds)
            row = {"what": f"{name} {time_of + 1}", "value": round(one.gbps, 2), "unit": "Gb/s"}
            row |= {"sent": one.sent, "complete": one.complete, "sent_packets": one.sent * PACKETS, **one.books}
            rows.append(row | {"receiver_ns_a_packet": round(one.cpu_ns)})
            print(rows[-1], file=sys.stderr)
    return rows


def inside(words: list[str]) -> int:
    """Make both namespaces, run this program in one of them, and remove them."""
    commands = [
        f"ip netns add {HERE}",
        f"ip netns add {THERE}",
        f"ip -n {HERE} link set lo up",
        f"ip -n {HERE} link add sls0 type veth peer name sls1 netns {THERE}",
        f"ip -n {HERE} addr add {ADDRESS}/24 dev sls0",
        f"ip -n {THERE} addr add 10.91.0.2/24 dev sls1",
        f"ip -n {HERE} link set sls0 mtu 9000 up",
        f"ip -n {THERE} link set sls1 mtu 9000 up",
        f"tc -n {THERE} qdisc add dev sls1 root pfifo limit 100000",  # holds frames back while a ring is full (Linux 6.16)
    ]
    most = Path(
        "/proc/sys/net/core/rmem_max"
    )  # the peers ask for 100 MiB a socket, as their pages want, and do not force it
    before = most.read_text(encoding="utf-8")
    try:
        most.write_text(str(2**31 - 2), encoding="utf-8")
        for command in commands:
            subprocess.run(command.split(), check=True)
        here = [IP, "netns", "exec", HERE, sys.executable, *words]
        return subprocess.run(here, check=False, start_new_session=True, env=os.environ | {TOLD: THERE}).returncode
    finally:
        most.write_text(before, encoding="utf-8")
        for name in (HERE, THERE):
            subprocess.run([IP, "netns", "del", name], check=False)


def prefer() -> None:
    """Give this process and its children the processors before other work, where sessions share them equally, too."""
    os.nice(NICE)
    group = Path("/proc/self/autogroup")
    if group.exists():
        group.write_text(str(NICE), encoding="utf-8")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("bench", type=Path)
    options.add_argument("--programs", type=Path)
    options.add_argument("--std", type=Path)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--seconds", type=float, default=2.0)
    options.add_argument("--flow", type=float)
    options.add_argument("--only", nargs="+", default=["rashpa", "rashpa_plain", "rashpa_xdp"], help="with --flow")
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    if TOLD not in os.environ:
        return inside(sys.argv)
    prefer()
    chosen.bench = chosen.bench.resolve()
    with tempfile.TemporaryDirectory() as folder:
        made = receivers(chosen, Path(folder))
        try:
            rows = flow_rows(made, chosen) if chosen.flow else search_rows(made, chosen)
        finally:
            for receiver in made.values():
                receiver.end()
    for row in rows:
        print(json.dumps(row))
    if chosen.json:
        facts = {"seconds": chosen.seconds, "packet_bytes": PACKET_BYTES, "packets_a_frame": PACKETS, "nice": NICE}
        write_measured(chosen.json, measured("sls_peers", rows, **facts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
