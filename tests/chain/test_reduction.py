# SPDX-License-Identifier: Apache-2.0
"""Tests the reduction of images at their source in whole runs, against a plain NumPy model, and the description of binned images in files."""

import json
import re
from pathlib import Path
from typing import Any, cast

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

import rashpa
from rashpa.cli.report.report import report_of
from rashpa.control.capacity.loads import dtp_loads
from rashpa.control.capacity.plan_summary import json_of, summary_of
from rashpa.control.nodes.native_program import native_program
from rashpa.control.orders.grant import grant_of
from rashpa.control.orders.plan_telegrams import source_telegram
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams import telegram
from rashpa.data.geometry.orientation import Orientation
from rashpa.data.stored.reader import open_run
from rashpa.testing.warm_nodes import WarmNodes

EXAMPLE = Path(__file__).parents[2] / "examples" / "18_reduced.toml"
WIDTH, HEIGHT, MODULES, FRAMES, DIFFERENT = 48, 24, 2, 30, 5
RUN = """\
[run]
name = "reduced"
frames = {frames}
output = "."
[detector]
width = {width}
height = {height}
pixel = "{pixel}"
pixel_size_m = 1e-4
beam_center_x = 30.0
beam_center_y = 18.0
{detector}
[dataset]
kind = "files"
files = [["{folder}/m0.npy"], ["{folder}/m1.npy"]]
pixel = "{pixel}"
[receiver]
port = 0
[link]
{link}
[[buffer]]
name = "full"
slots = 20
stack = 5
deadline_ms = 5000
{buffer}
[buffer.reduction]
{reduction}
[[buffer.sink]]
kind = "hdf5"
{more}
"""
BESIDE = "module = [{ x = 0, y = 0 }, { x = 48, y = 0 }]"
LEAST_MOST_FULL = {
    "uint8": (0, 254, 255),
    "uint16": (0, 65534, 65535),
    "uint32": (0, 2**32 - 2, 2**32 - 1),
    "int16": (0, 2**15 - 1, 2**15 - 1),
    "int32": (0, 2**31 - 1, 2**31 - 1),
}


def frames_of(module: int, pixel: str) -> NDArray[Any]:
    """Return frames with counts of all sizes, with pixels that have none, and with counts near the largest."""
    random = np.random.default_rng(40 + module)
    shape = (DIFFERENT, HEIGHT, WIDTH)
    if pixel == "float32":
        frames = random.normal(5.0, 4.0, shape).astype(np.float32)
        frames[random.random(shape) < 0.05] = np.nan
        return frames
    least, most, full = LEAST_MOST_FULL[pixel]
    frames = random.poisson(6.0, shape).astype(np.int64)
    frames[random.random(shape) < 0.02] = most
    frames[random.random(shape) < 0.02] = -1 if pixel.startswith("int") else full
    frames[random.random(shape) < 0.02] = most // 2 + least
    return frames.astype(pixel)


