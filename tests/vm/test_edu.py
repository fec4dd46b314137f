# SPDX-License-Identifier: Apache-2.0
"""Tests memory-mapped DMA without hardware: a PCI device behind an IOMMU writes an acquisition into a RASHPA buffer."""

import json

from tests.vm.machine import Machine


def test_a_pci_device_writes_regions_and_events_through_the_iommu(edu: Machine) -> None:
    result = edu.run("edu-acquisition", "rashpa_vm_edu $(cat /run/edu)", 90)
    assert result.status == 0, result.output
    got = json.loads(result.output)
    assert got["balanced"]
    assert got["expected"] == got["complete"] == got["written"] == 8
    assert got["events"] == 16, "one event for each image of each of two modules"
    assert got["bad_records"] == got["crc_mismatches"] == 0
    assert got["memory"] == "huge", "the machine has huge pages, so the buffer must lie in them"
    assert got["huge_pages"] > 2
    assert got["page_crossings"] > 0, "lines must lie across boundaries of huge pages"
    assert "DMAR:" not in result.kernel, result.kernel


def test_the_iommu_refuses_a_write_behind_the_buffer(edu: Machine) -> None:
    result = edu.run("edu-outside", "rashpa_vm_edu $(cat /run/edu) outside", 30)
    assert result.status == 0, result.output
    assert json.loads(result.output)["untouched"]
    assert "DMAR:" in result.kernel, "the kernel must have seen the fault"
    assert "fault" in result.kernel
