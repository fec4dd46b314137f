# SPDX-License-Identifier: Apache-2.0
"""`rashpa run --check` refuses the run files that `rashpa run` refuses, and accepts those that it carries out."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.data.datasets.datasets import dataset_from_spec, save_dataset
from rashpa.node.offline.trial import refusals
from rashpa.testing.warm_nodes import WarmNodes

pytestmark = pytest.mark.whole

RUN = """\
[run]
name = "NAME"
frames = 8
output = "FOLDER/out"
existing = "replace"
[detector]
width = 64
height = 32
DETECTOR
[dataset]
DATASET
[receiver]
port = 0
[[buffer]]
name = "full"
slots = 8
stack = 4
sink = [{ kind = "SINK" }]
KERNEL
"""
PATTERN = 'kind = "pattern"\nwidth = 64\nheight = 32'
RAW = 'kind = "files"\nfiles = [["FOLDER/good.npy"]]'
JUNGFRAU = 'kernel = [{ name = "jungfrau" }]'
MAPS = 'calibration = {{ pedestal = ["FOLDER/{}"], gain = ["FOLDER/{}"] }}'


def files(name: str, more: str = "") -> str:
    return f'kind = "files"\nfiles = [["FOLDER/{name}"]]\n{more}'


def stored(name: str, more: str = "") -> str:
    return f'kind = "stored"\npath = "FOLDER/{name}"\n{more}'


def python(function: str, parameters: str = "{}") -> str:
    return f'kernel = [{{ name = "python", function = "{function}", parameters = {parameters} }}]'


# dataset, what [detector] says beside its shape, kernels
GOOD: dict[str, tuple[str, str, str]] = {
    "pattern": (PATTERN, "", ""),
    "frames": (RAW, "", ""),
    "maps": (RAW, MAPS.format("maps.npy", "maps.npy"), JUNGFRAU),
    "folder": ('kind = "directory"\npath = "FOLDER/set"', "", ""),
    "function": (PATTERN, "", python("good_kernel:total")),
}
WRONG: dict[str, tuple[str, str, str]] = {
    "float64": (files("float64.npy"), "", ""),
    "other shape": (files("small.npy"), "", ""),
    "no npy": (files("garbage.npy"), "", ""),
    "no zst": (files("garbage.bin.zst", "width = 64\nheight = 32"), "", ""),
    "no image": (files("garbage.tif"), "", ""),
    "mixed": ('kind = "files"\nfiles = [["FOLDER/good.npy", "FOLDER/garbage.tif"]]', "", ""),
    "dark beyond": (files("good.npy", "dark_frames = [99]"), "", ""),
    "no run": (stored("garbage.npy"), "", ""),
    "stored of other shape": (stored("other.h5"), "", ""),
    "stored of no images": (stored("empty.h5"), "", ""),
    "times of others": (stored("nx.h5", "speed = 1.0"), "", ""),
    "changed folder": ('kind = "directory"\npath = "FOLDER/changed"', "", ""),
    "folder without frames": ('kind = "directory"\npath = "FOLDER/lacking"', "", ""),
    "maps of other shape": (RAW, MAPS.format("small.npy", "maps.npy"), JUNGFRAU),
    "no maps": (RAW, MAPS.format("garbage.npy", "maps.npy"), JUNGFRAU),
    "pedestal that is no number": (RAW, MAPS.format("nan.npy", "maps.npy"), JUNGFRAU),
    "text": (RAW, MAPS.format("text.npy", "maps.npy"), JUNGFRAU),
    "no calibration file": (RAW, 'calibration = { pedestal = ["FOLDER/nx.h5"] }', JUNGFRAU),
    "simulated maps of other shape": (RAW, "calibration = { simulated_seed = 1 }", JUNGFRAU),
    "no such function": (PATTERN, "", python("good_kernel:other")),
    "no Python": (PATTERN, "", python("no_python:total")),
    "raises": (PATTERN, "", python("raises:total")),
    "leaves": (PATTERN, "", python("leaves:total")),
    "dies": (PATTERN, "", python("dies:total")),
    "not declared": (PATTERN, "", python("plain:total")),
    "no such parameter": (PATTERN, "", python("good_kernel:total", "{ speed = 1 }")),
    "no plugin": (PATTERN, "", 'kernel = [{ name = "plugin", file = "garbage.so" }]'),
    "no poni": (PATTERN, "", 'kernel = [{ name = "azimuthal", poni = "FOLDER/garbage.poni" }]'),
    "mask of other shape": (PATTERN, "", 'kernel = [{ name = "peakfinder8", mask = "FOLDER/small.npy" }]'),
    "no mask": (PATTERN, "", 'kernel = [{ name = "peakfinder8", mask = "FOLDER/garbage.npy" }]'),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.getbasetemp()  # where nodes that stay up find kernels
    frames = np.arange(8 * 32 * 64, dtype=np.uint16).reshape(8, 32, 64)
    arrays: dict[str, Any] = {"good": frames, "float64": frames.astype(float), "small": frames[:, :16, :16]}
    arrays |= {"maps": np.ones((3, 32, 64), np.float32), "nan": np.full((3, 32, 64), np.nan, np.float32)}
    arrays["text"] = np.full((3, 32, 64), "x")
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)
    for name in ("garbage.npy", "garbage.bin.zst", "garbage.tif", "garbage.so", "garbage.poni"):
        (folder / name).write_bytes(bytes(range(64)) * 64)
    _write_hdf5(folder, frames)
    loaded = dataset_from_spec({"kind": "pattern", "width": 64, "height": 32, "frames": 2}, folder)
    for name in ("set", "changed", "lacking"):
        save_dataset(loaded, folder / name)
    np.save(folder / "changed/module0_raw.npy", frames[:2] + 1)
    (folder / "lacking/module0_raw.npy").unlink()
    head = "from rashpa.data.kernels.kernel import Column, kernel\n"
    declared = '@kernel(takes=["uint16"], columns=[Column("total", "uint64")])\ndef total(pixels):\n    return {"total": int(pixels.sum())}\n'
    kernels = {"good_kernel": declared, "no_python": "def (", "raises": "1 / 0\n" + declared}
    kernels |= {"leaves": "raise SystemExit(3)\n" + declared, "dies": "import os\nos._exit(3)\n" + declared}
    kernels["plain"] = declared.partition("\n")[2]
    for name, text in kernels.items():
        (folder / f"{name}.py").write_text(head + text)
    with chdir(folder):
        yield folder


def _write_hdf5(folder: Path, frames: np.ndarray[Any, Any]) -> None:
    import h5py

    for name, images in (("nx", frames), ("other", frames[:, :16]), ("empty", frames[:0])):
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file["entry/data/data"] = images


def written(folder: Path, name: str, dataset: str, detector: str, kernel: str, sink: str = "null") -> Path:
    text = RUN.replace("DATASET", dataset).replace("DETECTOR", detector).replace("KERNEL", kernel)
    path = folder / f"{name.replace(' ', '_')}.toml"
    path.write_text(text.replace("NAME", path.stem).replace("FOLDER", str(folder)).replace("SINK", sink))
    return path


def rashpa(path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rashpa.cli.entry", *words, path.name]
    return subprocess.run(command, cwd=path.parent, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("name", GOOD)
def test_what_is_carried_out_is_called_good(folder: Path, warm_nodes: WarmNodes, name: str) -> None:
    path = written(folder, name, *GOOD[name], sink="hdf5")
    before = sorted(one for one in folder.rglob("*") if "__pycache__" not in one.parts)
    assert not list(refusals(load_plan(path)))
    assert sorted(one for one in folder.rglob("*") if "__pycache__" not in one.parts) == before
    assert not warm_nodes.run(path).problem


@pytest.mark.parametrize("name", [name for name in WRONG if name != "dies"])
def test_what_is_refused_is_called_wrong_in_the_same_words(folder: Path, warm_nodes: WarmNodes, name: str) -> None:
    path = written(folder, name, *WRONG[name])
    try:
        plan = load_plan(path)
    except RunFileError:
        return  # which is what both say
    outcome = warm_nodes.run(path)
    assert outcome.refused
    assert list(refusals(plan)) == [outcome.problem]


@pytest.mark.parametrize("name", ["maps of other shape", "dies"])
def test_a_check_says_no(folder: Path, name: str) -> None:
    path = written(folder, name, *WRONG[name])
    checked, done = rashpa(path, "run", "--check"), rashpa(path, "run", "-q")
    assert checked.returncode == 2, checked.stdout + checked.stderr
    assert done.returncode in (1, 2), done.stdout + done.stderr
    if name != "dies":  # with the node
        assert checked.stderr.splitlines()[-1] == done.stderr.splitlines()[0]


def test_code_that_prints_without_end_and_leaves_a_child_is_checked_all_the_same(folder: Path) -> None:
    noise = "import os, subprocess, sys\nsubprocess.Popen(['sleep', '300'])\nfor _ in range(20000):\n    print('x' * 1000)\n"
    (folder / "noisy.py").write_text(noise + (folder / "good_kernel.py").read_text())
    path = written(folder, "noisy", PATTERN, "", python("noisy:total"))
    began = time.monotonic()
    checked = rashpa(path, "run", "--check")
    assert checked.returncode == 0, checked.stderr[:2000]
    assert time.monotonic() - began < 60
    assert "xxx" not in checked.stdout + checked.stderr
    (folder / "noisy.py").write_text(noise + "os._exit(5)\n")
    checked = rashpa(path, "run", "--check")
    assert checked.returncode == 2
    assert "ended (exit code 5: xxx" in checked.stderr


def test_a_plan_says_so_too_and_shows_what_it_is(folder: Path) -> None:
    planned = rashpa(written(folder, "planned", *WRONG["maps of other shape"]), "plan")
    assert planned.returncode == 2
    assert "small.npy" in planned.stderr
    assert "buffer full: 8 images" in planned.stdout
    assert rashpa(written(folder, "planned", *GOOD["maps"]), "plan").returncode == 0
