# SPDX-License-Identifier: Apache-2.0
"""`rashpa dataset` makes, describes and draws; bad input is one line and exit 2."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

pytest.importorskip("rashpa._native")

from rashpa.cli.files.dataset import app
from rashpa.data.base.exit_code import ExitCode
from rashpa.data.datasets.datasets import dataset_from_spec, load_directory

pytestmark = pytest.mark.whole

MAKE = ["make", "--frames", "4", "--dark-every", "4", "--hit-fraction", "1", "--modules", "1", "--seed", "3"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dataset") / "d"
    result = CliRunner().invoke(app, [*MAKE, str(path)])
    assert result.exit_code == 0, result.output
    return path


def test_info_names_shape_kinds_gains_and_calibration(folder: Path) -> None:
    result = CliRunner().invoke(app, ["info", str(folder)])
    assert result.exit_code == 0
    for text in (
        "synthetic",
        "1024 x 512",
        "1 dark, 3 hit",
        "12.4 keV",
        "G0 99.",
        "overflow",
        "ADU/keV",
        "30 pixels masked",
    ):
        assert text in result.output.replace("\n", " "), text


def test_preview_draws_a_hit_brighter_than_a_dark(folder: Path, tmp_path: Path) -> None:
    bright = {}
    for frame in (0, 3):
        out = tmp_path / f"{frame}.png"
        result = CliRunner().invoke(app, ["preview", str(folder), "--frame", str(frame), "--output", str(out)])
        assert result.exit_code == 0, result.output
        picture = np.asarray(Image.open(out).convert("RGB"), np.int64)
        assert picture.shape[0] > 512 and picture.shape[1] > 1024
        bright[frame] = np.count_nonzero(picture[60:560, 80:1080, 0] > 100)
    assert bright[0] > 3 * bright[3]


def test_a_pattern_and_a_single_file_are_described(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["make", str(tmp_path / "p"), "--kind", "pattern", "--frames", "2", "--width", "8", "--height", "4"]
    )
    assert result.exit_code == 0, result.output
    result = CliRunner().invoke(app, ["info", str(tmp_path / "p" / "module0_raw.npy")])
    assert result.exit_code == 0, result.output
    assert "8 x 4 pixels, uint16" in result.output
    assert "recorded" in result.output
    result = CliRunner().invoke(app, ["preview", str(tmp_path / "p"), "--output", str(tmp_path / "p.png")])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["info", "{tmp}/none"], "no such file"),
        (["info", "{tmp}"], "dataset.json"),
        (["preview", "{folder}", "--frame", "4"], "frames 0 to 3"),
        (["preview", "{folder}", "--output", "{tmp}/no/where.png"], "No such file"),
        (["make", "{folder}"], "not empty"),
        (["make", "{tmp}/x", "--hit-fraction", "2"], "--hit-fraction"),
        (["make", "{tmp}/x", "--modules", "65"], "--modules"),
        (["make", "{tmp}/x", "--frames", "1000000000"], "fewer frames"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(folder: Path, tmp_path: Path, arguments: list[str], why: str) -> None:
    filled = [argument.format(tmp=tmp_path, folder=folder) for argument in arguments]
    result = CliRunner().invoke(app, filled)
    assert result.exit_code == ExitCode.BAD_INPUT
    assert why in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert "Traceback" not in result.output


M049 = Path(__file__).parents[3].parent / "shared" / "data" / "jungfrau_m049"


def test_recorded_files_become_a_folder_with_their_frames_in_order(tmp_path: Path) -> None:
    frames = np.random.default_rng(1).integers(0, 16000, (11, 2, 4, 6)).astype(np.uint16)
    for number in range(11):
        for module in range(2):
            header = bytes(8)
            (tmp_path / f"m{module}_{number}.bin").write_bytes(header + frames[number, module].tobytes())
    maps = np.full((3, 4, 6), 50, np.float32)
    np.save(tmp_path / "maps.npy", maps)
    done = CliRunner().invoke(
        app,
        [
            "make", str(tmp_path / "set"), "--kind", "files", "--width", "6", "--height", "4", "--header-bytes", "8",
            "--raw", str(tmp_path / "m0_*.bin"), "--raw", str(tmp_path / "m1_*.bin"), "--dark-frame", "3",
            *(word for _ in range(2) for word in ("--pedestal", str(tmp_path / "maps.npy"), "--gain", str(tmp_path / "maps.npy"))),
            "--gain-unit", "adu_per_photon", "--energy-kev", "12.5",
        ],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "recorded" in done.output
    loaded = load_directory(tmp_path / "set")
    assert (loaded.label, loaded.parameters["kind"], loaded.energy_kev) == ("recorded", "files", 12.5)
    for number in range(11):
        assert loaded.kinds[number] == ("dark" if number == 3 else "")
        for module in range(2):
            np.testing.assert_array_equal(loaded.dataset.frame(module, number), frames[number, module])
    assert loaded.calibration[1].gain[2, 3, 5] == np.float32(4.0)


def test_what_is_wrong_with_recorded_files_is_said(tmp_path: Path) -> None:
    for words, says in (
        (["--kind", "files"], "--kind files: there are no frames; give --raw FILES"),
        (["--kind", "files", "--raw", str(tmp_path / "none*")], "none*: there is no such file"),
        (["--place", "3;4"], "--place 3;4: it is no place; give x,y in pixels"),
        (["--modules", "2", "--place", "3,4"], "1 places for 2 modules"),
    ):
        done = CliRunner().invoke(app, ["make", str(tmp_path / "set"), *words])
        assert done.exit_code == ExitCode.BAD_INPUT
        assert says in done.output
    assert not (tmp_path / "set").exists()


@pytest.mark.skipif(not M049.is_dir(), reason="needs the recorded frames of ../shared/data/jungfrau_m049")
def test_a_recorded_module_becomes_a_folder(tmp_path: Path) -> None:
    pedestal = ",".join(str(next(M049.glob(f"mod5_pedeG{gain}.bin*"))) for gain in range(3))
    gain = str(M049 / "gain_reconstructed.npz:gain_adu_per_photon")
    words = ["--kind", "files", "--raw", str(M049 / "mod5_raw*"), "--pedestal", pedestal, "--gain", gain]
    done = CliRunner().invoke(app, ["make", str(tmp_path / "set"), *words, "--gain-unit", "adu_per_photon"])
    assert done.exit_code == 0, done.output
    loaded = load_directory(tmp_path / "set")
    assert loaded.dataset.frames == 10
    direct = dataset_from_spec(
        {"kind": "files", "files": [sorted(map(str, M049.glob("mod5_raw*")))], "width": 1024, "height": 512}, tmp_path
    )
    for number in (0, 9):
        np.testing.assert_array_equal(loaded.dataset.frame(0, number), direct.dataset.frame(0, number))


@pytest.mark.parametrize("raw", ["{tmp}/tiff", "{tmp}/tiff/m_*.tif", "{tmp}/tiff/m_1.tif"])
def test_images_bring_their_own_size(tmp_path: Path, raw: str) -> None:
    (tmp_path / "tiff").mkdir()
    for number in (1, 2):
        Image.fromarray(np.full((8, 16), number, np.uint16)).save(tmp_path / f"tiff/m_{number}.tif")
    words = ["make", "--output", str(tmp_path / "set"), "--kind", "files", "--raw", raw.format(tmp=tmp_path), "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)["dataset"]
    assert facts["modules"] == "1 of 16 x 8 pixels, uint16"
    assert "photon energy" not in facts


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--kind", "jungfrau", "--raw", "a.tif"), "--raw: --kind jungfrau has no such option; leave it out, or give --kind files"),
        (("--kind", "pattern", "--spots", "3"), "--spots: --kind pattern has no such option; leave it out, or give --kind jungfrau"),
        (("--raw", "a.tif", "--frames", "3"), "--frames: --kind files has no such option; leave it out, or give --kind jungfrau or pattern"),
        (("--dark-frame", "3"), "--dark-frame: --kind jungfrau has no such option; leave it out, or give --kind files"),
    ],
)  # fmt: skip
def test_an_option_of_another_kind_is_not_left_unused(tmp_path: Path, options: tuple[str, ...], says: str) -> None:
    result = CliRunner().invoke(app, ["make", *options, "-o", str(tmp_path / "d")])
    assert result.exit_code == ExitCode.BAD_INPUT
    assert says in " ".join(result.output.split())
    assert not (tmp_path / "d").exists()


def test_files_need_no_kind(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((2, 3, 4), np.uint16))
    result = CliRunner().invoke(app, ["make", "--raw", str(tmp_path / "a.npy"), "-o", str(tmp_path / "d"), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["dataset"]["label"] == "recorded"
