# SPDX-License-Identifier: Apache-2.0
"""Stored images through a pipeline: the results of the corresponding run, and clear errors before anything is written."""

import concurrent.futures
import contextlib
import sys
from pathlib import Path
from types import SimpleNamespace

import h5py
import hdf5plugin
import numpy as np
import pytest
import zstandard
from typer.testing import CliRunner

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.cli.main import app
from rashpa.control.plan.run_plan import load_plan
from rashpa.data.stored.reader import open_run
from rashpa.node.engine.native_engine import NativeFactory
from rashpa.node.offline.process import Job, Recording, process_recording, recordings_of
from rashpa.node.state.node import Node
from rashpa.testing.in_process import run_in_process

pytestmark = pytest.mark.whole

RUN = """\
[run]
name = "{name}"
frames = 24
output = "{output}"
[detector]
width = 1024
height = 512
pixel = "uint16"
energy_kev = 12.4
[dataset]
kind = "jungfrau"
modules = 1
frames = 12
dark_every = 5
seed = 3
[receiver]
port = 0
memory = "pageable"
[[buffer]]
name = "b"
slots = 24
stack = 4
deadline_ms = 5000
keep_darks = {darks}
"""
KERNELS = """\
[[buffer.kernel]]
name = "jungfrau"
[[buffer.kernel]]
name = "bragg_count"
threshold = 10
min_pixels = 20
"""
LISTS = """\
[[buffer.kernel]]
name = "csr"
threshold = 2
capacity = 1.0
"""
SINK = """\
[[buffer.sink]]
kind = "hdf5"
"""


