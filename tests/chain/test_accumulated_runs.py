# SPDX-License-Identifier: Apache-2.0
"""Compares the results of accumulating kernels in the files of runs with NumPy sums over the stored images."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.stored.reader import open_run
from rashpa.testing.run_file import run_file
from rashpa.testing.warm_nodes import WarmNodes

RASHPA = [sys.executable, "-m", "rashpa.cli.entry"]
RUN = """
[run]
name = "sums"
frames = 60
output = "{folder}/out"
instrument = "rashpa emulator"
source = "synthetic"
sample = "synthetic crystal"

[detector]
name = "JUNGFRAU"
description = "one module, synthetic"
width = 1024
height = 512
pixel = "uint16"
rate_hz = 0.0
count_time_s = 0.001
distance_m = 0.12
energy_kev = 12.4

[[detector.module]]
x = 0
y = 0

[dataset]
kind = "jungfrau"
modules = 1
frames = 20
seed = 1
hit_fraction = 0.5
dark_every = 10

[receiver]
port = 0

[[buffer]]
name = "main"
slots = 20
stack = 5

[[buffer.kernel]]
name = "checksum"

[[buffer.kernel]]
name = "jungfrau"
output = "photons"

[[buffer.kernel]]
name = "roi_stats"
regions = "box=100,200,30,40; row=0,511,1024,1"

[[buffer.kernel]]
name = "bragg_count"
threshold = 8
min_pixels = 30

[[buffer.kernel]]
name = "accumulate"
window = {window}
variance = true

