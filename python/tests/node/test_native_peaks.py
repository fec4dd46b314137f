# SPDX-License-Identifier: Apache-2.0
"""Peak finders, sparse images and rules of vetoes in whole runs of native engines, and their results in files."""

import bz2
from pathlib import Path

import h5py
import numpy as np
import pytest
from typer.testing import CliRunner

from rashpa.cli.main import app
from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.pipeline import plan_pipeline
from rashpa.data.making.cxi import peak_table, write_cxi
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored.reader import open_run
from rashpa.node.state.node import Node

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.node.engine.native_engine import NativeFactory
from rashpa.testing.in_process import run_in_process
from rashpa.testing.run_file import run_file

pytestmark = pytest.mark.whole

THAUMATIN = Path(__file__).resolve().parents[3] / "../shared/data/mx"
FRAMES, HEIGHT, WIDTH = 12, 96, 128


def run_text(
    frames: int, output: Path, width: int, height: int, pixel: str, beam_x: float, beam_y: float, file: Path, slots: int
) -> str:
    return run_file(
        run={"name": "peaks", "frames": frames, "output": output},
        detector={
            "width": width,
            "height": height,
            "pixel": pixel,
            "beam_center_x": beam_x,
            "beam_center_y": beam_y,
            "energy_kev": 12.8,
            "distance_m": 0.351,
            "pixel_size_m": 0.000172,
        },
        dataset={"kind": "files", "files": [[file]], "pixel": pixel},
        receiver={"memory": "pageable"},
        buffer={"slots": slots, "stack": 4, "deadline_ms": 20000, "sink": [{"kind": "hdf5"}]},
    )


FIND = """\
[[buffer.kernel]]
name = "{finder}"
{settings}
[[buffer.kernel]]
name = "total_counts"
[[buffer.kernel]]
name = "veto"
keep = "{keep}"
reason = "no_hit"
"""
SPARSIFY = '[[buffer.kernel]]\nname = "sparsify"\nbins = 60\ncapacity = 0.3\n'
PEAKS = 5


def pixels() -> np.ndarray:
    """Return images [frame][row][column]: a background that decreases with the radius; in every second frame, spots of 2 × 2 pixels with their corner
    at (20 i, 10 i)."""
    random = np.random.default_rng(3)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    images = random.poisson(2 + 8 * np.exp(-np.hypot(x - 60, y - 50) / 30), (FRAMES, HEIGHT, WIDTH)).astype(np.uint16)
    for i in range(1, PEAKS + 1):
        images[::2, 10 * i : 10 * i + 2, 20 * i : 20 * i + 2] = 200
    images[:, :, 3] = 65535
    return images


