# SPDX-License-Identifier: Apache-2.0
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rashpa.control.capacity.capacity import cautions
from rashpa.control.orders.plan_telegrams import destination_telegram, metadata_of
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram_xml import decode, encode
from rashpa.data.geometry.crystfel_modules import rectangles_of
from rashpa.data.geometry.orientation import Orientation
from rashpa.node.engine.calibration import bad_of_buffer, gaps_of_buffer

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
    metadata = metadata_of(plan, full)
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
    centre: tuple[Any, Any] = (plan.file.detector.beam_center_x, plan.file.detector.beam_center_y)
    assert centre == (
        10.0,
        pytest.approx(-39.68, abs=0.01),
    )


WAYS = {
    "+x +y": (0, False, (0.0, 0.0)),
    "+y -x": (90, False, (32.0, 0.0)),
    "-x -y": (180, False, (64.0, 32.0)),
    "-y +x": (270, False, (0.0, 64.0)),
    "-x +y": (0, True, (64.0, 0.0)),
    "+y +x": (90, True, (0.0, 0.0)),
    "+x -y": (180, True, (0.0, 32.0)),
    "-y -x": (270, True, (32.0, 64.0)),
}
"""By the directions of fs and ss: turn, flip, and where the corner of the first pixel lies in the module as it is turned."""


@pytest.mark.parametrize("way", WAYS)
def test_a_module_that_runs_another_way_than_most_is_turned_and_lies_where_its_pixels_are(
    tmp_path: Path, way: str
) -> None:
    turn, flip, corner = WAYS[way]
    plan = plan_of(tmp_path, [*THREE[:2], panel("p2", (64, 95), (-70.2 + corner[0], 16.0 + corner[1]), way)])
    module = plan.file.detector.module[2]
    assert (module.x, module.y, module.turn, module.flip) == (0, 36, turn, flip)
    assert [(one.turn, one.flip) for one in plan.file.detector.module[:2]] == [(0, False)] * 2
    (full,) = plan.buffers
    sides = (32, 64) if turn % 180 else (64, 32)
    assert (full.dtps[2].target.width, full.dtps[2].target.height) == sides
    assert full.dtps[2].orientation == Orientation(turn, flip)
    assert full.height == 36 + sides[1]


def test_a_geometry_whose_image_has_the_axes_of_most_modules_turns_the_first_when_it_is_alone(tmp_path: Path) -> None:
    panels = [
        panel("p0", (0, 31), (0.0, 0.0)),
        panel("p1", (32, 63), (200.0, 0.0), "+y -x"),
        panel("p2", (64, 95), (200.0, 100.0), "+y -x"),
    ]
    plan = plan_of(tmp_path, panels)
    assert [one.turn for one in plan.file.detector.module] == [270, 0, 0]


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
            [
                panel("a", (0, 31), (0.0, 0.0), columns=(0, 31)),
                panel("b", (0, 31), (64.0, 0.0), "-x +y", columns=(32, 63)),
                *THREE[1:],
            ],
            "",
            "line 10: the panel b runs fs -x, ss +y, the panel a of the same module fs +x, ss +y; a module is turned as a whole",
        ),
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
        ([panel("p0", (0, 2**20 - 1), (0.0, 0.0))], "", "with modules of 32 that is more than 4096 of them"),
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


SAID = "res = 5814.0\nclen = 300 mm\nwavelength = 1.3776 A\n"


def plan_with(folder: Path, said: str, detector: str = "") -> Plan:
    plan_of(folder, THREE, detector)
    (folder / "det.geom").write_text(said + "".join(THREE))
    return load_plan(folder / "run.toml")


def test_what_only_the_geometry_says_of_the_detector_is_taken_over(tmp_path: Path) -> None:
    detector = plan_with(tmp_path, SAID).file.detector
    assert detector.pixel_size_m == pytest.approx(1 / 5814)
    assert detector.distance_m == pytest.approx(0.3)
    assert detector.energy_kev == pytest.approx(9.0, rel=1e-4)


@pytest.mark.parametrize(
    ("said", "detector", "line"),
    [
        ("clen = 0.3\n", "distance_m = 0.1", "detector.distance_m: is 0.1, and geometry has 0.3 (line 1)"),
        (
            "res = 1\nphoton_energy = 9 keV\n",
            "energy_kev = 12.4\npixel_size_m = 1.0",
            "detector.energy_kev: is 12.4, and geometry has 9 (line 2)",
        ),
    ],
)
def test_what_both_say_otherwise_is_a_caution(tmp_path: Path, said: str, detector: str, line: str) -> None:
    plan = plan_with(tmp_path, said, detector)
    assert any(line in caution and "that of the run file counts" in caution for caution in cautions(plan))


def test_values_that_agree_are_no_caution(tmp_path: Path) -> None:
    assert plan_with(tmp_path, SAID, "distance_m = 0.3\nenergy_kev = 8.9999").placed.cautions == ()


