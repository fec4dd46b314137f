#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures one receiving thread of the link sls whose pixels go to a GPU: copied into host memory and from there by the copy engine ("copied", as the
unit does it), or gathered by the GPU from packet buffers ("gathered"); and into host memory alone ("host"). Several sending processes of one port each
over loopback on one machine, with UDP_GRO. The rates are those of all senders: one that the thread cannot take gives its pixels a second, a lower one
its processor time for each byte. With --drain, datagrams of so many frames wait for each port before the thread begins, and nothing else runs: the
rate is that of the thread alone; of the four drains of a process the first is left out. The ways take turns in each round. "listed" makes lists that
nobody carries out: the floor of "gathered".

Prints rows; --json writes them with machine facts. Usage: sls_gather.py BENCH [--ways copied,gathered,host] [--gbps 160,20] [--ports 4] [--rounds 3]
[--seconds 3] [--drain 0] [--engine socket] [--buffer-mib 100] [--pool-kib 2048] [--json OUT.json]. BENCH: build/release/bench/rashpa_sls_rate_bench. gbps: of pixels.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from sls_peers import wait_for_port

from rashpa.control.nodes.machine import measured, write_measured

ADDRESS, FIRST_PORT = "127.0.0.1", 52001
DRAINED_S = 2.5


def flow(options: argparse.Namespace, way: str, gbps: float) -> dict[str, Any]:
    """Play one flow; return the rate of pixels in Gb/s, processor seconds for each gigabyte, and the counters."""
    bench, ports = options.bench.resolve(), options.ports
    place = [f"address={ADDRESS}"]
    words = [
        *place,
        f"port={FIRST_PORT}",
        f"ports={ports}",
        "threads=1",
        f"images={way}",
        f"engine={options.engine}",
        f"buffer={options.buffer_mib}",
    ]
    lasts = [f"seconds={options.seconds + DRAINED_S}", f"pool_kib={options.pool_kib}"]
    receiver = subprocess.Popen([bench, "receive", *words, *lasts], stdout=subprocess.PIPE, text=True)
    wait_for_port(FIRST_PORT + ports - 1)
    rate = [f"seconds={options.seconds}", f"gbps={gbps / ports}"]
    senders = [
        subprocess.Popen([bench, "send", *place, f"port={FIRST_PORT + port}", *rate], stdout=subprocess.PIPE, text=True)
        for port in range(ports)
    ]
    sent = sum(json.loads(sender.communicate()[0])["sent_packets"] for sender in senders)
    got = json.loads(receiver.communicate()[0])
    return {
        "got_gbps": round(8e-9 * got["payload_bytes"] / got["over_s"], 2),
        "cpu_s_per_gb": round(1e9 * got["cpu_s"] / got["payload_bytes"], 3),
        "system_s_per_gb": round(1e9 * got["system_s"] / got["payload_bytes"], 3),
        "sent_packets": sent,
        **{name: got[name] for name in ("packets", "host_drops", "gather_waits", "gather_full")},
    }


def drains(options: argparse.Namespace, way: str) -> list[dict[str, Any]]:
    """Return the rates at which one thread took what was waiting, with the counters."""
    words = [f"ports={options.ports}", "threads=1", f"images={way}", f"engine={options.engine}"]
    sizes = [f"frames={options.drain}", "rounds=4", f"buffer={options.buffer_mib}", f"pool_kib={options.pool_kib}"]
    done = subprocess.run(
        [options.bench.resolve(), "drain", *words, *sizes], capture_output=True, text=True, check=True
    )
    names = ("got_gbps", "complete", "lost", "host_drops", "gather_waits", "gather_full")
    return [{name: json.loads(line)[name] for name in names} for line in done.stdout.splitlines()[1:]]


def measure_drains(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return a row for each way."""
    flows: dict[str, list[dict[str, Any]]] = {way: [] for way in options.ways.split(",")}
    for _ in range(options.rounds):
        for way, own in flows.items():
            own += drains(options, way)
            print(way, json.dumps(own[-3:]), file=sys.stderr, flush=True)
    rows = []
    for way, own in flows.items():
        rates = [one["got_gbps"] for one in own]
        row = {"what": f"{way} drained", "value": statistics.median(rates), "unit": "Gb/s"}
        rows.append(row | {"least": min(rates), "most": max(rates), "rounds": own})
    copied = next((row["value"] for row in rows if row["what"] == "copied drained"), None)
    return [row | ({"of_copied": round(row["value"] / copied, 3)} if copied else {}) for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=Path)
    parser.add_argument("--ways", default="copied,gathered,host")
    parser.add_argument("--gbps", default="160,20")
    parser.add_argument("--ports", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--drain", type=int, default=0)
    parser.add_argument("--engine", default="socket", choices=("socket", "xdp"))
    parser.add_argument("--buffer-mib", type=int, default=100)
    parser.add_argument("--pool-kib", type=int, default=2048)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = measure_drains(options) if options.drain else []
    for row in rows:
        print({key: value for key, value in row.items() if key != "rounds"})
    for gbps in [] if options.drain else map(float, options.gbps.split(",")):
        flows: dict[str, list[dict[str, Any]]] = {way: [] for way in options.ways.split(",")}
        for _ in range(options.rounds):
            for way, own in flows.items():
                own.append(flow(options, way, gbps))
                print(way, gbps, json.dumps(own[-1]), file=sys.stderr, flush=True)
        for way, own in flows.items():
            middle = statistics.median(one["got_gbps"] for one in own)
            row = {"what": f"{way} {gbps:g}", "value": middle, "unit": "Gb/s", "asked_gbps": gbps, "rounds": own}
            row |= (
                {"of_copied": round(middle / statistics.median(one["got_gbps"] for one in flows["copied"]), 3)}
                if "copied" in flows
                else {}
            )
            rows.append(row | {"cpu_s_per_gb": statistics.median(one["cpu_s_per_gb"] for one in own)})
            print({key: value for key, value in rows[-1].items() if key != "rounds"})
    if options.json:
        given = {
            "engine": options.engine,
            "buffer_mib": options.buffer_mib,
            "seconds": options.seconds,
            "ports": options.ports,
            "pool_kib": options.pool_kib,
        }
        write_measured(options.json, measured("sls_gather", rows, **given))


if __name__ == "__main__":
    main()
