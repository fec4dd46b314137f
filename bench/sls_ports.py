#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the rate at which the link sls takes datagrams of JUNGFRAUs without a loss, by number of modules: two ports, one receiving thread and one
sending process for each module, over loopback on one machine, with UDP_GRO. A rate counts when all packets sent arrived, in each of its rounds. It
goes up until packets are lost or the senders cannot keep it, so the highest rate is a lower bound. The kernel's buffers of sockets are those of the
machine.

Prints rows; --json writes them with machine facts. Usage: sls_ports.py BENCH [--modules 1,2,4,7] [--gbps 15,20,…] [--rounds 3] [--seconds 3]
[--json OUT.json]. BENCH: build/release/bench/rashpa_sls_rate_bench. gbps: of pixels, for each module.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from sls_peers import wait_for_port

from rashpa.control.nodes.machine import measured, write_measured

ADDRESS, FIRST_PORT = "127.0.0.1", 52001
DRAINED_S = 2.5


def flow(bench: Path, modules: int, gbps: float, seconds: float) -> dict[str, Any]:
    """Play one flow of each module; return packets sent and received, images, and the rate of pixels that were taken."""
    place = [f"address={ADDRESS}"]
    words = [*place, f"port={FIRST_PORT}", f"ports={2 * modules}", f"threads={modules}"]
    lasts = [f"seconds={seconds + DRAINED_S}", f"over={seconds}"]
    receiver = subprocess.Popen([bench, "receive", *words, *lasts], stdout=subprocess.PIPE, text=True)
    wait_for_port(FIRST_PORT + 2 * modules - 1)
    senders = [
        subprocess.Popen(
            [bench, "send", *place, f"port={FIRST_PORT + 2 * module}", "ports=2", f"seconds={seconds}", f"gbps={gbps}"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for module in range(modules)
    ]
    sent = sum(json.loads(sender.communicate()[0])["sent_packets"] for sender in senders)
    got = json.loads(receiver.communicate()[0])
    return {"sent_packets": sent} | {name: got[name] for name in ("packets", "lost", "host_drops", "got_gbps")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=Path)
    parser.add_argument("--modules", default="1,2,4,7")
    parser.add_argument("--gbps", default="15,20,25,30,35,40")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for modules in map(int, options.modules.split(",")):
        best: dict[str, Any] = {}
        for gbps in map(float, options.gbps.split(",")):
            flows = []
            for _ in range(options.rounds):
                flows.append(flow(options.bench.resolve(), modules, gbps, options.seconds))
                if flows[-1]["packets"] != flows[-1]["sent_packets"]:
                    break
            print(modules, gbps, json.dumps(flows), file=sys.stderr, flush=True)
            if flows[-1]["packets"] != flows[-1]["sent_packets"] or flows[-1]["lost"]:
                best = best | {"lost_at_gbps": gbps, "lost_packets": flows[-1]["sent_packets"] - flows[-1]["packets"]}
                break
            slowest = min(flows, key=lambda one: float(one["got_gbps"]))
            best = slowest | {"asked_gbps": gbps, "rounds": options.rounds}
        rate = best.pop("got_gbps", 0.0)
        rows.append({"what": f"modules {modules}", "value": rate, "unit": "Gb/s", "modules": modules} | best)
        print(rows[-1])
    if options.json:
        write_measured(options.json, measured("sls_ports", rows, seconds=options.seconds))


if __name__ == "__main__":
    main()