@pytest.mark.parametrize(
    ("said", "detector", "says"),
    [
        ("res = 13333\n", "pixel_size_m = 172e-6", "pixel_size_m: is 0.000172, and geometry has 7.50019e-05 (line 1)"),
        ("clen = far\n", "", 'line 1: clen: "far" is neither a number with its unit nor a place in a file'),
        ("clen = 3 ft\n", "", "line 1: clen: the unit ft is not known; give one of m, mm"),
        ("photon_energy = -9000\n", "", "line 1: photon_energy: -9000 is not above 0"),
        ("res = 0\n", "", "line 1: res: 0 is no number of pixels in a metre"),
        ("coffset = 0.01\n", "", "line 1: coffset of the panel p0 needs its res beside it"),
        ("res = 10000\np0/res = 5000\n", "", "res of the panel p1 is not that of the panels before"),
    ],
)
def test_what_contradicts_itself_is_refused(tmp_path: Path, said: str, detector: str, says: str) -> None:
    with pytest.raises(RunFileError) as refusal:
        plan_with(tmp_path, said, detector)
    assert says in str(refusal.value)


@pytest.mark.parametrize(
    ("borders", "beam"), [("raw", (512.0, 530.0)), ("shared", (515.0, 532.0)), ("masked", (515.0, 532.0))]
)
def test_a_beam_that_nobody_gives_is_in_the_middle_of_the_image_as_it_is_assembled(
    tmp_path: Path, borders: str, beam: tuple[float, float]
) -> None:
    below = 548 if borders == "raw" else 550
    (tmp_path / "run.toml").write_text(
        f"""\
[run]
name = "middle"
frames = 2
[detector]
width = 1024
height = 512
[[detector.module]]
x = 0
y = 0
[[detector.module]]
x = 0
y = {below}
[dataset]
kind = "jungfrau"
modules = 2
[[buffer]]
name = "full"
kernel = [{{ name = "jungfrau", borders = "{borders}" }}]
sink = [{{ kind = "null" }}]
"""
    )
    plan = load_plan(tmp_path / "run.toml")
    metadata = metadata_of(plan, plan.buffers[0])
    assert (metadata["beam_center_x"], metadata["beam_center_y"]) == beam


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("clen = /LCLS/detector_1/EncoderValue", "distance_m"),
        ("clen = /LCLS/detector_1/EncoderValue mm", "distance_m"),
        ("photon_energy = /LCLS/photon_energy_eV", "energy_kev"),
        ("wavelength = /data/wavelength A", "energy_kev"),
        ("electron_voltage = 200 kV", "energy_kev"),
    ],
)
def test_what_a_geometry_leaves_to_the_data_is_given_in_the_run_file(tmp_path: Path, line: str, key: str) -> None:
    panels = [f"{line}\n", *THREE]
    energy = "" if key == "energy_kev" else "photon_energy = 9000\n"
    (tmp_path / "det.geom").write_text(energy + "".join(panels))
    path = tmp_path / "run.toml"
    path.write_text(RUN.format(detector=""))
    with pytest.raises(
        RunFileError, match=rf"geometry: .*det\.geom: line \d: {line.split()[0]}: .*; give {key} in \[detector\]"
    ):
        load_plan(path)
    path.write_text(RUN.format(detector=f"{key} = 0.5"))
    assert getattr(load_plan(path).file.detector, key) == 0.5


BAD = [
    "mask_edge_pixels = 1\n",
    *THREE,
    "p2/no_index = 1\n",
    "bad_x/min_fs = 5\nbad_x/max_fs = 9\nbad_x/min_ss = 40\nbad_x/max_ss = 60\nbad_x/panel = p1\n",
    "bad_y/min_x = -60.5\nbad_y/max_x = -50.5\nbad_y/min_y = -10.5\nbad_y/max_y = 200\n",
]


def mask_of(plan: Plan) -> NDArray[np.uint32]:
    """Return the mask of the buffer's image, as its receiver makes it from its order."""
    configure = destination_telegram(plan, plan.receivers[0])
    order = decode(encode(configure))
    assert isinstance(order, telegram.Configure)
    assert order.destination is not None
    (buffer, *_) = order.destination.buffers
    return gaps_of_buffer(buffer) | bad_of_buffer(buffer)


def bad_by_hand() -> list[NDArray[np.bool_]]:
    """Return True for the bad pixels of each module of BAD."""
    found = [np.zeros((32, 64), bool) for _ in range(3)]
    for module, row, column in np.ndindex(3, 32, 64):
        edge = row in (0, 31) or column in (0, 63)
        by_image = module == 1 and 5 <= column <= 9 and 40 <= row + 32 <= 60
        x, y = column - 70.2, row - 20.0
        by_place = module == 0 and -60.5 < x < -50.5 and -10.5 < y < 200
        found[module][row, column] = edge or by_image or by_place or module == 2
    return found


def test_bad_pixels_of_a_geometry_are_in_the_mask_of_images(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, BAD)
    wanted = np.ones((69, 140), np.uint32)
    for (x, y), bad in zip([(0, 0), (76, 0), (0, 37)], bad_by_hand(), strict=True):
        wanted[y : y + 32, x : x + 64] = np.where(bad, 256, 0)
    np.testing.assert_array_equal(mask_of(plan), wanted)
    assert not plan.placed.cautions
    assert not plan_of(tmp_path, THREE).placed.bad


