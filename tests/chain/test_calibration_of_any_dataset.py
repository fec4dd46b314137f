# SPDX-License-Identifier: Apache-2.0
"""Compares raw JUNGFRAU images that the kernel `jungfrau` processes as they arrive with the same images processed from files: with the same
calibration, all results agree."""

import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.control.plan.run_plan import plan_run
from rashpa.control.runfile.run_file_reader import RunFileError, parse_run_file
from rashpa.data.datasets.calibration import Calibration, simulated_calibration
from rashpa.data.datasets.calibration_file import ModuleMaps, write_calibration
from rashpa.data.datasets.datasets import dataset_from_spec, save_dataset
from rashpa.data.kernels.pipeline import Pipeline
from rashpa.data.stored.reader import open_run

pytestmark = pytest.mark.whole

FRAMES, SEED = 10, 7
HEIGHT, WIDTH = 512, 1024
SIMULATED = {"kind": "jungfrau", "modules": 2, "frames": FRAMES, "seed": SEED, "dark_every": 5}
DETECTOR = f"""\
[detector]
name = "JF"
width = {WIDTH}
height = {HEIGHT}
module = [{{ x = 0, y = 0 }}, {{ x = 40, y = 560 }}]
"""
PHOTONS = """\
[[buffer]]
name = "photons"
slots = 10
stack = 5
keep_darks = true
deadline_ms = 20000
kernel = [{ name = "jungfrau" }]
sink = [{ kind = "hdf5" }]
"""
RAW = """\
[[buffer]]
name = "raw"
slots = 10
stack = 5
keep_darks = true
deadline_ms = 20000
sink = [{ kind = "SINK" }]
"""
FILES = """\
pedestal = ["m0_pedestal.npy", "m1_pedestal.npy"]
gain = ["m0_gain.npy", "m1_gain.npy"]
mask = ["m0_mask.npy", "m1_mask.npy"]
"""
CALIBRATIONS = {
    "simulated": f"[detector.calibration]\nsimulated_seed = {SEED}\n",
    "arrays": f"[detector.calibration]\n{FILES}",
    "file": '[detector.calibration]\npedestal = ["c.h5", "c.h5:1"]\n',
    "older place": f"[dataset.calibration]\n{FILES}",
}
DATASETS = {
    "stored": 'kind = "stored"\npath = "out/direct_raw_master.h5"\n',
    "stored raw": 'kind = "stored"\npath = "out/direct_raw2_raw_master.h5"\n',
    "directory": 'kind = "directory"\npath = "set"\n',
    "jungfrau": f'kind = "jungfrau"\nframes = {FRAMES}\nseed = {SEED}\ndark_every = 5\n',
    "files": 'kind = "files"\nfiles = [["m0.npy"], ["m1.npy"]]\ndark_frames = [4, 9]\n',
}


def run_text(name: str, dataset: str, calibration: str, *buffers: str) -> str:
    run = f'[run]\nname = "{name}"\nframes = {FRAMES}\noutput = "out"\n'
    return f"{run}{DETECTOR}[dataset]\n{dataset}{calibration}[receiver]\nport = 0\n{''.join(buffers)}"


