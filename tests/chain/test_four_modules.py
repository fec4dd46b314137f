# SPDX-License-Identifier: Apache-2.0
"""Tests four modules, one of them rotated, from two emulators to three receivers over two links: every pixel, the books, and that slow receivers
delay no other."""

import re
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the bitshuffle filter)
import numpy as np
import pytest
from numpy.typing import NDArray

from rashpa.cli.report.report import report_of
from rashpa.control.plan.run_plan import load_plan
from rashpa.data.datasets.calibration import to_photons
from rashpa.data.datasets.datasets import dataset_from_spec
from rashpa.data.geometry.orientation import Orientation
from rashpa.testing.warm_nodes import WarmNodes

EXAMPLE = Path(__file__).parents[2] / "examples" / "09_four_modules.toml"
FRAMES, DIFFERENT = 60, 10
PLACES = ((0, 0), (0, 548), (0, 1096), (1032, 292))
WAYS = (Orientation(), Orientation(), Orientation(), Orientation(90))
REGIONS = {"full": (0, 0, 1544, 1608), "right": (1032, 292, 512, 512), "window": (400, 540, 256, 200)}
SLICES = {"full": (1, 0), "right": (10, 3), "window": (2, 0)}


def run(warm_nodes: WarmNodes, file: Path) -> dict[str, Any]:
    """Return the report of a run that must be good."""
    report = report_of(warm_nodes.good_run(file), file)
    assert report["books"]["balanced"]
    assert report["injected"]["unexplained"] == 0
    return report


def edited(folder: Path, *changes: tuple[str, str], frames: int = FRAMES) -> Path:
    text = EXAMPLE.read_text(encoding="utf-8")
    for pattern, value in (
        ("frames = 400", f"frames = {frames}"),
        ("frames = 20\n", f"frames = {DIFFERENT}\n"),
        ('output = "out/modules"', 'output = "."'),
        ("deadline_ms = 1000", "deadline_ms = 20000"),  # one of two emulators may be without a processor for seconds
        *changes,
    ):
        text, count = re.subn(pattern, value, text, flags=re.DOTALL)
        assert count, pattern
    file = folder / "modules.toml"
    file.write_text(text, encoding="utf-8")
    return file


