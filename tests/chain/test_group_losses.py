# SPDX-License-Identifier: Apache-2.0
"""Tests ten random groups with lost packets: every way of reading the whole run shows each frame once, as the best of its copies."""

import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  registers the filter of images
import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

import rashpa
from rashpa.cli.files.combine import combine_run
from rashpa.cli.main import app
from rashpa.data.stored.reader import open_run
from rashpa.data.stored.run_facts import COMPLETENESS
from rashpa.sim import pattern_frame
from rashpa.testing.warm_nodes import WarmNodes

pytestmark = pytest.mark.whole

WIDTH, HEIGHT, FRAMES, DIFFERENT = 64, 32, 160, 16
RUN = """\
[run]
name = "lossy"
frames = {frames}
output = "."
[detector]
width = 64
height = 32
rate_hz = {rate_hz}
module = [{{ x = 0, y = 0 }}, {{ x = 0, y = 40 }}]
[dataset]
kind = "pattern"
modules = 2
width = 64
height = 32
frames = 16
[faults]
seed = {seed}
drop = {drop}
reorder = {reorder}
{receivers}
[[group]]
name = "g"
receivers = {names}
[[buffer]]
name = "all"
group = "g"
slots = 40
stack = 4
deadline_ms = 150
partial = "keep"
sink = [{{ kind = "hdf5", images_per_file = {per_file} }}]
"""


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmNodes]:
    with WarmNodes(tmp_path_factory.getbasetemp()) as nodes:
        yield nodes


def written(folder: Path, number: int) -> Path:
    draw = random.Random(number)
    names = [f"r{one}" for one in range(draw.choice((2, 3)))]
    receivers = "".join(f'[[receiver]]\nname = "{name}"\nport = 0\n' for name in names)
    path = folder / "run.toml"
    path.write_text(
        RUN.format(
            frames=FRAMES, rate_hz=draw.choice((0.0, 400.0, 1000.0)), seed=draw.randrange(1 << 32),
            drop=draw.choice((0.01, 0.03, 0.08)), reorder=draw.choice((0.0, 0.01)), receivers=receivers,
            names=str(names).replace("'", '"'), per_file=draw.choice((1, 7, 1000)),
        )
    )  # fmt: skip
    return path


def copies_of(folder: Path) -> dict[int, list[int]]:
    """Return, for each frame, the number of pixels that each of its copies lacks, from the members' own files."""
    found: dict[int, list[int]] = defaultdict(list)
    for master in sorted(folder.glob("lossy_all_*_master.h5")):
        with open_run(master) as run:
            for index, frame in enumerate(run.frame_numbers.tolist()):
                row = run.row_of(index)
                lost = int(run.lost_mask(row).sum())
                assert (lost > 0) == (run.tables.completeness[row] == COMPLETENESS.index("partial"))
                found[frame].append(lost)
    return found


def lacking(image: np.ndarray, frame: int) -> int:
    """Return the number of pixels of an image that differ from the frame; these must be masked."""
    wrong = 0
    for module, top in enumerate((0, 40)):
        own = image[top : top + HEIGHT]
        different = own != pattern_frame("uint16", module, frame % DIFFERENT, HEIGHT, WIDTH)
        assert (own[different] == 65535).all()
        wrong += int(different.sum())
    return wrong


def entries_of(file: h5py.File) -> list[h5py.Group]:
    """Return the groups with class NXentry; `/entry` may link to the same images."""
    return [one for one in file.values() if one.attrs.get("NX_class") == "NXentry"]


def as_stranger(file: Path) -> dict[int, int]:
    """Return, for each frame that a program sees that only knows NeXus, the number of pixels that its image lacks."""
    found: dict[int, int] = {}
    with h5py.File(file) as opened:
        for entry in entries_of(opened):
            frames = entry["data/frame_number"][()].tolist()
            assert entry["data/data"].shape[0] == len(frames)
            assert int(entry["instrument/detector/detectorSpecific/nimages_written"][()]) == len(frames)
            for index, frame in enumerate(frames):
                assert frame not in found, "a frame is there twice"
                found[frame] = lacking(entry["data/data"][index], frame)
    return found


@pytest.mark.parametrize("number", range(10))
def test_each_frame_is_there_once_and_the_best_of_its_copies(tmp_path: Path, nodes: WarmNodes, number: int) -> None:
    outcome = nodes.run(written(tmp_path, number))
    copies = copies_of(tmp_path)
    best = {frame: min(lost) for frame, lost in copies.items()}
    leading = combine_run(outcome)  # as `rashpa run` does
    assert leading == tmp_path / "lossy_master.h5"
    assert as_stranger(leading) == best
    with rashpa.open(leading) as run:
        assert run.frame_numbers.tolist() == sorted(best)
        assert {int(frame): lacking(run.image(n), int(frame)) for n, frame in enumerate(run.frame_numbers)} == best
        partial = run.tables.completeness == COMPLETENESS.index("partial")
        assert set(run.tables.frame_number[partial & (run.tables.stored_index >= 0)].tolist()) == {
            frame for frame, lost in best.items() if lost
        }
    members = [str(one) for one in sorted(tmp_path.glob("lossy_all_*_master.h5"), reverse=True)]
    combined = tmp_path / "again_master.h5"
    done = CliRunner().invoke(app, ["combine", *members, "--output", str(combined)])
    assert done.exit_code in (0, 3), done.output
    assert as_stranger(combined) == best
    with h5py.File(leading) as opened:
        others = [one["rashpa/copies/frame_number"][()].tolist() for one in entries_of(opened)]
        twice = [frame for frame, lost in copies.items() for _ in lost[1:]]
        assert sorted(frame for some in others for frame in some) == sorted(twice), "they are counted, and can be found"
