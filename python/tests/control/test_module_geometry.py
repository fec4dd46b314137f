# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from rashpa.control.plan_telegrams import metadata_of
from rashpa.control.run_file_reader import RunFileError
from rashpa.control.run_plan import Plan, load_plan

RUN = """\
[run]
name = "placed"
frames = 10
[detector]
width = 64
height = 32
geometry = "det.geom"
{detector}
[dataset]
kind = "pattern"
modules = 3
width = 64
height = 32
[[buffer]]
name = "full"
sink = [{{ kind = "null" }}]
"""


def panel(
    name: str,
    rows: tuple[int, int],
    corner: tuple[float, float],
    way: str = "+x +y",
    columns: tuple[int, int] = (0, 63),
) -> str:
    fs, ss = way.split()
    values = {
        "min_fs": columns[0],
        "max_fs": columns[1],
        "min_ss": rows[0],
        "max_ss": rows[1],
        "corner_x": corner[0],
        "corner_y": corner[1],
        "fs": fs,
        "ss": ss,
    }
    return "".join(f"{name}/{key} = {value}\n" for key, value in values.items())


THREE = [
    panel("p0", (0, 31), (-70.2, -20.0)),
    panel("p1", (32, 63), (5.9, -20.1)),
    panel("p2", (64, 95), (-70.0, 16.8)),
]


def plan_of(folder: Path, panels: list[str], detector: str = "") -> Plan:
    (folder / "det.geom").write_text("photon_energy = 9000\n" + "".join(panels))
    path = folder / "run.toml"
    path.write_text(RUN.format(detector=detector))
    return load_plan(path)


def test_modules_lie_in_whole_pixels_where_the_geometry_says_and_so_does_the_beam(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, THREE)
    assert [(one.x, one.y) for one in plan.file.detector.module] == [(0, 0), (76, 0), (0, 37)]
    (full,) = plan.buffers
    assert (full.width, full.height) == (140, 69)
    assert [str(dtp.target) for dtp in full.dtps] == ["[0, 0, 64, 32]", "[76, 0, 64, 32]", "[0, 37, 64, 32]"]
    metadata = metadata_of(plan.file, full)
    assert (metadata["beam_center_x"], metadata["beam_center_y"]) == (pytest.approx(70.2), pytest.approx(20.1))


def test_what_the_run_file_says_of_the_beam_counts(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, THREE, "beam_center_x = 1.0\nbeam_center_y = 2.0")
    assert (plan.file.detector.beam_center_x, plan.file.detector.beam_center_y) == (1.0, 2.0)


def test_a_detector_that_is_turned_as_a_whole_keeps_its_own_axes(tmp_path: Path) -> None:
    turned = [
        panel("p0", (0, 31), (40.0, 10.0), "-y +x"),
        panel("p1", (32, 63), (80.0, 10.0), "-y +x"),
        panel("p2", (64, 95), (40.0, -60.0), "-0.9999y-0.01x +0.9999x-0.01y"),
    ]
    plan = plan_of(tmp_path, turned)
    assert [(one.x, one.y) for one in plan.file.detector.module] == [(0, 0), (0, 40), (70, 0)]
    assert (plan.file.detector.beam_center_x, plan.file.detector.beam_center_y) == (
        10.0,
        pytest.approx(-39.68, abs=0.01),
    )


def test_panels_of_one_module_are_one_when_they_lie_as_one(tmp_path: Path) -> None:
    halves = [
        panel("a", (0, 31), (-70.2, -20.0), columns=(0, 31)),
        panel("b", (0, 31), (-38.0, -20.2), columns=(32, 63)),
    ]
    plan = plan_of(tmp_path, [*halves, *THREE[1:]])
    assert [(one.x, one.y) for one in plan.file.detector.module] == [(0, 0), (76, 0), (0, 37)]


@pytest.mark.parametrize(
    ("panels", "detector", "says"),
    [
        (
            [*THREE[:2], panel("p2", (64, 95), (0.0, 80.0), "-x +y")],
            "",
            "line 18: the panel p2 runs fs -x, ss +y, the panel p0 fs +x, ss +y: modules that are turned or flipped against each other are not placed yet",
        ),
        ([*THREE[:2], panel("p2", (64, 95), (0.0, 80.0), "+y -x")], "", "the panel p2 runs fs +y, ss -x"),
        ([*THREE[:2], panel("p2", (64, 95), (0.0, 80.0), "+x+y -x+y")], "", "fs of the panel p2 is 45.0° off x and y"),
        ([*THREE[:2], panel("p2", (60, 95), (0.0, 80.0))], "", "the panels p1 and p2 both have the pixel in row 60"),
        ([panel("p0", (0, 95), (0.0, 0.0))], "", "the panel p0 is of rows 0 … 95, beyond the 32 rows of module 0"),
        (
            [
                panel("a", (0, 31), (0.0, 0.0), columns=(0, 31)),
                panel("b", (0, 31), (34.0, 0.0), columns=(32, 63)),
                *THREE[1:],
            ],
            "",
            "the panels of module 0 have gaps of up to 2.0 pixels between them",
        ),
        ([THREE[0], THREE[2]], "", "has no panel of module 1"),
        ([panel("p0", (0, 2**20 - 1), (0.0, 0.0))], "", "with modules of 32 that is more than 256 of them"),
        (THREE[:2], "", "dataset has 3 modules"),
        ([*THREE[:2], panel("p2", (64, 95), (-60.0, -20.0))], "", "module 2 at [10, 0, 64, 32] overlaps module 0"),
        (THREE, "[[detector.module]]\nx = 0\ny = 0", "stand in [[detector.module]], too; keep one of both"),
    ],
)
def test_what_cannot_be_placed_is_refused(tmp_path: Path, panels: list[str], detector: str, says: str) -> None:
    with pytest.raises(RunFileError) as refusal:
        plan_of(tmp_path, panels, detector)
    assert says in str(refusal.value)


def test_a_geometry_that_is_not_there_is_named(tmp_path: Path) -> None:
    plan_of(tmp_path, THREE)
    (tmp_path / "det.geom").unlink()
    with pytest.raises(RunFileError, match=r"run\.toml:7: detector\.geometry: .*det\.geom: No such file"):
        load_plan(tmp_path / "run.toml")
