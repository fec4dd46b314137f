# SPDX-License-Identifier: Apache-2.0
"""Starts virtual machines that run as long as a test module: with Soft-RoCE, with a simulated card, with a PCI device behind an IOMMU, with two NUMA
nodes.

They start when the first test needs them, one after the other. `make test-vm` selects these tests; otherwise they are skipped.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.vm import card, image
from tests.vm.machine import Machine

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
CACHE = ROOT / "build/vm"
BUILD = ROOT / os.environ.get("RASHPA_VM_BUILD", "build/release")

SHARE_MODULES = ["virtio_pci", "9pnet_virtio", "9p"]
RDMA_MODULES = ["rdma_rxe", "ib_uverbs", "rdma_cm", "rdma_ucm", "veth"]
VFIO_MODULES = ["vfio", "vfio_iommu_type1", "vfio_pci"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "vm: boots a virtual machine; make test-vm selects these")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = [item for item in items if HERE in item.path.parents]
    for item in here:
        item.add_marker(pytest.mark.vm)
        if "vm" not in config.option.markexpr:
            item.add_marker(pytest.mark.skip(reason="boots a virtual machine: make test-vm"))


def built_program(name: str) -> Path:
    found = [path for path in BUILD.rglob(name) if path.is_file() and os.access(path, os.X_OK)]
    if not found:
        pytest.fail(f"vm: no program {name} below {BUILD}: make build, or name the build in RASHPA_VM_BUILD")
    return found[0]


def boot(name: str, modules: list[str], programs: dict[str, Path], arguments: tuple[str, ...], append: str) -> Machine:
    """Return a machine with the set-up guest/setup_<name>; its files are in build/vm/<name>."""
    share = CACHE / name
    shutil.rmtree(share, ignore_errors=True)
    share.mkdir(parents=True)
    kernel = image.unpacked_kernel(CACHE)
    files = image.Initramfs()
    files.file("/init", HERE / "guest/init")
    files.file("/bin/busybox", image.program("busybox"))
    files.link("/bin/sh", "busybox")
    files.file("/guest/functions", HERE / "guest/functions")
    files.file("/guest/setup", HERE / f"guest/setup_{name}")
    files.text("/etc/libibverbs.d/rxe.driver", "driver rxe\n")
    files.programs(programs)
    order = image.modules_in_order(kernel, SHARE_MODULES + modules)
    for path in order:
        files.file(f"/modules/{path.name.removesuffix('.xz')}", path)
    files.text("/modules/order", "".join(path.name.removesuffix(".xz") + "\n" for path in order))
    files.write(share / "initramfs")
    start = time.monotonic()
    machine = Machine(kernel.image, share / "initramfs", share, arguments, append)
    print(f"vm: {name} is up after {time.monotonic() - start:.1f} s")
    return machine


@pytest.fixture(scope="module")
def rdma() -> Iterator[Machine]:
    """Run a machine with Soft-RoCE in network namespaces, as guest/setup_rdma configures it."""
    provider = image.provider("rxe")
    machine = boot(
        "rdma",
        RDMA_MODULES,
        {
            "/usr/sbin/ip": image.program("ip"),
            "/usr/sbin/rdma": image.program("rdma"),
            "/usr/bin/ib_write_bw": image.program("ib_write_bw"),
            "/usr/bin/ibv_devinfo": image.program("ibv_devinfo"),
            "/usr/bin/rashpa_vm_peer": built_program("rashpa_vm_peer"),
            str(provider): provider,
        },
        (),
        "",
    )
    yield machine
    machine.close()


@pytest.fixture(scope="module")
def wire() -> Iterator[card.Wire]:
    """Run a machine with Soft-RoCE on an interface connected to a simulated card of the host."""
    provider = image.provider("rxe")
    program, peer = built_program("rashpa_card"), built_program("rashpa_vm_peer")
    # names of sockets are short
    with tempfile.TemporaryDirectory(prefix="rashpa_") as folder:
        place = Path(folder)
        with card.simulated_card(program, place / "nodes", place):
            machine = boot(
                "card",
                ["rdma_rxe", "ib_uverbs", "virtio_net"],
                {
                    "/usr/sbin/ip": image.program("ip"),
                    "/usr/sbin/rdma": image.program("rdma"),
                    "/usr/bin/ibv_devinfo": image.program("ibv_devinfo"),
                    "/usr/bin/rashpa_vm_peer": peer,
                    str(provider): provider,
                },
                card.interface(place),
                "",
            )
            yield card.Wire(machine, CACHE / "card", place / "nodes", built_program("rashpa_vm_card"), peer)
            machine.close()


@pytest.fixture(scope="module")
def numa() -> Iterator[Machine]:
    """Run a machine with two NUMA nodes of one processor and 512 MiB each."""
    nodes = [
        ("-object", f"memory-backend-ram,id=memory{node},size=512M", "-numa", f"node,cpus={node},memdev=memory{node}")
        for node in (0, 1)
    ]
    machine = boot(
        "numa",
        [],
        {"/usr/sbin/ip": image.program("ip"), "/usr/bin/rashpa_vm_peer": built_program("rashpa_vm_peer")},
        tuple(word for words in nodes for word in words),
        "",
    )
    yield machine
    machine.close()


@pytest.fixture(scope="module")
def edu() -> Iterator[Machine]:
    """Run a machine with QEMU's teaching device "edu" behind an Intel IOMMU, bound to vfio-pci, and 16 huge pages."""
    machine = boot(
        "edu",
        VFIO_MODULES,
        {"/usr/sbin/ip": image.program("ip"), "/usr/bin/rashpa_vm_edu": built_program("rashpa_vm_edu")},
        ("-device", "intel-iommu", "-device", "edu,dma_mask=0xffffffff"),
        "intel_iommu=on hugepages=16",
    )
    yield machine
    machine.close()