def carried_through(file: Path) -> None:
    plan = load_plan(file)
    nodes = {role: Node(role, role, NativeFactory(role)) for role in ("emulator", "receiver")}
    outcome = run_in_process(plan, nodes)
    assert outcome.good, outcome.problem


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run of raw images, and run files with pipelines."""
    folder = tmp_path_factory.mktemp("process")
    texts = {
        "raw": RUN.format(name="raw", output=folder / "online", darks="true") + SINK,
        "dense": RUN.format(name="dense", output=folder / "online", darks="false") + KERNELS + SINK,
        "lists": RUN.format(name="lists", output=folder / "online", darks="false") + KERNELS + LISTS + SINK,
    }
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    carried_through(folder / "raw.toml")
    return folder


def invoke(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["process", *map(str, arguments)])
    return done.exit_code, done.output


@pytest.mark.parametrize("name", ["dense", "lists"])
def test_what_is_processed_later_is_what_a_run_would_have_stored(folder: Path, name: str, tmp_path: Path) -> None:
    carried_through(folder / f"{name}.toml")
    code, said = invoke(folder / "online/raw_b_master.h5", "--pipeline", folder / f"{name}.toml", "-o", tmp_path)
    assert code == 0, said
    with open_run(folder / f"online/{name}_b_master.h5") as online, open_run(tmp_path / "raw_b_b_master.h5") as later:
        assert later.books == online.books
        assert later.veto_reasons == online.veto_reasons
        for table in (
            "frame_number",
            "timestamp_ns",
            "flags",
            "completeness",
            "decision",
            "veto_reason",
            "stored_index",
        ):
            if table != "timestamp_ns":  # another run, another time
                np.testing.assert_array_equal(getattr(later.tables, table), getattr(online.tables, table), table)
        assert later.tables.scalars.keys() == online.tables.scalars.keys()
        for column, values in online.tables.scalars.items():
            np.testing.assert_array_equal(later.tables.scalars[column], values, column)
        assert len(later) == len(online) > 0
        for image in range(len(online)):
            np.testing.assert_array_equal(later.image(image), online.image(image))
        np.testing.assert_array_equal(later.pixel_mask, online.pixel_mask)
        assert later.facts.kernels == online.facts.kernels
        assert later.facts.calibration == online.facts.calibration
        assert later.summary().texts["proof"] == "read from stored files"


def test_frame_numbers_and_times_are_those_of_the_stored_run(folder: Path, tmp_path: Path) -> None:
    assert invoke(folder / "online/raw_b_master.h5", "-p", folder / "dense.toml", "-o", tmp_path)[0] == 0
    with open_run(folder / "online/raw_b_master.h5") as raw, open_run(tmp_path / "raw_b_b_master.h5") as later:
        np.testing.assert_array_equal(later.tables.timestamp_ns, raw.tables.timestamp_ns)


def raw_images(folder: Path) -> np.ndarray:
    with open_run(folder / "online/raw_b_master.h5") as run:
        return np.stack([run.image(n) for n in range(len(run))])


def test_recordings_of_every_kind_give_the_same(folder: Path, tmp_path: Path) -> None:
    images = raw_images(folder)
    np.save(tmp_path / "frames.npy", images)
    images.tofile(tmp_path / "frames_raw.bin")
    with h5py.File(tmp_path / "foreign.h5", "w") as file:
        file.create_dataset(
            "entry/data/data_000001", data=images[:10], chunks=(1, 512, 1024), **hdf5plugin.Bitshuffle()
        )
        file.create_dataset("entry/data/data_000002", data=images[10:], chunks=(1, 512, 1024), **hdf5plugin.LZ4())
    files = [tmp_path / name for name in ("frames.npy", "frames_raw.bin", "foreign.h5")]
    code, said = invoke(*files, "-p", folder / "dense.toml", "-o", tmp_path / "out", "--jobs", 2)
    assert code == 0, said
    counts = []
    for file in files:
        with open_run(tmp_path / "out" / f"{file.stem}_b_master.h5") as run:
            assert run.books["expected"] == 24
            counts.append(run.tables.scalars["bright_pixels"])
    np.testing.assert_array_equal(counts[0], counts[1])
    np.testing.assert_array_equal(counts[0], counts[2])


def test_workers_of_a_cluster_get_recordings_with_whole_paths(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Job] = []

    class Pool(concurrent.futures.ThreadPoolExecutor):
        def submit(self, function, job):  # type: ignore[no-untyped-def, override]
            asked.append(job)
            return super().submit(function, job)

    class Client(contextlib.nullcontext[None]):
        def __init__(self, address: str, timeout: float) -> None:
            if address != "tcp://here:8786":
                raise OSError("nobody there")
            super().__init__(None)

        def get_executor(self, pure: bool) -> Pool:
            assert pure is False  # the same recording may be processed again
            return Pool(1)

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=Client))
    monkeypatch.chdir(tmp_path)
    np.save("f.npy", raw_images(folder)[:4])
    arguments = ("f.npy", "-p", folder / "dense.toml", "-o", "out", "--cluster")
    code, said = invoke(*arguments, "tcp://here:8786")
    assert code == 0, said
    assert [one.recording.files for one in asked] == [(tmp_path / "f.npy",)]
    assert (tmp_path / "out/f_b_master.h5").is_file()
    code, said = invoke(*arguments, "tcp://there:8786", "--replace")
    assert code == 2
    assert "no scheduler answers" in said


def test_image_files_are_one_recording(tmp_path: Path) -> None:
    fabio = pytest.importorskip("fabio")
    random = np.random.default_rng(5)
    images = random.integers(0, 9, (7, 64, 48)).astype(np.int32)
    for number, image in enumerate(images):
        fabio.cbfimage.CbfImage(data=image).write(str(tmp_path / f"scan_{number:03}.cbf"))
    text = RUN.replace("width = 1024", "width = 48").replace("height = 512", "height = 64").replace("uint16", "int32")
    text = text.replace(
        'kind = "jungfrau"\nmodules = 1\nframes = 12\ndark_every = 5\nseed = 3',
        'kind = "pattern"\nwidth = 48\nheight = 64\npixel = "int32"',
    )
    count = '[[buffer.kernel]]\nname = "bragg_count"\nthreshold = 5\nmin_pixels = 0\n'
    (tmp_path / "count.toml").write_text(text.format(name="c", output="out", darks="false") + count + SINK)
    code, said = invoke(*sorted(tmp_path.glob("*.cbf")), "-p", tmp_path / "count.toml", "-o", tmp_path / "out")
    assert code == 0, said
    with open_run(tmp_path / "out/scan_000_b_master.h5") as run:
        np.testing.assert_array_equal(run.tables.scalars["bright_pixels"], (images >= 5).sum(axis=(1, 2)))
        np.testing.assert_array_equal(run.image(3), images[3])


def test_raw_files_are_joined_when_it_is_asked_for(folder: Path, tmp_path: Path) -> None:
    images = raw_images(folder)[:5]
    images[:2].tofile(tmp_path / "a.bin")
    images[2:].tofile(tmp_path / "b.bin")
    arguments = (tmp_path / "a.bin", tmp_path / "b.bin", "-p", folder / "dense.toml", "--join")
    code, said = invoke(*arguments, "-o", tmp_path / "out")
    assert code == 0, said
    with open_run(tmp_path / "out/a_b_master.h5") as run:
        assert run.books["expected"] == 5
    assert "make one recording" in refused(
        tmp_path, tmp_path / "a.bin", folder / "online/raw_b_master.h5", *arguments[2:]
    )


RECORDED = Path(__file__).resolve().parents[4] / "shared" / "data" / "jungfrau_m049"


@pytest.mark.skipif(not RECORDED.is_dir(), reason="recorded frames are not part of this project")
def test_recorded_frames_are_converted_as_their_recorders_did(tmp_path: Path) -> None:
    example = Path(__file__).resolve().parents[3] / "examples" / "03_recorded_jungfrau.toml"
    raw = [RECORDED / f"mod5_raw{n}.bin.zst" for n in range(10)]
    code, said = invoke(*raw, "--join", "-p", example, "--buffer", "kev", "-o", tmp_path)
    assert code == 0, said
    packed = (RECORDED / "mod5_conv0.bin.zst").read_bytes()
    converted = zstandard.ZstdDecompressor().stream_reader(packed).read()
    photons = np.frombuffer(converted, "<f4").reshape(512, 1024)
    with open_run(tmp_path / "mod5_raw0_kev_master.h5") as run:
        assert run.books["written"] == 10
        ours = run.image(0) / np.float32(12.4)
    exact = np.load(RECORDED / "gain_reconstructed.npz")["exact"]
    valid = np.isfinite(ours) & (exact if exact.shape == ours.shape else np.ones(ours.shape, bool))
    assert valid.mean() > 0.9
    np.testing.assert_allclose(ours[valid], photons[valid], rtol=1e-4, atol=1e-3)


def test_names_of_recordings_are_different() -> None:
    files = [Path("a/x.npy"), Path("b/x.npy"), Path("c/1.cbf"), Path("c/2.cbf.bz2")]
    assert [(one.name, len(one.files)) for one in recordings_of(files)] == [("x", 1), ("x_2", 1), ("1", 2)]


def refused(tmp_path: Path, *arguments: object) -> str:
    """Return the error for bad input; nothing may have been written."""
    code, said = invoke(*arguments, "-o", tmp_path / "nothing")
    assert code == 2, said
    assert not (tmp_path / "nothing").exists()
    return " ".join(said.split())


def test_bad_files_are_refused_before_anything_is_written(folder: Path, tmp_path: Path) -> None:
    pipeline = folder / "dense.toml"
    images = raw_images(folder)[:4]
    np.save(tmp_path / "good.npy", images)
    whole = (tmp_path / "good.npy").read_bytes()
    (tmp_path / "short.npy").write_bytes(whole[:-1000])
    images.tofile(tmp_path / "odd.bin")
    with (tmp_path / "odd.bin").open("ab") as file:
        file.write(b"123")
    np.save(tmp_path / "small.npy", images[:, :100])
    np.save(tmp_path / "wide.npy", images.astype(np.int32))
    (tmp_path / "text.h5").write_text("this is no HDF5 file")
    with h5py.File(tmp_path / "empty.h5", "w") as file:
        file.create_group("entry/data")
    with h5py.File(tmp_path / "link.h5", "w") as file:
        file["entry/data/data_000001"] = h5py.ExternalLink("gone.h5", "/entry/data/data")
    run = (folder / "online/raw_b_master.h5").read_bytes()
    (tmp_path / "cut_master.h5").write_bytes(run[: len(run) // 2])
    cases = {
        "absent.h5": "no such file",
        "short.npy": "short.npy",
        "odd.bin": "odd.bin",
        "small.npy": "1024 × 100",
        "wide.npy": "int32",
        "text.h5": "give a complete HDF5 file",
        "empty.h5": "no images",
        "link.h5": "gone.h5",
        "cut_master.h5": "cut_master.h5",
        "good.txt": "good.txt",
    }
    (tmp_path / "good.txt").write_text("1 2 3")
    for name, words in cases.items():
        said = refused(tmp_path, tmp_path / "good.npy", tmp_path / name, "-p", pipeline)
        assert words in said, (name, said)
        assert (
            name == "absent.h5" or "good.npy" not in said
        )  # a name that is absent is answered with those that are there


def test_a_pipe_is_no_file_to_wait_for(folder: Path, tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe.h5")
    assert "not a regular file" in refused(tmp_path, tmp_path / "pipe.h5", "-p", folder / "dense.toml")


def test_wrong_pipelines_are_refused_with_their_key(folder: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "good.npy", raw_images(folder)[:4])
    text = (folder / "dense.toml").read_text()
    (tmp_path / "wrong.toml").write_text(text.replace("min_pixels = 20", "min_pixels = -1"))
    assert "min_pixels" in refused(tmp_path, tmp_path / "good.npy", "-p", tmp_path / "wrong.toml")
    assert "no buffer c" in refused(tmp_path, tmp_path / "good.npy", "-p", folder / "dense.toml", "--buffer", "c")
    assert "no such file" in refused(tmp_path, tmp_path / "good.npy", "-p", tmp_path / "absent.toml")


def test_results_are_not_written_over_unless_told_so(folder: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "f.npy", raw_images(folder)[:4])
    arguments = (tmp_path / "f.npy", "-p", folder / "dense.toml", "-o", tmp_path / "out")
    assert invoke(*arguments)[0] == 0
    code, said = invoke(*arguments)
    assert code == 2
    assert "--replace" in said
    assert invoke(*arguments, "--replace")[0] == 0


def test_progress_tells_of_every_image(folder: Path, tmp_path: Path) -> None:
    file = folder / "online/raw_b_master.h5"
    told: list[int] = []
    done = process_recording(Job(folder / "dense.toml", "", tmp_path, Recording("x", (file,))), told.append)
    assert sum(told) == done.status.books.expected == 24
    assert done.good


def test_a_pipeline_needs_no_source_of_frames(tmp_path: Path) -> None:
    np.save(tmp_path / "frames.npy", np.full((3, 8, 16), 5, np.uint16))
    pipeline = '[run]\nname = "p"\n[detector]\nwidth = 16\nheight = 8\n[[buffer]]\nname = "b"\n' + SINK
    (tmp_path / "p.toml").write_text(pipeline)
    words = [str(tmp_path / "frames.npy"), "--pipeline", str(tmp_path / "p.toml"), "--output", str(tmp_path / "out")]
    done = CliRunner().invoke(app, ["process", *words])
    assert done.exit_code == 0, done.output
    with open_run(tmp_path / "out/frames_b_master.h5") as run:
        assert run.image(2).tolist() == np.full((8, 16), 5).tolist()
        assert "synthetic" not in run.summary().texts.get("labels", "")
    run_itself = CliRunner().invoke(app, ["run", str(tmp_path / "p.toml")])
    assert run_itself.exit_code == 2
    assert "dataset: this key is needed and not there" in run_itself.stderr