[[buffer.sink]]
kind = "hdf5"
"""


def rashpa(*arguments: str, folder: Path) -> tuple[int, str]:
    done = subprocess.run([*RASHPA, *arguments], cwd=folder, capture_output=True, text=True, timeout=240)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def written_run(folder: Path, window: int, text: str = RUN) -> str:
    file = folder / "sums.toml"
    file.write_text(text.format(folder=folder, window=window), encoding="utf-8")
    return str(file)


def check_window(images: NDArray[Any], found: dict[str, NDArray[Any]]) -> None:
    masked = images == np.iinfo(np.int16).min
    values = np.where(masked, 0, images.astype(np.int64))
    counted = (~masked).sum(axis=0)
    np.testing.assert_array_equal(found["counted"], counted)
    np.testing.assert_array_equal(found["sum"], values.sum(axis=0))
    seen = counted > 0
    np.testing.assert_array_equal(found["max"][seen], images.max(axis=0)[seen])
    assert (found["max"][~seen] == np.iinfo(np.int32).min).all()
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = values.sum(axis=0) / counted
        squares = (values**2).sum(axis=0)
        variance = (counted * squares - values.sum(axis=0) ** 2) / (counted * (counted - 1.0))
    np.testing.assert_array_equal(found["mean"], mean)
    np.testing.assert_allclose(found["variance"], np.where(counted > 1, variance, np.nan), rtol=1e-15)


def test_windows_hold_what_numpy_adds_up_of_the_stored_images(warm_nodes: WarmNodes, tmp_path: Path) -> None:
    outcome = warm_nodes.good_run(Path(written_run(tmp_path, 25)))
    assert outcome.balanced
    master = tmp_path / "out" / "sums_main_master.h5"
    with open_run(master) as run:
        facts = run.accumulation_facts["accumulate"]
        assert facts.quantities == ("sum", "mean", "max", "variance", "counted")
        assert facts.images_added == "accepted"
        assert [(one.number, one.first_image, one.end_image) for one in facts.windows] == [
            (0, 0, 25),
            (1, 25, 50),
            (2, 50, 60),
        ]
        rows = [run.row_of(place) for place in range(len(run))]
        assert 5 < len(rows) < 54
        for number, window in enumerate(facts.windows):
            places = [place for place, row in enumerate(rows) if window.first_image <= row < window.end_image]
            assert window.images == len(places)
            images = np.stack([run.image(place) for place in places])
            check_window(images, {name: run.accumulated("accumulate", name, number) for name in facts.quantities})
        for place, row in enumerate(rows):
            box = run.image(place)[200:240, 100:130]
            valid = box[box != np.iinfo(np.int16).min].astype(np.int64)
            scalars = run.tables.scalars
            assert scalars["box_sum"][row] == valid.sum()
            assert scalars["box_mean"][row] == valid.sum() / len(valid)
            assert (scalars["box_min"][row], scalars["box_max"][row]) == (valid.min(), valid.max())
            assert scalars["box_pixels"][row] == len(valid)
            assert scalars["checksums_verified"][row] == 1
        assert len(set(run.tables.scalars["crc32c"].tolist())) > 10
        with_window = run.accumulated("accumulate", "sum")
        assert with_window.shape == run.shape
    code, output = rashpa("inspect", str(master), folder=tmp_path)
    assert code == 0, output
    assert "accumulated by accumulate 3 windows" in output


def test_the_whole_run_is_one_window(warm_nodes: WarmNodes, tmp_path: Path) -> None:
    warm_nodes.good_run(Path(written_run(tmp_path, 0)))
    with open_run(tmp_path / "out" / "sums_main_master.h5") as run:
        (window,) = run.accumulation_facts["accumulate"].windows
        assert (window.first_image, window.end_image, window.images) == (0, 60, len(run))
        check_window(
            np.stack([run.image(place) for place in range(len(run))]),
            {name: run.accumulated("accumulate", name) for name in ("sum", "mean", "max", "variance", "counted")},
        )


def test_what_cannot_work_is_said_before_the_run(tmp_path: Path) -> None:
    cases = {
        "7 images are not a whole number of stacks of 5; take 10": RUN.replace("{window}", "7"),
        "bragg_count can refuse images that accumulate has added up": RUN.replace(
            'name = "bragg_count"', 'name = "accumulate"\n[[buffer.kernel]]\nname = "bragg_count"', 1
        ).replace('[[buffer.kernel]]\nname = "accumulate"\nwindow = {window}\nvariance = true\n', ""),
        "checksum reads pixels as the detector delivers them": RUN.replace(
            '[[buffer.kernel]]\nname = "checksum"\n', ""
        ).replace('name = "roi_stats"', 'name = "checksum"\n[[buffer.kernel]]\nname = "roi_stats"'),
        "box=1000,200,30,40 reaches beyond the image of 1024": RUN.replace("box=100,", "box=1000,"),
        "is no region; give name=x,y,width,height": RUN.replace("box=100,200,30,40", "box=100,200,30"),
    }
    for text, wrong in cases.items():
        code, output = rashpa("run", written_run(tmp_path, 10, wrong), folder=tmp_path)
        assert code != 0, text
        assert text in output, output
        assert not (tmp_path / "out" / "sums_main_master.h5").exists()


SLOW = """\
import time
from rashpa.data.kernels.kernel import Column, kernel
@kernel(takes=["uint16"], columns=[Column("a", "uint32")])
def slow(pixels):
    time.sleep(0.008)  # wait: a kernel that is slower than the source
    return {"a": 1}
"""
DROPS = run_file(
    run={"name": "sums", "frames": 400, "output": "out"},
    detector={"width": 128, "height": 64, "pixel": "uint16", "rate_hz": 600},
    dataset={"modules": 1, "frames": 16, "pixel": None},
    link={"kind": "pcie", "on_full": "skip"},
    buffer={
        "slots": 40,
        "stack": 5,
        "kernel": [{"name": "python", "function": "slow:slow"}, {"name": "accumulate", "window": 50}],
        "sink": [{"kind": "hdf5", "on_full": "drop"}],
    },
    receiver=None,
)


def test_every_window_is_in_the_file_of_a_sink_that_drops_stacks(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "run.toml").write_text(DROPS)
    words = [*RASHPA, "run", "run.toml", "-q"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    with open_run(tmp_path / "out" / "sums_full_master.h5") as run:
        windows = run.accumulation_facts["accumulate"].windows
        accepted = run.tables.decision == 1
    # a machine that is busy otherwise may lose a window; then the run says so, and the others are there
    lost = set(range(0, 400, 50)) - {one.first_image for one in windows}
    assert done.returncode == (3 if lost else 0), done.stderr
    assert ("windows of sums" in done.stderr) == bool(lost), done.stderr
    assert len(lost) < 4
    assert {one.first_image: one.images for one in windows} == {
        at: int(accepted[at : at + 50].sum()) for at in range(0, 400, 50) if at not in lost
    }
