# SPDX-License-Identifier: Apache-2.0
"""The longest packet of a path, measured on this machine and over a veth pair whose ends have other MTUs."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from rashpa.node.doctor.cards import ring_of
from rashpa.node.doctor.route import path_mtu

_AWAY = f"rashpa-doctor-{os.getpid()}"
_OURS, _ROUTER, _BEHIND, _FAR = "10.231.77.1", "10.231.77.2", "10.231.78.1", "10.231.78.2"


def test_loopback_takes_its_longest_packets_and_no_longer_ones() -> None:
    assert path_mtu("127.0.0.1", "127.0.0.1", 4156) == 4156
    with pytest.raises(OSError, match=r"No route|unreachable|Cannot assign"):
        path_mtu("192.0.2.1", "127.0.0.1", 4156)


def test_a_virtual_interface_has_no_ring() -> None:
    assert ring_of("lo") is None
    assert ring_of("no such interface") is None


def _ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True, capture_output=True)


@pytest.fixture
def way() -> Iterator[None]:
    """Make three namespaces in a row during the context: veth0 (9000) – veth1 (9000) [router] veth2 (1500) – veth3 (1500)."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("namespaces need root and iproute2")
    near, far = f"{_AWAY}n", f"{_AWAY}f"
    own = f"{_AWAY}o"
    with contextlib.ExitStack() as made:
        try:
            for space in (own, near, far):
                _ip(f"netns add {space}")
                made.callback(_ip, f"netns del {space}")
            _ip(f"-n {own} link add name veth0 mtu 9000 type veth peer name veth1 mtu 9000 netns {near}")
            _ip(f"-n {near} link add name veth2 mtu 1500 type veth peer name veth3 mtu 1500 netns {far}")
            ends = ((own, "veth0", _OURS), (near, "veth1", _ROUTER), (near, "veth2", _BEHIND), (far, "veth3", _FAR))
            for space, name, address in ends:
                _ip(f"-n {space} addr add {address}/24 dev {name}")
                _ip(f"-n {space} link set {name} up")
            _ip(f"-n {own} route add default via {_ROUTER}")
            _ip(f"-n {far} route add default via {_BEHIND}")
            _ip(f"netns exec {near} sysctl -qw net.ipv4.ip_forward=1")
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"this machine makes no namespaces: {error}")
        yield


@pytest.mark.usefixtures("way")
def test_a_router_with_a_shorter_way_behind_it_is_found() -> None:
    """Check that the router reports its limit: the own interface takes 9000 bytes, and the path after the router does not."""
    code = f"""
import json
from rashpa.node.doctor.route import path_mtu
print(json.dumps([path_mtu("{_OURS}", "{_ROUTER}", 4156), path_mtu("{_OURS}", "{_FAR}", 4156),
                  path_mtu("{_OURS}", "{_FAR}", 1400), path_mtu("{_OURS}", "{_ROUTER}", 9600)]))
"""
    words = ["ip", "netns", "exec", f"{_AWAY}o", sys.executable, "-c", code]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout) == [4156, 1500, 1400, 9000]
