# SPDX-License-Identifier: Apache-2.0
"""Geometry files for `peakfinder8`, `peakfinder` and `sparsify`: distances, panels, and what is refused with file, line and pixel."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rashpa.data.geometry.crystfel_geometry import read_crystfel_geometry
from rashpa.data.geometry.given import GivenError, Image, behind, given_arrays

SHAPE = (40, 60)  # rows, columns
GEOMETRY = """\
; two panels, the second one turned
wavelength = 1.0 A   ; of all
clen = 0.1 m
res = 13333.3
data = /entry/data/data
dim0 = %
dim1 = ss
dim2 = fs
mask_good = 0x0
group_all = a,b

a/min_fs = 0
a/max_fs = 29
a/min_ss = 0
a/max_ss = 39
a/corner_x = -40.5
a/corner_y = -20
a/fs = +1.0x
a/ss = +1.0y

b/min_fs = 30
b/max_fs = 59
b/min_ss = 0
b/max_ss = 39
b/corner_x = 10
b/corner_y = 20.0
b/fs = x
b/ss = -0.5x - y +0.001z

bad_spot/min_fs = 3
bad_spot/max_fs = 4
bad_spot/min_ss = 5
bad_spot/max_ss = 5
bad_spot/panel = a
bad_beam/min_x = -20
bad_beam/max_x = -15
bad_beam/min_y = -1
bad_beam/max_y = 1
"""


def written(folder: Path, text: str) -> str:
    path = folder / "some.geom"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_pixels_lie_where_corner_and_directions_say(tmp_path: Path) -> None:
    found = read_crystfel_geometry("geometry", written(tmp_path, GEOMETRY), SHAPE)
    assert found.rectangles().tolist() == [[0, 30, 0, 40], [30, 60, 0, 40]]
    radius = found.radius(SHAPE)
    assert radius[0, 0] == pytest.approx(np.hypot(-40.5 + 0.5, -20 + 0.5))
    assert radius[7, 33] == pytest.approx(np.hypot(10 + 3.5 - 0.5 * 7.5, 20 - 7.5))
    bad = np.isnan(radius)
    assert bad[5, 3:5].all()
    assert bad[20, 21:26].all(), "a region of the laboratory: corners of pixels between its ends, as CrystFEL has it"
    assert bad.sum() == 2 + 5


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("a/max_fs = 29", "a/max_fs = 30", "both have the pixel in row 0, column 30"),
        ("b/max_ss = 39", "b/max_ss = 49", "is of images of 60 × 50 pixels; the images have 60 × 40"),
        ("a/corner_x = -40.5", "a/corner_x = nan", "line 16: corner_x: nan is no place"),
        ("a/corner_x = -40.5", "a/corner_x = left", 'line 16: corner_x: "left" is no number'),
        ("a/corner_x = -40.5", "", "line 12: the panel a has no corner_x"),
        ("a/fs = +1.0x", "a/fs = +1.0q", 'line 18: fs: "+1.0q" is no direction'),
        ("a/fs = +1.0x", "a/fast = +1.0x", "line 18: the key fast is not known"),
        ("a/min_fs = 0", "a/min_fs = 0.5", "line 12: min_fs: 0.5 is no number of a pixel"),
        ("a/min_fs = 0", "a/min_fs = 35", "line 12: the panel a ends before it begins"),
        ("dim1 = ss", "dim1 = 3", "line 7: dim1 = 3: its panels lie in several planes"),
        ("bad_spot/panel = a", "bad_spot/panel = c", "names the panel c, which is not there"),
        ("bad_beam/min_x = -20\n", "", "the region bad_beam has no min_x"),
        ("mask_good = 0x0", "mask0_file = m.h5", "line 9: mask0_file names a further file, which is not read"),
        ("clen = 0.1 m", "clen 0.1 m", 'line 3: "clen 0.1 m" is no "key = value"'),
        (
            "clen",
            "detector_shift_x = /entry/shift\nclen",
            'line 3: detector_shift_x: "/entry/shift" is a place in the data',
        ),
        ("clen", "detector_shift_y = 3 px\nclen", 'line 3: detector_shift_y: "3 px" is no length in m or mm'),
        ("res = 13333.3", "detector_shift_x = 1 mm", "line 4: detector_shift_x of the panel a needs its res"),
        ("res = 13333.3", "res = 0", "line 4: res: 0 is no number of pixels in a metre"),
        ("res = 13333.3", "pixel_pitch = -1", "line 4: pixel_pitch: -1 is no size of a pixel"),
        ("res = 13333.3", "coffset = 0.1", "line 4: coffset of the panel a needs its res"),
        ("dim1 = ss\ndim2 = fs", "dim1 = fs\ndim2 = ss", "line 8: dim2 = ss: stands behind fs"),
        ("a/corner_x = -40.5", "a/corner_x = 1e300", "line 16: corner_x: 1e+300 is no place"),
        ("a/fs = +1.0x", "a/fs = +1e-9x", "line 18: fs, ss: pixels of the panel a have an area of 1e-09"),
        ("a/fs = +1.0x", "a/fs = +1.0y", "line 18: fs, ss: pixels of the panel a have an area of 0"),
        ("a/fs = +1.0x", "a/rail_x = 1", "line 18: rail_x moves panels with the camera length"),
        ("a/fs = +1.0x", "a/no_index = maybe", 'line 18: no_index: "maybe" is no number'),
        ("a/fs = +1.0x", "a/mask_edge_pixels = -1", "line 18: mask_edge_pixels: -1 is no number of a pixel"),
        ("bad_spot/min_fs = 3", "bad_spot/min_fs = 5", "the region bad_spot ends before it begins: min_fs 5, max_fs 4"),
        (
            "bad_beam/min_x = -20",
            "bad_beam/min_x = 20",
            "the region bad_beam ends before it begins: min_x 20, max_x -15",
        ),
        ("bad_spot/panel = a", "bad_spot/panel = b", "the region bad_spot has no pixel in the panel b"),
        ("bad_spot/max_ss = 5\n", "bad_spot/max_ss = 90\n", ""),
        ("bad_spot/min_fs = 3", "bad_spot/min_fs = 2.5", "min_fs: 2.5 is no number of a pixel"),
        ("bad_beam/min_x = -20", "bad_beam/min_x = -20.25", ""),
        (
            "bad_beam/min_x = -20",
            "bad_beam/panel = a\nbad_beam/min_x = -20",
            "region bad_beam has x and y of the laboratory",
        ),
        ("dim2 = fs\n", "", "line 7: no axis of dim0 … dim1 is fs; give all of them"),
        ("b/fs = x", "b/fs = x\nb/data = /other", "line 28: data: the panel b lies in /other"),
        ("wavelength = 1.0 A", "wavelength = 1.0", "line 2: wavelength: has no unit; give one of m, A"),
        ("clen", "photon_energy = 9 keV\nclen", "line 3: photon_energy stands beside wavelength (line 2)"),
        ("clen", "electron_voltage = 200 kV\nclen", "line 3: electron_voltage stands beside wavelength (line 2)"),
        ("clen", "photon_energy_scale = 1000\nclen", "line 3: photon_energy_scale scales photon_energy"),
        ("clen", "bandwidth = wide\nclen", 'line 3: bandwidth: "wide" is no number'),
        ("clen", "bandwidth = 0.01\nclen", ""),
        ("clen", "peak_list = /entry_1/result_1\npeak_list_type = cxi\nclen", ""),
        ("clen", "adu_per_eV = 0.1\nmax_adu = 1e4\nbadrow_direction = x\nclen", ""),
        ("clen", "adu_per_photon = one\nclen", 'line 3: adu_per_photon: "one" is no number'),
        ("clen", "max_adu = much\nclen", 'line 3: max_adu: "much" is no number'),
        ("clen", "polarization = 0.9\nclen", "line 3: the key polarization is not known"),
        ("a/fs = +1.0x", "a/clen = 0.2", "line 18: clen is of the whole file"),
        ("a/fs = +1.0x", "a/rail_direction = z", "line 18: rail_direction moves panels"),
        ("a/fs = +1.0x", "a/saturation_map = /map", "line 18: saturation_map names a map of saturation"),
        ("mask_good = 0x0", "saturation_map_file = m.h5", "line 9: saturation_map_file names a map of saturation"),
        ("mask_good = 0x0", "mask_file = m.h5", "line 9: mask_file names a further file, which is not read"),
        ("mask_good = 0x0", "mask = /data/bad", "line 9: mask names /data/bad, which is not the pixel_mask"),
        ("mask_good = 0x0", "mask3_data = /x/pixel_mask", ""),
        ("mask_good = 0x0", "mask = /entry/instrument/detector/pixel_mask\nmask_bad = 0xffff", ""),
        (
            "mask_good = 0x0",
            "mask3_data = /x/pixel_mask\nmask3_badbits = 0x1",
            "line 10: mask3_badbits picks some bits",
        ),
        ("mask_good = 0x0", "mask = /x/pixel_mask\nmask_good = 1", "line 10: mask_good picks pixels by bits that must"),
        (
            "mask_good = 0x0",
            "mask = /x/pixel_mask\nmask_bad = all",
            'line 10: mask_bad is "all", which is no number of',
        ),
        ("mask_good = 0x0", "mask9_data = /x/pixel_mask", "line 9: the key mask9_data is not known"),
        ("mask_good = 0x0", "mask_goodbits = 1", "line 9: the key mask_goodbits is not known"),
        ("mask_good = 0x0", "flag_lessthan = low", 'line 9: flag_lessthan: "low" is no number'),
        ("mask_good = 0x0", "flag_above = 3", "line 9: the key flag_above is not known"),
        ("bad_spot/panel = a", "no_index = 1", "no_index stands behind all panels, where it has no effect"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in GEOMETRY
    path = written(tmp_path, GEOMETRY.replace(old, new, 1))
    if not says:
        read_crystfel_geometry("geometry", path, SHAPE)
        return
    with pytest.raises(ValueError, match=r"^geometry: ") as refusal:
        read_crystfel_geometry("geometry", path, SHAPE)
    assert f"{path}: " in str(refusal.value)
    assert says in str(refusal.value)


@pytest.mark.parametrize(
    ("size", "shift", "pixels"),
    [
        ("res = 10000", "detector_shift_x = 1.5 mm\ndetector_shift_y = -0.5mm", (15, -5)),
        ("res = 10000", "detector_shift_y = 0.001", (0, 10)),
        ("pixel_pitch = 1e-4", "detector_shift_x = -2e-3 m", (-20, 0)),
        ("", "detector_shift_x = 0", (0, 0)),
    ],
)
def test_the_whole_detector_is_shifted(tmp_path: Path, size: str, shift: str, pixels: tuple[float, float]) -> None:
    text = GEOMETRY.replace("res = 13333.3", f"{size}\n{shift}").partition("bad_spot")[0]
    found = read_crystfel_geometry("geometry", written(tmp_path, text), SHAPE)
    radius = found.radius(SHAPE)
    assert radius[0, 0] == pytest.approx(np.hypot(-40.5 + 0.5 + pixels[0], -20 + 0.5 + pixels[1]))
    assert radius[7, 33] == pytest.approx(np.hypot(10 + 3.5 - 0.5 * 7.5 + pixels[0], 20 - 7.5 + pixels[1]))


def test_edges_of_panels_are_left_out_as_far_as_the_file_says(tmp_path: Path) -> None:
    text = GEOMETRY.replace("clen", "mask_edge_pixels = 2\nclen").replace(
        "b/fs = x", "b/fs = x\nb/mask_edge_pixels = 19"
    )
    bad = np.isnan(
        read_crystfel_geometry("geometry", written(tmp_path, text.partition("bad_spot")[0]), SHAPE).radius(SHAPE)
    )
    wanted = np.ones(SHAPE, bool)
    wanted[2:38, 2:28] = False
    assert (bad == wanted).all(), "nothing is left of a panel of 30 columns with edges of 19"


@pytest.mark.parametrize(("text", "used"), [("0", True), ("false", True), ("0.0", True), ("1", False), ("True", False)])
def test_panels_that_are_not_to_be_used(tmp_path: Path, text: str, used: bool) -> None:
    for key in (f"b/no_index = {text}", f"b/no_index = {text}" if used else "b/no_index = 2"):
        path = written(tmp_path, GEOMETRY.replace("b/fs = x", f"b/fs = x\n{key}"))
        found = read_crystfel_geometry("geometry", path, SHAPE)
        assert np.isnan(found.radius(SHAPE)[:, 30:]).all() == (not used)
        assert len(found.rectangles()) == 1 + used


@pytest.mark.parametrize(
    ("flag", "counts", "met"),
    [
        ("flag_lessthan = 0", (0, 65534), True),
        ("flag_lessthan = 1", (0, 65534), False),
        ("flag_lessthan = -30000", (-32767, 32767), False),
        ("flag_morethan = 65534", (0, 65534), True),
        ("flag_morethan = 65533", (0, 65534), False),
        ("flag_morethan = 65534", (0, 65535), False),
        ("flag_equal = 65535", (0, 65534), True),
        ("flag_equal = 7", (0, 65534), False),
        ("a/flag_equal = 7", (0, 65534), False),
        ("flag_morethan = 1000", (-np.inf, np.inf), False),
        ("flag_morethan = 1000", None, False),
    ],
)
def test_values_that_are_bad_are_those_that_are_masked_or_refused(
    tmp_path: Path, flag: str, counts: tuple[float, float] | None, met: bool
) -> None:
    old = "a/fs = +1.0x" if flag.startswith("a/") else "clen = 0.1 m"
    path = written(tmp_path, GEOMETRY.replace(old, f"{flag}\n{old}", 1))
    image = Image(*SHAPE, counts=counts)
    if met:
        assert "radius" in given_arrays("sparsify", {"geometry": path}, image)
        return
    with pytest.raises(GivenError, match=rf"^kernel sparsify: geometry: .*: line \d+: {flag.removeprefix('a/')} "):
        given_arrays("sparsify", {"geometry": path}, image)


@pytest.mark.parametrize("kernel", ["peakfinder8", "peakfinder", "sparsify"])
@pytest.mark.parametrize(
    ("line", "counts", "met"),
    [
        ("max_adu = 65534", (0, 65534), True),
        ("max_adu = 1e9", (0, 65534), True),
        ("max_adu = 65533", (0, 65534), False),
        ("max_adu = 12000", (0, 11999), True),
        ("a/max_adu = 12000", (0, 12001), False),
        ("b/max_adu = 12000", (0, 12001), False),
        ("b/no_index = 1\nb/max_adu = 12000", (0, 12001), True),
        ("max_adu = 12000", (-np.inf, np.inf), False),
        ("max_adu = 12000", None, False),
        ("max_adu = 0", (0, 65534), False),
    ],
)
def test_saturated_values_are_those_that_no_pixel_counts_or_refused(
    tmp_path: Path, kernel: str, line: str, counts: tuple[float, float] | None, met: bool
) -> None:
    old = "bad_spot/min_fs" if "/" in line else "clen = 0.1 m"
    path = written(tmp_path, GEOMETRY.replace(old, f"{line}\n{old}", 1))
    image = Image(*SHAPE, counts=counts)
    if met:
        assert "radius" in given_arrays(kernel, {"geometry": path}, image)
        return
    number = next(at for at, one in enumerate(Path(path).read_text().splitlines(), start=1) if "max_adu" in one)
    with pytest.raises(GivenError, match=rf"^kernel {kernel}: geometry: .*: line {number}: max_adu") as refusal:
        given_arrays(kernel, {"geometry": path}, image)
    assert "leave it out" in str(refusal.value)


@pytest.mark.parametrize("kernel", ["peakfinder8", "peakfinder", "sparsify"])
@pytest.mark.parametrize(
    ("dtype", "options", "flag", "met"),
    [
        ("uint16", {}, "flag_morethan = 65534", False),
        ("uint16", {"masked": "delivered"}, "flag_morethan = 65534", True),
        ("uint16", {"special": {60000: "gap"}}, "flag_morethan = 59999", True),
        ("uint16", {"special": {60000: "gap"}}, "flag_equal = 60000", True),
        ("uint16", {"special": {12001: "saturated"}}, "max_adu = 12000", True),
        ("uint16", {"special": {12002: "saturated"}}, "max_adu = 12000", False),
        ("uint8", {}, "max_adu = 255", True),
        ("float32", {}, "max_adu = 255", False),
        ("int32", {}, "flag_lessthan = 0", False),
        ("int32", {"masked": "delivered"}, "flag_lessthan = 0", True),
        ("float32", {}, "flag_lessthan = -30000", False),
    ],
)
def test_pipelines_know_which_values_are_masked(
    tmp_path: Path, kernel: str, dtype: str, options: dict[str, Any], flag: str, met: bool
) -> None:
    native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    from rashpa.data.kernels.pipeline import Pipeline

    path = written(tmp_path, GEOMETRY.replace("clen", f"{flag}\nclen", 1))
    kernels = [{"name": kernel, "geometry": path}]  # and no beam_x, beam_y
    if met:
        Pipeline(kernels, SHAPE, dtype, **options)
        return
    says = "here pixels up to" if flag.startswith("max_adu") else "makes pixels bad by their value"
    with pytest.raises(native.ConfigError, match=f"{flag}.* {says}"):
        Pipeline(kernels, SHAPE, dtype, **options)


def test_other_files_are_refused(tmp_path: Path) -> None:
    for text, says in (("", "names no panel"), ("[run]\nname = 1\n", 'line 1: "[run]"')):
        with pytest.raises(ValueError, match=r"geometry: .*some\.geom") as refusal:
            read_crystfel_geometry("geometry", written(tmp_path, text), SHAPE)
        assert says in str(refusal.value)
    with pytest.raises(OSError, match=r"^geometry: /nowhere\.geom: "):
        read_crystfel_geometry("geometry", "/nowhere.geom", SHAPE)


def arrays(**values: Any) -> dict[str, Any]:
    return given_arrays("peakfinder8", {"poni": "", "geometry": "", "panel_width": 0, **values}, Image(*SHAPE))


def test_the_kernel_is_given_distances_and_panels(tmp_path: Path) -> None:
    path = written(tmp_path, GEOMETRY)
    assert arrays() == {}
    found = arrays(geometry=path)
    assert found["radius"].dtype == np.float32
    assert found["radius"].shape == SHAPE
    assert found["panels"].dtype == np.uint32
    assert found["panels"].tolist() == [0, 30, 0, 40, 30, 60, 0, 40]
    with pytest.raises(GivenError, match=r"^kernel peakfinder8: panel_width: 30: the panels are those of geometry"):
        arrays(geometry=path, panel_width=30)
    with pytest.raises(GivenError, match=r"^kernel peakfinder8: geometry: .* is there beside poni"):
        arrays(geometry=path, poni="x.poni")


def test_distances_of_a_poni_are_pixels_from_the_beam(tmp_path: Path) -> None:
    pytest.importorskip("pyFAI")
    poni = tmp_path / "some.poni"
    lines = [
        "poni_version: 2", "Detector: Detector", 'Detector_config: {"pixel1": 1e-4, "pixel2": 1e-4, "max_shape": [40, 60], "orientation": 3}',
        "Distance: 0.1", "Poni1: 0.0020", "Poni2: 0.0031", "Rot1: 0", "Rot2: 0", "Rot3: 0",
    ]  # fmt: skip
    poni.write_text("\n".join(lines) + "\n", encoding="utf-8")
    radius = arrays(poni=str(poni))["radius"]
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]]
    np.testing.assert_allclose(radius, np.hypot(x + 0.5 - 31, y + 0.5 - 20), rtol=1e-5)
    with pytest.raises(GivenError, match=r"^kernel peakfinder8: poni: .*the images have 61 × 40"):
        given_arrays("peakfinder8", {"poni": str(poni), "geometry": ""}, Image(40, 61))


def test_a_pipeline_finds_the_peaks_of_each_panel(tmp_path: Path) -> None:
    native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    from rashpa.data.kernels.pipeline import Pipeline

    image = np.where(np.indices(SHAPE).sum(axis=0) % 2 == 0, 4, 6).astype(np.uint16)
    image[5, 26:34] = 90
    plain = {"name": "peakfinder8", "threshold": 20.0, "beam_x": -60.0, "beam_y": 20.0}
    whole = Pipeline([plain], SHAPE)(image[None])
    assert whole[0].tables["peakfinder8"]["pixels"].tolist() == [8]
    parts = Pipeline([plain | {"geometry": written(tmp_path, GEOMETRY)}], SHAPE)(image[None])
    assert parts[0].tables["peakfinder8"]["x"].tolist() == pytest.approx([27.5, 31.5])
    with pytest.raises(native.ConfigError, match="the images have 61 × 40"):
        Pipeline([plain | {"geometry": written(tmp_path, GEOMETRY)}], (40, 61))


@pytest.mark.parametrize("kernel", ["peakfinder", "sparsify"])
def test_other_kernels_by_radius_are_given_the_same(tmp_path: Path, kernel: str) -> None:
    path = written(tmp_path, GEOMETRY)
    assert given_arrays(kernel, {}, Image(*SHAPE)) == {}
    found = given_arrays(kernel, {"geometry": path}, Image(*SHAPE))
    np.testing.assert_array_equal(found["radius"], arrays(geometry=path)["radius"])
    assert ("panels" in found) == (kernel == "peakfinder")
    with pytest.raises(GivenError, match=rf"^kernel {kernel}: geometry: .*the images have 61 × 40"):
        given_arrays(kernel, {"geometry": path}, Image(40, 61))
    with pytest.raises(GivenError, match=rf"^kernel {kernel}: geometry: .* is there beside poni"):
        given_arrays(kernel, {"geometry": path, "poni": "x.poni"}, Image(*SHAPE))


def test_pipelines_look_where_a_geometry_says_on_every_unit(tmp_path: Path) -> None:
    pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    from rashpa.data.kernels.pipeline import Pipeline, available_units

    image = np.random.default_rng(1).poisson(20, SHAPE).astype(np.uint16)
    image[10, 28:32] = (400, 500, 500, 400)  # across the panels
    image[5, 3] = 900  # bad
    geometry = {"beam_x": 0.0, "beam_y": 0.0, "bins": 8, "geometry": written(tmp_path, GEOMETRY)}
    for unit in (name for name, (usable, _) in available_units().items() if usable and name in ("cpu", "opencl")):
        find = Pipeline([{"name": "peakfinder", "connected": 1, "cutoff": 10.0, **geometry}], SHAPE, unit=unit)
        assert find(image)[0].tables["peakfinder"]["x"].tolist() == pytest.approx([28.6, 30.4], abs=0.2)
        keep = Pipeline([{"name": "sparsify", "cutoff": 10.0, **geometry}], SHAPE, unit=unit)
        assert keep(image).list_index.tolist() == [10 * SHAPE[1] + x for x in range(28, 32)]


def test_sparse_images_are_made_again_with_the_distances_of_their_geometry(tmp_path: Path) -> None:
    from rashpa.data.stored.densify import densify

    parameters = {"beam_x": 0.0, "beam_y": 0.0, "geometry": written(tmp_path, GEOMETRY)}
    table = {"radius": np.array([0.0, 100.0]), "background": np.array([0.0, 100.0]), "deviation": np.zeros(2)}
    radius = read_crystfel_geometry("geometry", str(parameters["geometry"]), SHAPE).radius(SHAPE)
    made = densify(SHAPE, np.array([7], np.uint32), np.array([5000], np.float32), table, parameters)
    expected = np.where(np.isnan(radius), 0, radius)
    expected[0, 7] = 5000
    np.testing.assert_allclose(made, expected, rtol=1e-5)
    with pytest.raises(OSError, match=r"^geometry: /nowhere\.geom: "):
        densify(SHAPE, np.array([7]), np.array([5], np.uint16), table, {**parameters, "geometry": "/nowhere.geom"})


@pytest.mark.parametrize(
    ("kernel", "dtype", "flag", "met"),
    [
        ({"name": "unpack", "bits": "12"}, "uint8", "flag_morethan = 65534", True),
        ({"name": "unpack", "bits": "12"}, "uint8", "flag_morethan = 65533", False),
        ({"name": "unpack", "bits": "24"}, "uint8", "flag_morethan = 65534", False),
        ({"name": "jungfrau", "photon_energy_kev": 8.0}, "uint16", "flag_lessthan = -32767", True),
        ({"name": "jungfrau", "photon_energy_kev": 8.0}, "uint16", "flag_lessthan = -30000", False),
        ({"name": "jungfrau", "photon_energy_kev": 8.0, "output": "kev"}, "uint16", "flag_equal = 7", False),
    ],
)
def test_values_are_those_of_pixels_that_a_kernel_has_made(
    tmp_path: Path, kernel: dict[str, Any], dtype: str, flag: str, met: bool
) -> None:
    made = behind(Image(*SHAPE, counts=(0, 5)), declared_kernels()[kernel["name"]], kernel)
    values = {"geometry": written(tmp_path, GEOMETRY.replace("clen", f"{flag}\nclen", 1))}
    if met:
        given_arrays("peakfinder8", values, made)
        return
    with pytest.raises(GivenError, match=f"{flag} makes pixels bad by their value"):
        given_arrays("peakfinder8", values, made)


def declared_kernels() -> dict[str, Any]:
    pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    from rashpa.data.kernels.pipeline import kernel_declarations

    return kernel_declarations()
