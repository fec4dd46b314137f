# SPDX-License-Identifier: Apache-2.0
"""Tests on a machine with two NUMA nodes that memory is on the node of the thread that sets up a receiver; rashpa.node.engine.places.numa relies on
this."""

import re

import pytest
from tests.vm.machine import Machine

# A receiver waits for a source that never comes: by then it has its memory. Pages of its mappings by NUMA node.
LOOK = """
taskset {mask} rashpa_vm_peer --link roce --role destination --peer roce --bind 127.0.0.1 --exchange $OUT/exchange \
  --modules 4 --width 1024 --height 512 --slots 32 --timeout-s 20 >$OUT/peer.json 2>$OUT/peer.err &
peer=$!
tries=0
until [ -e $OUT/exchange.destination ]; do tries=$((tries + 1)); [ $tries -lt 150 ] || exit 1; sleep 0.1; done
cat /proc/$peer/numa_maps >$OUT/maps
kill -9 $peer
wait $peer || rm -f $OUT/exchange*
"""
RING = 32 * 4 * 1024 * 512 * 2  # bytes


@pytest.mark.parametrize("node", [0, 1])
def test_buffers_lie_on_the_node_of_the_thread_that_makes_them(numa: Machine, node: int) -> None:
    result = numa.run(f"numa{node}", LOOK.format(mask=1 << node), 40)
    assert result.status == 0, result.output + result.text("peer.err")
    pages = [
        {int(where): int(count) * int(size) for where, count in re.findall(r" N(\d)=(\d+)", line)}
        for line in result.text("maps").splitlines()
        for size in re.findall(r"kernelpagesize_kB=(\d+)", line)
        if " anon=" in line
    ]
    ring = max(pages, key=lambda one: sum(one.values()))
    assert sum(ring.values()) * 1024 >= RING, result.text("maps")
    assert set(ring) == {node}, result.text("maps")
