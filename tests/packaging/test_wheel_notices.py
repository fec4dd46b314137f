# SPDX-License-Identifier: Apache-2.0
"""Checks that a wheel has the licences of all its contents: libraries of the distribution, compiled sources, and the CUDA runtime."""

import base64
import csv
import hashlib
import importlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INFO = "rashpa-1.0.dist-info"
CUDA = b"CUDA driver version is insufficient for CUDA runtime version"
METADATA = "Metadata-Version: 2.4\nName: rashpa\nVersion: 1.0\nLicense-File: LICENSE\nLicense-File: THIRD_PARTY.txt\n"

pytestmark = pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="needs a distribution with dpkg")


def make_wheel(folder: Path, library: str, module: bytes = b"") -> Path:
    wheel = folder / "rashpa-1.0-cp312-abi3-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as out:
        program = zipfile.ZipInfo("rashpa/rashpa-publisher")
        program.external_attr = 0o100755 << 16
        out.writestr(program, "a program")
        out.writestr("rashpa/_native.abi3.so", module)
        out.writestr(f"rashpa.libs/{library}", "a library")
        out.writestr(f"{INFO}/METADATA", METADATA.replace("License-File: THIRD_PARTY.txt\n", ""))
        out.writestr(f"{INFO}/RECORD", f"rashpa/rashpa-publisher,,\n{INFO}/METADATA,,\n{INFO}/RECORD,,\n")
    return wheel


def notices(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "tools/release/wheel_notices.py", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_wheel_gets_the_licence_of_each_library_that_it_carries(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "libzstd-37412b7a.so.1", b"ELF " + CUDA)
    before = notices("--check", wheel)
    assert before.returncode == 1
    assert "no licence of nanobind, libzstd-37412b7a.so.1, CUDA runtime; make the wheel again" in before.stderr
    assert notices(wheel).returncode == 0
    assert notices("--check", wheel).returncode == 0
    with zipfile.ZipFile(wheel) as file:
        text = file.read(f"{INFO}/licenses/THIRD_PARTY.txt").decode()
        assert "libzstd-37412b7a.so.1 (libzstd1 of the distribution)" in text
        assert "Meta Platforms" in text and "Wenzel Jakob" in text and "NVIDIA Corporation" in text
        assert "/usr/share/common-licenses/" not in text or "GNU GENERAL PUBLIC LICENSE" in text
        assert file.read(f"{INFO}/METADATA").decode() == METADATA


def test_the_record_of_a_changed_wheel_is_true_and_programs_stay_programs(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "libzstd-37412b7a.so.1")
    for _ in range(2):  # the second time the licences are there already
        assert notices(wheel).returncode == 0
    with zipfile.ZipFile(wheel) as file:
        assert len(file.namelist()) == len(set(file.namelist()))
        rows = {
            name: (digest, size) for name, digest, size in csv.reader(file.read(f"{INFO}/RECORD").decode().splitlines())
        }
        for name in (f"{INFO}/METADATA", f"{INFO}/licenses/THIRD_PARTY.txt"):
            content = file.read(name)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert rows[name] == (f"sha256={digest}", str(len(content)))
        assert file.getinfo("rashpa/rashpa-publisher").external_attr >> 16 == 0o100755


def test_a_library_without_a_known_licence_makes_no_wheel(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "libnobody-37412b7a.so.7")
    content = wheel.read_bytes()
    done = notices(wheel)
    assert done.returncode == 1
    assert "libnobody-37412b7a.so.7 (no package of the distribution): the licence is not found; add it" in done.stderr
    assert wheel.read_bytes() == content


def test_wheels_get_their_licences_when_they_are_made_and_are_checked_before_they_are_tried() -> None:
    assert 'wheel_notices.py "$wheel"' in (ROOT / "tools/make_wheel.sh").read_text(encoding="utf-8")
    assert "wheel_notices.py --check build/wheel/dist/" in (ROOT / "tools/test_wheel.sh").read_text(encoding="utf-8")


def test_the_bill_lists_each_library_that_another_tool_has_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools/release"))
    bill = importlib.import_module("bill_of_materials")
    (tmp_path / "rashpa.libs").mkdir()
    (tmp_path / "rashpa.libs/libzstd-37412b7a.so.1").touch()
    found = {part["name"]: part for part in bill.of_distribution(tmp_path, set())}
    command = ["dpkg-query", "-W", "-f", "${Version}", "libzstd1"]
    assert found["libzstd1"]["version"] == subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert found["libzstd1"]["purl"].startswith("pkg:deb/")
    assert "libzstd1" not in {part["name"] for part in bill.of_distribution(tmp_path, {"libzstd1"})}
    (tmp_path / "rashpa.libs/libnobody-12345678.so.1").touch()
    with pytest.raises(SystemExit, match=r"libnobody-12345678\.so\.1: no package of the distribution has it"):
        list(bill.of_distribution(tmp_path, set()))
