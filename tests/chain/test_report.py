# SPDX-License-Identifier: Apache-2.0
"""Tests the report of whole runs: the images that it shows, and the combined file of several receivers."""

import base64
import gzip
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  for the pixels
import numpy as np
import pytest
from PIL import Image

from rashpa.testing.run_file import run_file
from rashpa.testing.waiting import GUARD_S

DETECTOR = run_file(
    run={"name": "shown", "number": 7, "frames": 90, "output": "out"},
    detector={"name": "JUNGFRAU", "width": 1024, "height": 512, "rate_hz": 60, "distance_m": 0.12, "energy_kev": 12.4},
    dataset={"kind": "jungfrau", "modules": 1, "frames": 20, "seed": 3, "hit_fraction": 0.3, "dark_every": 10},
    receiver=None,
    buffer=None,
)
VETOED = """\
[receiver]
port = 0
[[buffer]]
name = "full"
slots = 40
stack = 5
kernel = [{ name = "jungfrau", output = "photons" }, { name = "bragg_count", threshold = 15, min_pixels = 40 }]
sink = [{ kind = "hdf5" }]
[faults]
seed = 5
drop = 0.002
"""
DEALT = """\
[[receiver]]
name = "a"
port = 0
[[receiver]]
name = "b"
port = 0
[[receiver]]
name = "monitor"
port = 0
[[group]]
name = "farm"
receivers = ["a", "b"]
[[buffer]]
name = "full"
group = "farm"
slots = 40
stack = 5
kernel = [{ name = "jungfrau", output = "photons" }]
sink = [{ kind = "hdf5" }]
[[buffer]]
name = "centre"
receiver = "monitor"
region = [100, 100, 200, 100]
every = 2
slots = 40
stack = 5
kernel = [{ name = "jungfrau" }]
sink = [{ kind = "hdf5" }]
"""
LARGEST = 1_500_000
LOST = (0xFF, 0x2A, 0x6D)
FIGURE = re.compile(
    r"<figure data-shows='(\w+)'><img alt='[^']*' src='data:image/png;base64,([^']*)'><figcaption>([^<]*)"
)


def run_of(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "run.toml").write_text(DETECTOR + text)
    command = [sys.executable, "-m", "rashpa.cli.entry", "run", "run.toml", "--output", "report"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def test_the_page_shows_images_and_all_that_matters_of_the_report(tmp_path: Path) -> None:
    done = run_of(tmp_path, VETOED)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "report" / "report.json").read_text(encoding="utf-8"))
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    (buffer,) = report["buffers"]
    assert buffer["file"] == str(tmp_path / "out" / "shown_full_master.h5")
    assert buffer["vetoes"]["too_few"] > 0
    figures = {shows: (base64.b64decode(png), text) for shows, png, text in FIGURE.findall(page)}
    assert set(figures) == {"accepted", "sum", "vetoed", "partial"}
    assert "vetoed: too few" in figures["vetoed"][1]
    assert re.search(r"\d+ lines? lost", figures["partial"][1])
    for shows, (png, _) in figures.items():
        drawn = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
        assert min(drawn.shape[:2]) > 200
        lost = int((drawn == LOST).all(axis=2).sum())
        assert lost > 50 if shows == "partial" else shows in {"accepted", "sum"} or lost == 0
    for words in (buffer["file"], "times smaller", "too few", "bright pixels", "completeness", "latency: how many"):
        assert words in page
    for reason, count in buffer["vetoes"].items():
        if count:
            assert f"<td class='text'>{reason.replace('_', ' ')}</td><td>{count:,}</td>" in page
    assert len(page.encode()) < LARGEST


def test_the_library_of_the_page_is_whole(tmp_path: Path) -> None:
    assert run_of(tmp_path, VETOED.replace("drop = 0.002", "drop = 0.0")).returncode == 0
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    packed = re.search(r'<script id="bokeh" type="text/plain">([^<]*)</script>', page)
    assert packed
    assert "BokehJS" in gzip.decompress(base64.b64decode(packed[1])).decode()
    assert "data-shows='partial'" not in page, "there was none"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = run_of(folder, DEALT)
    assert done.returncode == 0, done.stderr
    assert f"wrote {folder / 'out' / 'shown_master.h5'}: leads to all files" in done.stdout
    return folder


def test_one_file_leads_to_the_images_of_all_receivers(site: Path) -> None:
    import nxmx  # it takes half a second: for the worker that needs it

    out = site / "out"
    with h5py.File(out / "shown_master.h5", "r") as file:
        frames = file["farm/data/frame_number"][()]
        assert frames.size == 81, "all but the darks"
        assert (np.diff(frames.astype(np.int64)) > 0).all()
        assert file["centre/data/data"].shape == (45, 100, 200)
        whole = {int(frame): file["farm/data/data"][place] for place, frame in enumerate(frames)}
        entries = nxmx.NXmx(file).entries  # type: ignore[no-untyped-call]
        assert sorted(str(entry.path) for entry in entries) == ["/centre", "/farm"], "each is found once"
        for entry in entries:
            (detector,) = entry.instruments[0].detectors
            assert detector.modules
        of_group = next(entry for entry in entries if entry.path == "/farm")
        assert of_group.data[0]["data"].shape == (81, 512, 1024)
    found: set[int] = set()
    for member in ("a", "b"):
        with h5py.File(out / f"shown_full_{member}_master.h5", "r") as file:
            for place, frame in enumerate(file["entry/data/frame_number"][()].tolist()):
                np.testing.assert_array_equal(whole[frame], file["entry/data/data"][place])
                found.add(frame)
    assert found == set(whole)


def test_inspect_finds_the_files_by_the_report_wherever_it_is_called(site: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rashpa.cli.entry", "inspect", str(site / "report")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=GUARD_S, check=False)
    assert done.returncode == 0, done.stderr
    for name in ("full_a", "full_b", "centre"):
        assert f"shown_{name}_master.h5" in done.stdout