@pytest.mark.parametrize("way", ["+x +y", "-x -y", "-x +y", "+x -y", "+y +x", "-y -x", "+y -x", "-y +x"])
def test_bad_pixels_turn_with_their_module(tmp_path: Path, way: str) -> None:
    bad = "bad_x/min_fs = 5\nbad_x/max_fs = 9\nbad_x/min_ss = 34\nbad_x/max_ss = 36\n"
    panels = [
        panel("p0", (0, 31), (-200, -200)),
        panel("p1", (32, 63), (0, 0), way),
        panel("p2", (64, 95), (200, -200)),
    ]
    plan = plan_of(tmp_path, [*panels, bad])
    lies = plan.file.detector.module[1]
    module = np.zeros((32, 64), np.uint32)
    module[2:5, 5:10] = 256
    turned = np.rot90(module, -lies.turn // 90)
    turned = turned[:, ::-1] if lies.flip else turned
    rows, columns = turned.shape
    np.testing.assert_array_equal(mask_of(plan)[lies.y : lies.y + rows, lies.x : lies.x + columns], turned)


def test_kernels_that_read_pixels_as_delivered_stand_before_those_for_which_bad_ones_are_masked(tmp_path: Path) -> None:
    (tmp_path / "det.geom").write_text("photon_energy = 9000\n" + "".join(BAD))
    total = '[[buffer.kernel]]\nname = "total_counts"\n'
    checksum = '[[buffer.kernel]]\nname = "checksum"\n'
    path = tmp_path / "run.toml"
    for kernels in (checksum + total, checksum, ""):
        path.write_text(RUN.format(detector="") + kernels)
        assert load_plan(path).placed.cautions == ()
    path.write_text(RUN.format(detector="") + total + checksum)
    says = r"kernel\[1\]: checksum reads pixels as the detector delivers them, .* are masked for total_counts; put it before that"
    with pytest.raises(RunFileError, match=says):
        load_plan(path)


@pytest.mark.parametrize(
    ("line", "detector", "refused"),
    [
        ("flag_equal = 7", "", True),
        ("flag_equal = 65535", "", False),
        ("flag_morethan = 65534", "", False),
        ("flag_morethan = 1000", "", True),
        ("flag_morethan = 1000", 'special = [{ value = 1001, meaning = "saturated" }]', False),
        ("flag_lessthan = 0", "", False),
        ("flag_lessthan = 1", "", True),
        ("p1/flag_equal = 7", "", True),
    ],
)
def test_flagged_values_are_masked_anyway_or_refused(tmp_path: Path, line: str, detector: str, refused: bool) -> None:
    panels = [*THREE, f"{line}\n"] if line.startswith("p1") else [f"{line}\n", *THREE]
    if not refused:
        plan_of(tmp_path, panels, detector)
        return
    key = line.partition(" ")[0].removeprefix("p1/")
    with pytest.raises(
        RunFileError, match=rf"run\.toml:\d+: detector\.geometry: .*det\.geom: line \d+: {key} = \d+ makes"
    ):
        plan_of(tmp_path, panels, detector)


def test_a_geometrys_max_adu_is_the_saturation_value_of_files(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, ["max_adu = 9500\n", *THREE])
    assert metadata_of(plan, plan.buffers[0])["saturation_value"] == 9500
    with pytest.raises(RunFileError, match=r"line \d+: max_adu of the panel p2 is not that of the panels before"):
        plan_of(tmp_path, ["max_adu = 9500\n", *THREE, "p2/max_adu = 8000\n"])
    with pytest.raises(RunFileError, match=r"line 2: max_adu: -1 is not above 0"):
        plan_of(tmp_path, ["max_adu = -1\n", *THREE])


@pytest.mark.parametrize("seed", range(6))
def test_rectangles_hold_each_pixel_once(seed: int) -> None:
    random = np.random.default_rng(seed)
    pixels = random.random((1 + seed, 9)) < 0.2 * seed
    found = np.zeros(pixels.shape, int)
    for left, top, width, height in rectangles_of(pixels):
        found[top : top + height, left : left + width] += 1
    np.testing.assert_array_equal(found, pixels)
    assert list(rectangles_of(np.ones((4, 5), bool))) == [(0, 0, 5, 4)]


@pytest.mark.parametrize(("way", "named"), [("+1.2x +y", "fs"), ("+x -0.5y", "ss")])
def test_pixels_that_are_not_square_are_refused(tmp_path: Path, way: str, named: str) -> None:
    with pytest.raises(RunFileError, match=rf"{named} of the panel p1 is [\d.]+ pixels long"):
        plan_of(tmp_path, [THREE[0], panel("p1", (32, 63), (5.9, -20.1), way), THREE[2]])
    almost = panel("p1", (32, 63), (5.9, -20.1), "+1.0004x-0.002y +0.9998y+0.002x")
    assert plan_of(tmp_path, [THREE[0], almost, THREE[2]]).file.detector.module[1].x == 76