def run_of(tmp_path: Path, images: np.ndarray, kernels: str, beam: tuple[float, float] = (60.5, 50.5)) -> Outcome:
    np.save(tmp_path / "frames.npy", images)
    frames, height, width = images.shape
    path = tmp_path / "run.toml"
    head = run_text(
        frames=frames, height=height, width=width, output=tmp_path / "out", pixel=str(images.dtype), file=tmp_path / "frames.npy",
        beam_x=beam[0], beam_y=beam[1], slots=2 * 4 * -(-frames // 4),
    )  # fmt: skip
    path.write_text(head + kernels)
    nodes = {role: Node(role, role, NativeFactory(role)) for role in ("emulator", "receiver")}
    return run_in_process(load_plan(path), nodes)


@pytest.mark.parametrize(("finder", "settings"), [("peakfinder8", "threshold = 50"), ("peakfinder", "cutoff = 6")])
def test_hits_are_kept_with_their_peaks(tmp_path: Path, finder: str, settings: str) -> None:
    images = pixels()
    kernels = FIND.format(finder=finder, settings=settings, keep="n_peaks >= 5 or total_counts > 1e9")
    outcome = run_of(tmp_path, images, kernels)
    assert outcome.good, outcome.problem
    (status,) = outcome.buffers
    assert (status.books.accepted, status.books.vetoed) == (6, 6)
    assert {count.name: count.value for count in status.counts if count.group == "veto"}["no_hit"] == 6
    assert status.unit.endswith(plan_pipeline(outcome.plan.buffers[0].section.kernel, "uint16").words)
    master = tmp_path / "out" / "peaks_full_master.h5"
    with open_run(master) as run:
        assert run.veto_reasons[-1] == "no_hit"
        assert [run.veto_reasons[reason] for reason in run.tables.veto_reason] == ["none", "no_hit"] * 6
        found = run.tables.scalars["n_peaks"]
        assert (found[::2] >= PEAKS).all()
        assert (found[1::2] < PEAKS).all()
        table = run.table(finder, 0)
        for i in range(1, PEAKS + 1):
            near = np.hypot(table["x"] - (20 * i + 0.5), table["y"] - (10 * i + 0.5))
            assert near.min() < (0.05 if finder == "peakfinder8" else 0.3)
        assert run.tables.scalars["peak_intensity"][0] == pytest.approx(table["intensity"].sum())
        assert run.facts.kernels[-1] == ("veto", {"keep": "n_peaks >= 5 or total_counts > 1e9", "reason": "no_hit"})
        tables = [run.table(finder, i) for i in range(len(run))]

    out = CliRunner().invoke(app, ["peaks", str(master), "--geometry", str(tmp_path / "peaks.geom")])
    assert out.exit_code == 0, out.output
    assert f"peaks of {finder} in 6 images" in out.output
    with h5py.File(tmp_path / "out" / "peaks_full_peaks.cxi") as file:
        result = file["/entry_1/result_1"]
        assert result["nPeaks"][()].tolist() == [len(one["x"]) for one in tables]
        for row, one in enumerate(tables):
            count = result["nPeaks"][row]
            np.testing.assert_allclose(result["peakXPosRaw"][row, :count], one["x"], rtol=1e-6)
            np.testing.assert_allclose(result["peakYPosRaw"][row, :count], one["y"], rtol=1e-6)
            np.testing.assert_allclose(result["peakTotalIntensity"][row, :count], one["intensity"], rtol=1e-6)
            assert (result["peakXPosRaw"][row, count:] == 0).all()
        np.testing.assert_array_equal(file["/entry_1/data_1/data"][2], images[4])
        assert file["/entry_1/data_1/mask"].shape == (HEIGHT, WIDTH)
        assert file["/entry_1/data_1/frame_number"][()].tolist() == [0, 2, 4, 6, 8, 10]
    geometry = (tmp_path / "peaks.geom").read_text()
    assert "peak_list = /entry_1/result_1" in geometry
    assert "peak_list_type = cxi" in geometry
    assert "p0/corner_x = 60.5" in geometry
    assert "p0/fs = -1.000000000x" in geometry, "as the master has it"
    assert "flag_morethan = 65534" in geometry

    with h5py.File(master) as file:
        result = file["/entry/result_1"]
        assert result.attrs["kernel"] == finder
        assert result["nPeaks"][()].tolist() == [len(one["x"]) for one in tables]
        for row, one in enumerate(tables):
            np.testing.assert_array_equal(result["peakYPosRaw"][row, : len(one["y"])], one["y"].astype(np.float32))
            assert (result["peakYPosRaw"][row, len(one["y"]) :] == 0).all()
    own = tmp_path / "own.geom"
    out = CliRunner().invoke(app, ["peaks", str(master), "--master", "--geometry", str(own)])
    assert out.exit_code == 0, out.output
    assert "peak_list = /entry/result_1" in own.read_text()
    assert "data = /entry/data/data" in own.read_text()
    out = CliRunner().invoke(app, ["peaks", str(master), "--master"])
    assert out.exit_code == 2
    assert "give --geometry" in out.output


def test_sparse_images_are_made_again(tmp_path: Path) -> None:
    images = pixels()
    outcome = run_of(tmp_path, images, SPARSIFY)
    assert outcome.good, outcome.problem
    with open_run(tmp_path / "out" / "peaks_full_master.h5") as run:
        assert len(run) == FRAMES
        for number in range(FRAMES):
            image, good = images[number], images[number] != 65535
            index, value = run.sparse(number)
            assert (np.diff(index.astype(int)) > 0).all()
            np.testing.assert_array_equal(value, image.ravel()[index])
            assert run.tables.scalars["listed_pixels"][number] == len(index)
            spots = image == 200
            assert np.isin(np.flatnonzero(spots), index).all()
            again = run.densify(number)
            assert again.dtype == np.uint16
            np.testing.assert_array_equal(again.ravel()[index], value)
            rest = good.copy()
            rest.ravel()[index] = False
            apart = again[rest].astype(float) - image[rest]
            assert abs(apart.mean()) < 0.3
            assert (apart**2).mean() < 2 * again[rest].mean(), "no further than counts scatter"
        scattered = run.densify(0, np.random.default_rng(1))
        assert scattered[rest].std() > again[rest].std()
        with pytest.raises(StoredRunError, match="no kernel of this run has made a table of peaks"):
            peak_table(run)
        with pytest.raises(StoredRunError):
            write_cxi(run, tmp_path / "none.cxi")


def test_an_image_with_more_peaks_than_room_is_errored_and_says_so(tmp_path: Path) -> None:
    kernels = '[[buffer.kernel]]\nname = "peakfinder8"\nthreshold = 50\nmax_peaks = 3\n'
    outcome = run_of(tmp_path, pixels(), kernels)
    (status,) = outcome.buffers
    assert (status.books.accepted, status.books.errored) == (6, 6)
    assert "set a larger max_peaks" in str(outcome)


@pytest.mark.skipif(not THAUMATIN.is_dir(), reason="needs the recorded frames of ../shared/data/mx")
@pytest.mark.parametrize(
    ("finder", "settings"), [("peakfinder8", "threshold = 10"), ("peakfinder", "cutoff = 5\nnoise = 1")]
)
def test_the_empty_frame_of_thaumatin_is_vetoed_and_hits_are_kept(tmp_path: Path, finder: str, settings: str) -> None:
    fabio = pytest.importorskip("fabio")
    frames = []
    for number in (3, 13, 15, 19):
        packed = THAUMATIN / f"thau_3_2_{number:04}.cbf.bz2"
        plain = tmp_path / "frame.cbf"
        plain.write_bytes(bz2.decompress(packed.read_bytes()))
        frames.append(fabio.open(plain).data.astype(np.int32))
    images = np.stack(frames)
    images[images > 1_000_000] = -1  # four pixels that always count
    kernels = FIND.format(finder=finder, settings=settings, keep="n_peaks >= 15")
    outcome = run_of(tmp_path, images, kernels, beam=(1261.61, 1306.96))
    assert outcome.good, outcome.problem
    with open_run(tmp_path / "out" / "peaks_full_master.h5") as run:
        assert run.frame_numbers.tolist() == [0, 1, 2]
        found = run.tables.scalars["n_peaks"].tolist()
        assert found[0] > found[1] > found[2] >= 15 > found[3]
