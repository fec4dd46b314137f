# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

from rashpa.node.host.interfaces import interfaces


def put(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_loopback_of_this_machine_has_its_address_and_no_speed() -> None:
    (lo,) = [one for one in interfaces() if one.name == "lo"]
    assert lo.bits_per_s == 0
    assert "127.0.0.1" in lo.addresses


def test_speeds_are_those_of_drivers_or_of_the_rnic_and_not_known_otherwise(tmp_path: Path) -> None:
    sys, proc = tmp_path / "sys", tmp_path / "proc"
    put(sys / "class/net/rashpa_a/speed", "25000\n")
    put(sys / "class/net/rashpa_b/speed", "-1\n")
    put(sys / "class/net/rashpa_c/address")
    put(sys / "class/net/rashpa_d/speed", "-1\n")
    for device, name, rate in (
        ("mlx5_0", "rashpa_c", "100 Gb/sec (4X EDR)"),
        ("rxe0", "rashpa_d", "2.5 Gb/sec (1X SDR)"),
    ):
        port = sys / "class/infiniband" / device / "ports/1"
        put(port / "gid_attrs/ndevs/0", f"{name}\n")
        put(port / "rate", f"{rate}\n")
    put(sys / "class/infiniband/mlx5_0/device/vendor")  # a device in hardware; Soft-RoCE has none
    put(proc / "net/if_inet6", "fd000000000000000000000000000002 04 40 00 82 rashpa_a\nnonsense\n")
    found = {one.name: one for one in interfaces(sys, proc)}
    assert {name: one.bits_per_s for name, one in found.items()} == {
        "rashpa_a": 25 * 10**9,
        "rashpa_b": 0,
        "rashpa_c": 100 * 10**9,
        "rashpa_d": 0,
    }
    assert (found["rashpa_a"].addresses, found["rashpa_c"].device) == (("fd00::2",), "mlx5_0")


def test_a_machine_without_these_folders_has_none(tmp_path: Path) -> None:
    assert interfaces(tmp_path, tmp_path) == ()
