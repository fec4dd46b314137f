# SPDX-License-Identifier: Apache-2.0
"""Every unit of this machine passes every vector; every kernel has some; a wrong value is found."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.cli.main import app
from rashpa.data.kernels import conformance
from rashpa.data.kernels.conformance import STACKS, Vector, compare, compute, judge, vectors
from rashpa.data.kernels.pipeline import available_units, kernel_declarations

pytestmark = pytest.mark.whole

ROOT = Path(__file__).resolve().parents[3]
KERNELS = list(kernel_declarations())
# unit fpga, which needs a card: tests/chain/test_card_unit.py
UNITS = [name for name, (usable, _) in available_units().items() if usable and name != "fpga"]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_has_vectors_and_passes_them(kernel: str, unit: str) -> None:
    found = [judge(vector, unit) for vector in vectors(kernel)]
    assert found
    assert [one for one in found if not one.good and one.result != "no version"] == []


def test_every_kernel_has_a_version_for_opencl() -> None:
    assert [name for name, one in kernel_declarations().items() if "opencl" not in one["units"]] == []


@pytest.mark.parametrize("kernel", KERNELS)
def test_vectors_try_every_type_of_pixels_and_every_choice(kernel: str) -> None:
    made = list(vectors(kernel))
    takes = kernel_declarations()[kernel]["takes"]
    assert {one.images.dtype.name for one in made} >= set(takes.get("pixels", ()))
    for parameter in kernel_declarations()[kernel]["parameters"]:
        tried = {
            step.get(parameter["name"], parameter.get("default"))
            for one in made
            for step in one.kernels
            if step["name"] == kernel
        }
        assert tried >= set(parameter.get("choices") or ())


def test_vectors_are_those_of_the_script() -> None:
    command = [sys.executable, str(ROOT / "tools" / "make_conformance.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def first(kernel: str, name: str) -> Vector:
    return next(one for one in vectors(kernel) if one.name == name)


def test_counts_and_lists_of_the_vectors_are_those_of_numpy() -> None:
    count = first("bragg_count", "all_uint16")
    counted = (count.images >= 3) & (count.images != 65535)
    np.testing.assert_array_equal(count.expected["column.bright_pixels"], counted.sum(axis=(1, 2)))
    listed = first("csr", "all_int16")
    bright = listed.images >= 1
    np.testing.assert_array_equal(listed.expected["list.value"], listed.images[bright])
    np.testing.assert_array_equal(np.diff(listed.expected["list.ptr"].astype(int)), bright.sum(axis=(1, 2)))
    total = first("total_counts", "all_int32")
    np.testing.assert_array_equal(
        total.expected["column.total_counts"],
        np.where(total.images >= 0, total.images, 0).sum(axis=(1, 2), dtype=np.int64),
    )


def test_one_wrong_bit_is_found_in_whatever_a_kernel_makes() -> None:
    for kernel in KERNELS:
        vector = next(iter(vectors(kernel)))
        found = compute(vector)
        assert compare(vector, found).good
        for name, values in found.items():
            if values.size == 0 or values.dtype.kind not in "iu":
                continue
            wrong = values.copy()
            wrong.ravel()[-1] ^= 1
            verdict = compare(vector, {**found, name: wrong})
            assert verdict.result == "different"
            assert verdict.text.startswith(name)


def test_real_numbers_may_differ_by_what_the_vector_says() -> None:
    vector = first("jungfrau", "kev_uint16")
    found = compute(vector)
    near = {**found, "pixels": np.nextafter(found["pixels"], np.float32(np.inf))}
    assert compare(vector, near).result == "within"
    far = {**found, "pixels": found["pixels"] * np.float32(1 + 1e-5)}
    assert compare(vector, far).result == "different"
    assert compare(replace(vector, ulp=0), near).result == "different"
    assert compare(vector, {**found, "pixels": np.nan_to_num(found["pixels"])}).result == "different"


def test_stacks_of_one_and_of_more_than_there_are_images_are_tried() -> None:
    assert min(STACKS) == 1
    assert max(STACKS) > max(len(one.images) for one in vectors("jungfrau"))


def test_kernels_that_ride_on_another_are_carried_out_apart_too(monkeypatch: pytest.MonkeyPatch) -> None:
    ways = []

    def as_expected(vector: Vector, *_: object, fused: bool, **__: object) -> conformance.Arrays:
        ways.append(fused)
        return vector.expected

    monkeypatch.setattr(conformance, "compute", as_expected)
    assert judge(first("jungfrau", "counted_and_marked_on_the_way_uint16"), "cpu").good
    assert ways == [True, False] * len(STACKS)
    ways.clear()
    assert judge(first("bragg_count", "all_uint8"), "cpu").good
    assert ways == [True] * len(STACKS)


def test_the_command_reports_as_text_and_json(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        app, ["conformance", "--unit", "cpu", "--kernel", "csr", "--output", str(tmp_path / "r.json")]
    )
    assert done.exit_code == 0, done.output
    assert "csr" in done.output
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["unit"] == "cpu"
    assert {one["kernel"] for one in report["vectors"]} == {"csr"}
    assert {one["result"] for one in report["vectors"]} == {"identical"}


@pytest.mark.parametrize(
    "arguments",
    [["--unit", "abacus"], ["--kernel", "nothing"], ["--device", "1"], ["--unit", "opencl", "--device", "abacus"]],
)
def test_units_kernels_and_devices_that_there_are_not_are_refused(arguments: list[str]) -> None:
    assert CliRunner().invoke(app, ["conformance", *arguments]).exit_code == 2


def test_what_a_units_version_does_not_do_is_no_failure() -> None:
    borders = first("jungfrau", "borders_shared_photons_uint16")
    verdict = judge(borders, "fpga")
    assert (verdict.result, verdict.bad) == ("no version", False)
    assert verdict.text == "unit fpga has none of jungfrau with borders = shared"