def model(
    frame: NDArray[Any],
    counts: tuple[int, int, int] | None,
    bins: tuple[int, int],
    how: str = "sum",
    threshold: float = 0.0,
    offset: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Return the reduced frame, pixel by pixel as the page says it. `counts`: least, most and the saturated value; None for float32."""
    height, width = frame.shape
    made = np.empty((height // bins[1], width // bins[0]), frame.dtype)
    for row in range(made.shape[0]):
        for column in range(made.shape[1]):
            values = []
            for x in range(column * bins[0], (column + 1) * bins[0]):  # columns first, as sums of floats are made
                for y in range(row * bins[1], (row + 1) * bins[1]):
                    dark = None if offset is None else offset[y, x].item()
                    values.append((y, x, pixel_of(frame[y, x].item(), counts, threshold, dark)))
            made[row, column] = bin_of(values, counts, how)
    return made


def has_count(value: Any, counts: tuple[int, int, int] | None) -> bool:
    return bool(value == value) if counts is None else counts[0] <= value <= counts[1]


def limited(value: Any, counts: tuple[int, int, int] | None) -> Any:
    if counts is None:
        return value
    return counts[0] if value < counts[0] else counts[2] if value > counts[1] else value


def pixel_of(value: Any, counts: tuple[int, int, int] | None, threshold: float, dark: Any) -> Any:
    if not has_count(value, counts):
        return value
    if dark is not None:
        value = limited(np.float32(value - dark).item() if counts is None else value - dark, counts)
    return 0 if threshold and has_count(value, counts) and value < threshold else value


def bin_of(values: list[tuple[int, int, Any]], counts: tuple[int, int, int] | None, how: str) -> Any:
    good = [value for _, _, value in values if has_count(value, counts)]
    full = [value for *_, value in sorted(values) if counts is not None and value == counts[2] > counts[1]]
    other = [value for *_, value in sorted(values) if not has_count(value, counts) and value not in full]
    if len(values) == 1:
        return values[0][2]
    if how == "mean" and good and not full:
        mean = sum(good) / len(good)
        return mean if counts is None else int(np.floor(abs(mean) + 0.5)) * (1 if mean >= 0 else -1)
    if other or full:
        return (other or full)[0]
    return limited(sum(good), counts)


def write(folder: Path, reduction: str, pixel: str = "uint16", **parts: Any) -> Path:
    for module in range(MODULES):
        np.save(folder / f"m{module}.npy", frames_of(module, pixel))
    values = {
        "frames": FRAMES,
        "width": WIDTH,
        "height": HEIGHT,
        "detector": BESIDE,
        "link": "",
        "buffer": "",
        "more": "",
    }
    file = folder / "reduced.toml"
    file.write_text(
        RUN.format(
            **{
                **values,
                "pixel": pixel,
                "folder": folder,
                "reduction": reduction.replace("FOLDER", str(folder)),
                **parts,
            }
        ),
        encoding="utf-8",
    )
    return file


def report_of_good_run(warm_nodes: WarmNodes, file: Path) -> dict[str, Any]:
    """Return the report of a run that must be good."""
    report = report_of(warm_nodes.good_run(file), file)
    assert report["books"]["balanced"]
    assert report["injected"]["unexplained"] == 0
    return report


def stored_images(folder: Path) -> list[NDArray[Any]]:
    with open_run(folder / "reduced_full_master.h5") as stored:
        return [np.array(image) for _, image in stored.images()]


def offsets(folder: Path, pixel: str) -> list[NDArray[Any]]:
    made = []
    for module in range(MODULES):
        made.append(np.random.default_rng(module).integers(0, 9, (HEIGHT, WIDTH)).astype(pixel))
        np.save(folder / f"dark{module}.npy", made[-1])
    return made


_NO_END = telegram.Endpoint(address="127.0.0.1", port=1, qpn=1, rkey=1)
_NO_PLACE = telegram.Placement(
    pixels_offset=0, slot_bytes=1, slots=1, first_line_offset=0, pitch=1, line_bytes=1, lines=1, records_offset=0
)
CARD = '[[emulator]]\nname = "card"\nengine = "fpga"\ncard = "sim"\n'
CASES: dict[str, tuple[str, tuple[int, int], str, float, bool, dict[str, Any]]] = {
    "uint16_sum": ("uint16", (2, 2), "sum", 0.0, False, {}),
    "uint8_sum_of_64": ("uint8", (8, 8), "sum", 0.0, False, {"buffer": "bands = 3"}),
    "uint32_mean": ("uint32", (3, 4), "mean", 0.0, True, {"link": 'kind = "pcie"'}),
    "int16_all": ("int16", (2, 3), "mean", 4.0, True, {}),
    "int32_sum": ("int32", (4, 2), "sum", 2.5, True, {}),
    "float32_all": ("float32", (4, 4), "mean", 1.5, True, {}),
    "float32_sum": ("float32", (2, 1), "sum", 0.0, False, {}),
    "offset_alone": ("uint16", (1, 1), "sum", 0.0, True, {"link": 'kind = "pcie"'}),
    "threshold_alone": ("uint16", (1, 1), "sum", 5.0, False, {}),
    "card": ("uint16", (2, 2), "sum", 3.0, True, {"more": CARD}),
}


@pytest.mark.parametrize("case", CASES)
def test_images_arrive_as_the_plain_model_reduces_them(warm_nodes: WarmNodes, tmp_path: Path, case: str) -> None:
    pixel, bins, how, threshold, subtracts, parts = CASES[case]
    if "more" in parts and native_program("rashpa_card") is None:
        pytest.skip("no simulated card: Verilator was not there when rashpa was built")
    darks = offsets(tmp_path, pixel) if subtracts else [None, None]
    lines = [f"threshold = {threshold}"] if threshold else []
    lines += ['offset = ["FOLDER/dark0.npy", "FOLDER/dark1.npy"]'] if subtracts else []
    lines += [f'bin_x = {bins[0]}\nbin_y = {bins[1]}\nbin_by = "{how}"'] if bins != (1, 1) else []
    report = report_of_good_run(warm_nodes, write(tmp_path, "\n".join(lines), pixel, **parts))
    assert report["books"]["complete"] == report["books"]["written"] == FRAMES
    counts = LEAST_MOST_FULL.get(pixel)
    expected = [
        np.hstack(
            [model(frames_of(module, pixel)[number], counts, bins, how, threshold, darks[module]) for module in (0, 1)]
        )
        for number in range(DIFFERENT)
    ]
    images = stored_images(tmp_path)
    assert len(images) == FRAMES
    for index, image in enumerate(images):
        np.testing.assert_array_equal(image, expected[index % DIFFERENT], err_msg=str(index))


def test_a_turned_module_is_turned_before_it_is_binned_and_its_offset_with_it(
    warm_nodes: WarmNodes, tmp_path: Path
) -> None:
    darks = offsets(tmp_path, "uint16")
    ways = [Orientation(90), Orientation(180, True)]
    detector = "module = [{ x = 0, y = 0, turn = 90 }, { x = 24, y = 24, turn = 180, flip = true }]"
    reduction = 'offset = ["FOLDER/dark0.npy", "FOLDER/dark1.npy"]\nbin_x = 4\nbin_y = 2'
    report_of_good_run(warm_nodes, write(tmp_path, reduction, detector=detector, buffer="region = [0, 0, 72, 48]"))
    image = stored_images(tmp_path)[3]
    made = [
        model(
            way.turned(frames_of(number, "uint16")[3]), LEAST_MOST_FULL["uint16"], (4, 2), "sum", 0.0, way.turned(dark)
        )
        for number, (way, dark) in enumerate(zip(ways, darks, strict=True))
    ]
    np.testing.assert_array_equal(image[:24, :6], made[0])
    np.testing.assert_array_equal(image[12:, 6:18], made[1])


def test_special_values_bound_counts_and_saturated_sums_have_their_value(warm_nodes: WarmNodes, tmp_path: Path) -> None:
    special = 'special = [{ value = 65535, meaning = "gap" }, { value = 65533, meaning = "saturated" }]\n'
    report_of_good_run(warm_nodes, write(tmp_path, "bin_x = 2\nbin_y = 2", detector=special + BESIDE))
    images = stored_images(tmp_path)
    for number in range(DIFFERENT):
        made = [model(frames_of(module, "uint16")[number], (0, 65532, 65533), (2, 2)) for module in (0, 1)]
        np.testing.assert_array_equal(images[number], np.hstack(made))
    assert any((image == 65533).any() for image in images), "sums above the largest count"


def test_files_describe_the_binned_image(warm_nodes: WarmNodes, tmp_path: Path) -> None:
    report_of_good_run(warm_nodes, write(tmp_path, "bin_x = 4\nbin_y = 2", buffer="region = [8, 4, 80, 16]"))
    with h5py.File(tmp_path / "reduced_full_master.h5") as file:
        detector = file["/entry/instrument/detector"]
        assert file["/entry/data/data"].shape == (FRAMES, 8, 20)
        assert detector["x_pixel_size"][()] == pytest.approx(4e-4)
        assert detector["y_pixel_size"][()] == pytest.approx(2e-4)
        assert detector["beam_center_x"][()] == pytest.approx((30 - 8) / 4)
        assert detector["beam_center_y"][()] == pytest.approx((18 - 4) / 2)
        assert detector["pixel_mask"].shape == (8, 20)
        first, second = detector["m0"], detector["m1"]
        assert [*first["data_origin"], *first["data_size"]] == [0, 0, 8, 10]
        assert [*second["data_origin"], *second["data_size"]] == [0, 10, 8, 10]
        assert first["fast_pixel_direction"][()] == pytest.approx(4e-4)
        assert first["slow_pixel_direction"][()] == pytest.approx(2e-4)
        corner = second["module_offset"].attrs["offset"]  # columns run to −x, rows to −y: (0, 0) of the beam
        np.testing.assert_allclose(corner, [(30 - 48) * 1e-4, (18 - 4) * 1e-4, 0], atol=1e-12)


def test_checksums_are_those_of_reduced_images_and_faults_count_as_ever(warm_nodes: WarmNodes, tmp_path: Path) -> None:
    checksum = '[[buffer.kernel]]\nname = "checksum"'
    faults = "[faults]\nseed = 4\ndrop = 0.02\ncorrupt = 0.01\n[[faults.dead_modules]]\nmodule = 1\nfrom_frame = 25"
    outcome = warm_nodes.run(write(tmp_path, "bin_x = 2\nbin_y = 2", more=f"{checksum}\n{faults}"))
    report = report_of(outcome, tmp_path / "reduced.toml")
    books = report["books"]
    assert books["balanced"]
    assert report["injected"]["unexplained"] == 0
    assert report["injected"]["drop"] > 0
    assert books["partial"] >= 5, "images without module 1"
    with h5py.File(tmp_path / "reduced_full_master.h5") as file:
        verified = file["/entry/rashpa/checksums_verified"][:]
        assert (verified == MODULES).sum() >= books["complete"] > 0


def test_the_plan_counts_reduced_images(tmp_path: Path) -> None:
    plan = load_plan(write(tmp_path, "bin_x = 4\nbin_y = 3", buffer="bands = 2"))
    (buffer,) = plan.buffers
    assert (buffer.width, buffer.height) == (24, 8)
    assert [load.image_bytes for load in dtp_loads(plan)] == [12 * 4 * 2] * 4
    assert [str(dtp.target) for dtp in buffer.dtps] == [
        "[0, 0, 12, 4]",
        "[0, 4, 12, 4]",
        "[12, 0, 12, 4]",
        "[12, 4, 12, 4]",
    ]
    said = json_of(summary_of(plan, {}))
    assert said["dtps"][0]["bins"] == [4, 3]
    assert said["dtps"][0]["region"] == [0, 0, 48, 12]
    assert json.dumps(said)


def test_the_order_to_an_emulator_has_the_offset_of_its_module_and_the_limits_of_counts(tmp_path: Path) -> None:
    offsets(tmp_path, "uint16")
    plan = load_plan(write(tmp_path, 'offset = ["dark0.npy", "dark1.npy"]'))
    ends = {dtp.id: (_NO_END, _NO_PLACE) for dtp in plan.dtps}
    source = cast("telegram.Source", source_telegram(plan, plan.emulators[0], ends).source)
    reductions = [cast("telegram.Reduction", dtp.reduction) for dtp in source.dtps]
    assert [one.offset for one in reductions] == [str(tmp_path / "dark0.npy"), str(tmp_path / "dark1.npy")]
    assert [(one.least, one.most, one.saturated) for one in reductions] == [(0, 65534, 65535)] * 2
    assert {str(tmp_path / "dark0.npy"), str(tmp_path / "dark1.npy")} <= set(grant_of(plan, "emulator", "t" * 32).read)


REFUSED = {
    "region": (
        "bin_x = 5",
        {},
        "buffer[0].reduction: the image at [0, 0, 96, 24] is not made of whole bins of 5 × 1 pixels",
    ),
    "module": (
        "bin_x = 4",
        {"detector": "module = [{ x = 0, y = 0 }, { x = 50, y = 0 }]", "buffer": "region = [0, 0, 96, 24]"},
        "module 1 in the image at [50, 0, 46, 24] is not made of whole bins",
    ),
    "by_hand": (
        "bin_y = 4",
        {"buffer": "dtp = [{ module = 0, region = [0, 0, 48, 22], place = [0, 0] }]"},
        "not made of whole bins of 1 × 4 pixels",
    ),
    "bands": ("bin_y = 8", {"buffer": "bands = 4"}, "module 0 has 3 rows in this buffer"),
    "nothing": ("", {}, "nothing is reduced; set bin_x, bin_y, threshold or offset"),
    "bin_by": ('threshold = 2.0\nbin_by = "mean"', {}, "bins have one pixel; set bin_x or bin_y"),
    "too_large": ("bin_x = 9", {}, "bin_x"),
    "threshold": ("threshold = 70000.0", {}, "70000 is above the largest count of uint16 pixels, 65534"),
    "offsets": ('offset = ["dark0.npy"]', {}, "1 files, and [[detector.module]] lists 2 modules"),
    "missing": ('offset = ["dark0.npy", "none.npy"]', {}, "none.npy does not exist"),
    "shape": ('offset = ["dark0.npy", "small.npy"]', {}, "small.npy: its shape is [12, 48]; [24, 48] is needed"),
    "type": (
        'offset = ["dark0.npy", "float.npy"]',
        {},
        "float.npy: holds float64, and the detector's pixels are uint16",
    ),
    "sls": ("bin_x = 2", {"link": 'kind = "sls"'}, "the link sls sends frames as its detector reads them out"),
    "rings": (
        "bin_x = 2",
        {"more": '[[buffer.kernel]]\nname = "peakfinder8"\nthreshold = 5.0'},
        "peakfinder8 needs square pixels",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_impossible_reduction_is_refused_with_its_key(tmp_path: Path, case: str) -> None:
    reduction, parts, text = REFUSED[case]
    offsets(tmp_path, "uint16")
    np.save(tmp_path / "small.npy", np.zeros((12, 48), np.uint16))
    np.save(tmp_path / "float.npy", np.zeros((24, 48)))
    with pytest.raises(RunFileError) as refused:
        load_plan(write(tmp_path, reduction, **parts))
    assert text in str(refused.value)


def test_raw_words_of_a_jungfrau_are_not_reduced(tmp_path: Path) -> None:
    text = write(tmp_path, "bin_x = 2", width=1024, height=512, detector="").read_text(encoding="utf-8")
    text = re.sub(r'kind = "files"\nfiles.*\npixel = "uint16"', 'kind = "jungfrau"\nmodules = 1', text)
    file = tmp_path / "raw.toml"
    file.write_text(text + '[[buffer.kernel]]\nname = "jungfrau"\n', encoding="utf-8")
    with pytest.raises(RunFileError) as refused:
        load_plan(file)
    assert "raw words of a JUNGFRAU, with the gain stage in two bits" in str(refused.value)
    assert "jungfrau needs words as they are read out" in str(refused.value)


def test_the_example_stores_whole_and_binned_images(warm_nodes: WarmNodes, tmp_path: Path) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    for key, value in (
        ("frames = 600", "frames = 100"),
        ("rate_hz = 200.0", "rate_hz = 0.0"),
        ('"out/reduced"', f'"{tmp_path}"'),
    ):
        assert key in text
        text = text.replace(key, value, 1)
    text = text.replace("[[buffer]]\n", "[[buffer]]\ndeadline_ms = 20000\n")
    file = tmp_path / "example.toml"
    file.write_text(text + "reorder = 0.0\n", encoding="utf-8")
    report_of_good_run(warm_nodes, file)
    with (
        open_run(tmp_path / "reduced_whole_master.h5") as whole,
        open_run(tmp_path / "reduced_binned_master.h5") as some,
    ):
        assert (whole.shape, some.shape) == ((528, 512), (132, 128))
        lost = {*np.flatnonzero(some.lost_lines), *np.flatnonzero(whole.lost_lines) * 10}
        frame = next(frame for frame in map(int, whole.frame_numbers) if frame not in lost)
        pixels = whole.at_frame(frame)
        for top, row in ((0, 0), (272, 68)):  # between the modules is a gap
            expected = model(np.asarray(pixels[top : top + 256]), LEAST_MOST_FULL["uint16"], (4, 4), "mean", 8000.0)
            np.testing.assert_array_equal(some.at_frame(frame)[row : row + 64], expected)


def test_images_that_are_dealt_among_receivers_are_reduced_for_each(tmp_path: Path) -> None:
    members = "".join(f'[[receiver]]\nname = "{name}"\nport = 0\n' for name in ("a", "b"))
    text = write(tmp_path, "bin_x = 3\nbin_y = 2", buffer='group = "farm"', frames=60).read_text(encoding="utf-8")
    text = text.replace("[receiver]\nport = 0\n", f'{members}[[group]]\nname = "farm"\nreceivers = ["a", "b"]\n')
    file = tmp_path / "dealt.toml"
    file.write_text(text.replace('output = "."', f'output = "{tmp_path}"'), encoding="utf-8")
    outcome = rashpa.run(file)
    assert outcome.good, (outcome.problem, outcome.reasons)
    masters = sorted(tmp_path.rglob("reduced_full*_master.h5"))
    seen = set()
    for master in masters:
        with open_run(master) as stored:
            for frame, image in stored.images():
                made = [
                    model(frames_of(module, "uint16")[frame % DIFFERENT], LEAST_MOST_FULL["uint16"], (3, 2))
                    for module in (0, 1)
                ]
                np.testing.assert_array_equal(image, np.hstack(made), err_msg=f"{master} {frame}")
                seen.add(frame)
    assert masters
    assert seen == set(range(60))