def assembled(frames: list[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the image of all modules, and True where modules are."""
    image, there = np.zeros((1608, 1544), frames[0].dtype), np.zeros((1608, 1544), np.bool_)
    for frame, way, (left, top) in zip(frames, WAYS, PLACES, strict=True):
        turned = way.turned(frame)
        place = np.s_[top : top + turned.shape[0], left : left + turned.shape[1]]
        image[place], there[place] = turned, True
    return image, there


def part(image: NDArray[Any], buffer: str) -> NDArray[Any]:
    """Return the buffer's part of an image."""
    x, y, width, height = REGIONS[buffer]
    return image[y : y + height, x : x + width]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[NDArray[Any], NDArray[np.bool_]]]:
    """Return each of the dataset's frames in the form of `assembled`."""
    data = dataset_from_spec(
        {
            "kind": "jungfrau",
            "modules": 4,
            "frames": DIFFERENT,
            "seed": 1,
            "places": list(PLACES),
            "orientations": [(way.turn, way.flip) for way in WAYS],
        },
        tmp_path_factory.mktemp("dataset"),
    ).dataset
    return [assembled([data.frame(module, frame) for module in range(4)]) for frame in range(DIFFERENT)]


def stored(folder: Path, buffer: str) -> tuple[list[int], h5py.File]:
    file = h5py.File(folder / f"modules_{buffer}_master.h5")
    return file["/entry/data/frame_number"][:].tolist(), file


@pytest.mark.parametrize("link", ["", 'roce.transport = "rc"', 'kind = "pcie"'])
def test_every_pixel_of_the_dataset_arrives_at_three_receivers(
    warm_nodes: WarmNodes, tmp_path: Path, link: str, played: list[tuple[NDArray[Any], NDArray[np.bool_]]]
) -> None:
    file = edited(
        tmp_path,
        (r"\[\[buffer\.kernel\]\]\n(?:[a-z]+ = [^\n]*\n)+", ""),  # words as they were read
        (r"slots = 20\nstack = 5\n", "slots = 20\nstack = 5\nkeep_darks = true\n"),
        (r"slots = 10\nstack = 1\n", "slots = 10\nstack = 1\nkeep_darks = true\n"),
        ("rate_hz = 50.0", "rate_hz = 0.0"),
        (r"\[dataset\]", f"[link]\n{link}\n[dataset]"),
    )
    assert [len(load_plan(file).dtps_of(name)) for name in ("storage", "monitor", "feedback")] == [4, 1, 1]
    report = run(warm_nodes, file)
    counts = {one["name"]: one["books"]["complete"] for one in report["buffers"]}
    assert counts == {"full": FRAMES, "right": FRAMES // 10, "window": FRAMES // 2}
    for buffer, (every, phase) in SLICES.items():
        frames, master = stored(tmp_path, buffer)
        with master:
            assert frames == list(range(phase, FRAMES, every))
            mask = master["/entry/instrument/detector/pixel_mask"][()]
            for index, frame in enumerate(frames):
                image, there = (part(one, buffer) for one in played[frame % DIFFERENT])
                pixels = np.asarray(master["/entry/data/data"][index])
                np.testing.assert_array_equal(pixels[there], image[there], err_msg=f"{buffer} {frame}")
            np.testing.assert_array_equal(mask == 0, there)
    sent = {one["name"]: (one["modules"], one["dtps"]) for one in report["emulators"]}
    assert sent == {"inner": ([0, 3], [0, 3, 4]), "outer": ([1, 2], [1, 2, 5])}


def test_the_example_gives_photons_of_every_module_as_it_lies(warm_nodes: WarmNodes, tmp_path: Path) -> None:
    report = run(warm_nodes, edited(tmp_path))
    (full,) = (one for one in report["buffers"] if one["name"] == "full")
    assert full["books"]["vetoed"] == FRAMES // 10  # darks
    packets = {one["name"]: one["link"] for one in report["receivers"]}
    assert packets["storage"]["packets"] > 0
    assert packets["feedback"]["events"] > 0
    spec = load_plan(tmp_path / "modules.toml").file.dataset.model_dump()
    places = {"places": list(PLACES), "orientations": [(way.turn, way.flip) for way in WAYS]}
    data = dataset_from_spec({**spec, **places}, tmp_path)
    frames, master = stored(tmp_path, "right")
    with master:
        for index, frame in enumerate(frames):
            raw = [data.dataset.frame(module, frame % DIFFERENT) for module in range(4)]
            photons = [to_photons(one, maps, 12.4) for one, maps in zip(raw, data.calibration, strict=True)]
            exact = part(assembled(photons)[0], "right")
            clear = np.isfinite(exact) & (np.abs(exact - np.floor(exact) - 0.5) > 1e-3)  # away from halves
            np.testing.assert_array_equal(np.asarray(master["/entry/data/data"][index])[clear], np.rint(exact[clear]))


SLOW = """\
import time
from rashpa.data.kernels.kernel import Column, kernel


@kernel(takes=["int16", "int32"], columns=[Column("lines", "uint32")])
def wait(pixels):
    time.sleep(0.1)  # wait: this receiver is slow
    return {"lines": pixels.shape[0]}
"""


def test_a_slow_receiver_slows_no_other(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    frames = 80  # the slow one takes 8 s, so that a start that takes seconds is not taken for it
    text = edited(
        tmp_path,
        (r"\[\[buffer\.kernel\]\]\n(?:[a-z]+ = [^\n]*\n)+", ""),
        ("every = 2\n", ""),
        (
            'keep_darks = true\n\n\\[\\[buffer.sink\\]\\]\nkind = "hdf5"\n',
            'keep_darks = true\n[[buffer.kernel]]\nname = "jungfrau"\noutput = "photons"\n[[buffer.kernel]]\nname = "python"\nfunction = "slow:wait"\n[[buffer.sink]]\nkind = "null"\n',
        ),
        (r'kind = "hdf5"', 'kind = "null"'),
        frames=frames,
    )
    with WarmNodes(tmp_path) as nodes:  # which load its code
        report = run(nodes, text)
    elapsed = {one["name"]: one["elapsed_s"] for one in report["receivers"]}
    at_rate = frames / 50.0
    assert elapsed["feedback"] > frames * 0.08, "the slow one takes its time"
    for name in ("storage", "monitor"):
        assert at_rate / 2 < elapsed[name] < 0.6 * elapsed["feedback"], elapsed
    assert {one["name"]: one["books"]["complete"] for one in report["buffers"]} == {
        "full": frames,
        "right": frames // 10,
        "window": frames,
    }
