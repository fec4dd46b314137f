# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.kernels import declarations
from rashpa.control.runfile.pipeline import plan_pipeline
from rashpa.control.runfile.run_file_reader import RunFileError

HEAD = """\
[run]
name = "pipeline"
frames = 10
[detector]
{size}
pixel = "{pixel}"
[dataset]
kind = "{dataset}"
{values}
[[buffer]]
name = "full"
sink = [{{ kind = "null" }}]
"""
JUNGFRAU = '[[buffer.kernel]]\nname = "jungfrau"\n'
COUNT = '[[buffer.kernel]]\nname = "bragg_count"\nthreshold = 5\nmin_pixels = 3\n'
CSR = '[[buffer.kernel]]\nname = "csr"\nthreshold = 2\ncapacity = 0.25\n'


def head(pixel: str, *, simulated: bool) -> str:
    """Return the run file without the kernels. Only images of the simulator come with the calibration that jungfrau needs."""
    if simulated:
        size = "width = 1024\nheight = 512"
        return HEAD.format(pixel=pixel, size=size, dataset="jungfrau", values="modules = 1\n")
    size = "width = 64\nheight = 32"
    return HEAD.format(pixel=pixel, size=size, dataset="pattern", values=f'{size}\npixel = "{pixel}"')


def plan_of(tmp_path: Path, kernels: str, pixel: str = "uint16") -> Plan:
    path = tmp_path / "run.toml"
    path.write_text(head(pixel, simulated=JUNGFRAU in kernels and pixel == "uint16") + kernels)
    return load_plan(path)


def refusal(tmp_path: Path, kernels: str, pixel: str = "uint16") -> str:
    with pytest.raises(RunFileError) as caught:
        plan_of(tmp_path, kernels, pixel)
    return str(caught.value)


def test_steps_ride_on_the_conversion_where_they_can(tmp_path: Path) -> None:
    section = plan_of(tmp_path, JUNGFRAU + COUNT + CSR).buffers[0].section
    steps = plan_pipeline(section.kernel, "uint16")
    assert steps.words == "jungfrau, bragg_count (counted on the way), csr (by marks)"
    assert steps.pixel == "int16"
    assert [column.name for column in steps.columns] == ["masked_pixels", "saturated_pixels", "bright_pixels"]
    assert steps.reasons == ("too_few", "too_many")
    assert steps.makes_list
    jungfrau, count, csr = steps.steps
    assert (jungfrau.counts_for, jungfrau.marks_for) == ("bragg_count", "csr")
    assert steps.cost(jungfrau, 10) == (2 + 0.8, 2 + 1 / 8)
    assert steps.cost(count, 10) == (0, 0)
    assert steps.cost(csr, 10) == (1 / 8, 0)


@pytest.mark.parametrize("pixel", ["uint8", "uint16", "uint32", "int16", "int32"])
def test_photons_of_a_detector_need_no_conversion(tmp_path: Path, pixel: str) -> None:
    section = plan_of(tmp_path, COUNT + CSR, pixel).buffers[0].section
    steps = plan_pipeline(section.kernel, pixel)
    assert steps.words == "bragg_count, csr"
    assert steps.pixel == pixel


def test_what_does_not_fit_is_said_with_file_line_and_key(tmp_path: Path) -> None:
    assert (
        f"{tmp_path}/run.toml:16: buffer[0].kernel[0]: kernel jungfrau reads uint16, the detector's pixels are uint32"
        in refusal(tmp_path, JUNGFRAU, "uint32")
    )
    kev = JUNGFRAU + 'output = "kev"\n'
    assert (
        "run.toml:18: buffer[0].kernel[1]: kernel bragg_count reads uint8, uint16, uint32, int16, int32, and jungfrau makes float32"
        in refusal(tmp_path, kev + COUNT)
    )
    assert "kernel[1]: bragg_count stands behind csr; put it before" in refusal(tmp_path, CSR + COUNT)
    assert "kernels come once each, csr is there twice" in refusal(tmp_path, CSR + CSR)
    assert "kernel[0].min_pixels: 3 is more than max_pixels (2)" in refusal(tmp_path, COUNT + "max_pixels = 2\n")
    assert "kernel[0].threshold: 300 is more than uint8 pixels hold, 254 at most" in refusal(
        tmp_path, CSR.replace("threshold = 2", "threshold = 300"), "uint8"
    )


def test_raw_words_are_not_counted_as_photons(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(head("uint16", simulated=True) + COUNT)
    with pytest.raises(RunFileError, match="begin with jungfrau"):
        load_plan(path)


def test_every_kernel_says_what_it_takes_and_makes() -> None:
    for name, kernel in declarations().items():
        assert kernel.name == name
        assert kernel.purpose
        assert kernel.takes.pixels or (kernel.takes.port == "scalars" and kernel.takes.by)
        assert kernel.makes
        assert "cpu" in kernel.units