def rashpa(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rashpa.cli.entry", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=180)


def images_of(master: Path) -> dict[str, NDArray[Any]]:
    with open_run(master) as run:
        return {"images": np.stack([run.image(n) for n in range(FRAMES)]), "frames": run.frame_numbers}


def same(found: dict[str, NDArray[Any]], wanted: dict[str, NDArray[Any]]) -> None:
    for key, values in wanted.items():
        np.testing.assert_array_equal(found[key], values)


@pytest.fixture(scope="module")
def maps() -> list[Calibration]:
    return simulated_calibration(SEED, 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, maps: list[Calibration]) -> Path:
    """Return the folder of a run that has stored raw words and photons, and of its calibration in all forms."""
    folder = tmp_path_factory.mktemp("calibrated")
    loaded = dataset_from_spec({**SIMULATED, "places": [(0, 0), (40, 560)]}, Path())
    save_dataset(loaded, folder / "set")
    modules = {}
    for number, one in enumerate(maps):
        for key in ("pedestal", "gain", "mask"):
            np.save(folder / f"m{number}_{key}.npy", getattr(one, key))
        np.save(folder / f"m{number}.npy", np.stack([loaded.dataset.frame(number, n) for n in range(FRAMES)]))
        assert one.rms is not None
        modules[number] = ModuleMaps(one.pedestal, np.stack([one.rms] * 3), one.mask, one.gain)
    write_calibration(folder / "c.h5", modules, "JF", datetime.now(UTC))
    raw = RAW.replace("SINK", "hdf5") + RAW.replace("SINK", "raw").replace('"raw"', '"raw2"', 1)
    (folder / "direct.toml").write_text(run_text("direct", DATASETS["jungfrau"], "", PHOTONS, raw))
    done = rashpa(folder, "run", "direct.toml", "-q")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_pedestals_follow_the_same_darks_again(folder: Path, maps: list[Calibration]) -> None:
    tracked = PHOTONS.replace('name = "jungfrau"', 'name = "jungfrau", output = "kev", track = "darks"')
    for name, section, calibration in (
        ("tracked", DATASETS["jungfrau"], ""),
        ("again", DATASETS["stored"], CALIBRATIONS["simulated"]),
    ):
        text = run_text(name, section, calibration, tracked).replace("[run]\n", '[run]\nexisting = "replace"\n')
        (folder / f"{name}.toml").write_text(text)
        done = rashpa(folder, "run", f"{name}.toml", "-q")
        assert done.returncode == 0, done.stdout + done.stderr
    wanted = images_of(folder / "out/tracked_photons_master.h5")
    same(images_of(folder / "out/again_photons_master.h5"), wanted)
    untracked = Pipeline(
        [{"name": "jungfrau", "output": "kev", "photon_energy_kev": 12.4}], (HEIGHT, WIDTH), calibration=maps[0]
    )
    with open_run(folder / "out/direct_raw_master.h5") as run:
        last = untracked(np.ascontiguousarray(run.image(FRAMES - 2)[:HEIGHT, :WIDTH])).pixels[0]
    assert (wanted["images"][FRAMES - 2, :HEIGHT, :WIDTH] != last).mean() > 0.5


@pytest.fixture(scope="module")
def direct(folder: Path) -> dict[str, NDArray[Any]]:
    found = images_of(folder / "out/direct_photons_master.h5")
    assert found["images"].max() > 3
    assert (found["images"][:, 560:, :40] == -32768).all()  # no module lies there
    return found


@pytest.mark.parametrize(
    ("dataset", "calibration"),
    [(dataset, "simulated") for dataset in DATASETS] + [("stored", one) for one in CALIBRATIONS if one != "simulated"],
)
def test_a_run_gives_the_same_again(
    folder: Path, direct: dict[str, NDArray[Any]], dataset: str, calibration: str
) -> None:
    name = f"{dataset}_{calibration}".replace(" ", "_")
    text = run_text(name, DATASETS[dataset], CALIBRATIONS[calibration], PHOTONS)
    (folder / f"{name}.toml").write_text(text)
    checked = rashpa(folder, "run", f"{name}.toml", "--check")
    assert checked.returncode == 0, checked.stderr
    done = rashpa(folder, "run", f"{name}.toml", "-q")
    assert done.returncode == 0, done.stdout + done.stderr
    same(images_of(folder / f"out/{name}_photons_master.h5"), direct)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_process_gives_the_same(folder: Path, direct: dict[str, NDArray[Any]], calibration: str) -> None:
    out = f"processed_{calibration.replace(' ', '_')}"
    unplayed = 'kind = "stored"\npath = "moved_away_master.h5"\n'
    (folder / f"{out}.toml").write_text(run_text("p", unplayed, CALIBRATIONS[calibration], PHOTONS))
    done = rashpa(folder, "process", "out/direct_raw_master.h5", "-p", f"{out}.toml", "-o", out)
    assert done.returncode == 0, done.stdout + done.stderr
    same(images_of(folder / out / "direct_raw_photons_master.h5"), direct)


def test_a_pipeline_gives_the_same(folder: Path, direct: dict[str, NDArray[Any]], maps: list[Calibration]) -> None:
    energy = 12.4
    with open_run(folder / "out/direct_raw_master.h5") as run:
        raw = np.stack([run.image(n) for n in range(FRAMES)])
    for (x, y), one in zip(((0, 0), (40, 560)), maps, strict=True):
        pipeline = Pipeline([{"name": "jungfrau", "photon_energy_kev": energy}], (HEIGHT, WIDTH), calibration=one)
        place = np.s_[:, y : y + HEIGHT, x : x + WIDTH]
        np.testing.assert_array_equal(pipeline(np.ascontiguousarray(raw[place])).pixels, direct["images"][place])


@pytest.mark.parametrize("dataset", ["stored", "files", "pattern"])
def test_what_is_demanded_is_understood(folder: Path, dataset: str) -> None:
    section = DATASETS.get(dataset, f'kind = "pattern"\nmodules = 2\nwidth = {WIDTH}\nheight = {HEIGHT}\n')
    path = folder / "asked.toml"
    with pytest.raises(RunFileError, match=r"name them in \[detector\.calibration\]"):
        plan_run(*parse_run_file(path, run_text("asked", section, "", PHOTONS).encode()))
    for calibration in CALIBRATIONS.values():
        plan_run(*parse_run_file(path, run_text("asked", section, calibration, PHOTONS).encode()))


@pytest.mark.parametrize(
    ("calibration", "says"),
    [
        (
            CALIBRATIONS["arrays"] + CALIBRATIONS["file"].replace("detector", "dataset"),
            "leave [dataset.calibration] out",
        ),
        ('[detector.calibration]\npedestal = ["c.h5"]\n', "detector.calibration: calibration of 1 modules"),
        (
            '[dataset.calibration]\npedestal = ["c.h5"]\n',
            "asked.toml:13: dataset.calibration: calibration of 1 modules",
        ),
        (
            '[dataset.calibration]\npedestal = ["c.h5"]\nmusk = []\n',
            "asked.toml:15: dataset.calibration.musk: no such key",
        ),
        ("[dataset.calibration]\n", "dataset.calibration: pedestal is needed"),
        ('[detector.calibration]\npedestal = ["gone.h5", "c.h5"]\n', "gone.h5 does not exist"),
        ("[detector]\ncalibration = 7\n", "not TOML"),
    ],
)
def test_a_wrong_calibration_is_refused_at_its_line(folder: Path, calibration: str, says: str) -> None:
    text = run_text("asked", DATASETS["stored"], calibration, PHOTONS)
    with pytest.raises(RunFileError) as caught:
        plan_run(*parse_run_file(folder / "asked.toml", text.encode()))
    assert says in str(caught.value)


COUNTED = PHOTONS.replace(
    '{ name = "jungfrau" }', '{ name = "checksum" }, { name = "bragg_count", threshold = 3, min_pixels = 1 }'
)
NEEDED = (
    "kernel[1]: bragg_count needs photons, and the dataset's pixels are raw words of a JUNGFRAU; begin with jungfrau"
)


@pytest.mark.parametrize("calibration", ["", CALIBRATIONS["simulated"]], ids=["no calibration", "calibration"])
@pytest.mark.parametrize("dataset", DATASETS)
def test_raw_words_are_not_taken_for_photons(folder: Path, dataset: str, calibration: str) -> None:
    text = run_text("asked", DATASETS[dataset], calibration, COUNTED)
    if dataset == "files" and not calibration:
        plan_run(*parse_run_file(folder / "asked.toml", text.encode()))  # nothing says what they are
        return
    with pytest.raises(RunFileError) as caught:
        plan_run(*parse_run_file(folder / "asked.toml", text.encode()))
    assert NEEDED in str(caught.value)
    assert ("or leave [detector.calibration] out" in str(caught.value)) == bool(calibration)


def test_every_command_refuses_raw_words_before_photon_kernels(folder: Path) -> None:
    (folder / "counted.toml").write_text(run_text("counted", DATASETS["stored"], "", COUNTED))
    process = ("process", "out/direct_raw_master.h5", "-p", "counted.toml", "-o", "counted")
    for words in ("run", "counted.toml", "--check"), ("run", "counted.toml"), ("plan", "counted.toml"), process:
        done = rashpa(folder, *words)
        assert done.returncode == 2, done.stdout + done.stderr
        assert NEEDED in " ".join(done.stderr.split())


def test_copies_of_raw_words_are_known_as_such(folder: Path) -> None:
    text = run_text("copied", DATASETS["stored"], "", RAW.replace("SINK", "hdf5"))
    (folder / "copied.toml").write_text(text)
    for words in (
        ("run", "copied.toml", "-q"),
        ("process", "out/direct_raw_master.h5", "-p", "copied.toml", "-o", "copied"),
        ("convert", "out/direct_raw2_raw_master.h5", "converted"),
    ):
        done = rashpa(folder, *words)
        assert done.returncode == 0, done.stdout + done.stderr
    for name in ("out/direct_raw", "out/copied_raw", "copied/direct_raw_raw", "converted"):
        with open_run(folder / f"{name}_master.h5") as run:
            assert run.facts.pixel_units == "raw words"
    with open_run(folder / "out/direct_photons_master.h5") as run:
        assert run.facts.pixel_units == "photons"


def test_photons_are_not_taken_for_raw_words(folder: Path) -> None:
    shutil.copy(folder / "out/direct_raw_master.h5", folder / "out/made_master.h5")
    with h5py.File(folder / "out/made_master.h5", "r+") as file:
        file["entry/rashpa"].attrs["pixel_units"] = "photons"
    section = DATASETS["stored"].replace("direct_raw", "made")
    (folder / "made.toml").write_text(run_text("made", section, CALIBRATIONS["simulated"], PHOTONS))
    refused = "kernel[0]: jungfrau takes raw words of its detector, and the dataset's pixels are photons already; leave jungfrau out"
    process = ("process", "out/made_master.h5", "-p", "made.toml", "-o", "made")
    for words in ("run", "made.toml", "--check"), ("plan", "made.toml"), process:
        done = rashpa(folder, *words)
        assert done.returncode == 2, done.stdout + done.stderr
        assert refused in " ".join(done.stderr.split())
    counted = run_text("made", section, CALIBRATIONS["simulated"], COUNTED)
    plan_run(*parse_run_file(folder / "made.toml", counted.encode()))
