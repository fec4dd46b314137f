# SPDX-License-Identifier: Apache-2.0
"""Tests every command that reads or makes data with every damage: its books balance, it ends with 0 only without losses, and a failed command leaves
no file with a final name."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import h5py
import hdf5plugin
import numpy as np
import pytest
import typer

_native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
cbor2 = pytest.importorskip("cbor2")

from tests.files.twelve_images import FRAMES, HEIGHT, IMAGES, PEAKS, WIDTH, pipeline  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from rashpa.cli.main import app  # noqa: E402
from rashpa.data.files.writer_lock import take_writer_lock  # noqa: E402
from rashpa.data.stored.reader import open_run  # noqa: E402
from rashpa.node.offline.process import Job, Recording, process_recording  # noqa: E402

A_FILE = 4
RUNS = {"raw": ("raw", PEAKS), "dense": ("hdf5", PEAKS), "dark": ("hdf5", "")}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of good runs and of a recorded stream."""
    folder = tmp_path_factory.mktemp("made")
    np.save(folder / "f.npy", FRAMES)
    for gain, word in ((1, 1 << 14), (2, 3 << 14)):
        np.save(folder / f"g{gain}.npy", FRAMES + np.uint16(word))
    for name, (sink, kernel) in RUNS.items():
        file = folder / f"{name}.toml"
        file.write_text(pipeline(sink, A_FILE, kernel, keep_darks=True), encoding="utf-8")
        done = process_recording(Job(file, "", folder, Recording(name, (folder / "f.npy",))))
        assert done.good, done
    series = {"series_id": 3, "series_unique_id": "U"}
    said: list[dict[str, Any]] = [{"type": "start", **series, "number_of_images": IMAGES, "channels": ["t"]}]
    for number, frame in enumerate(FRAMES):
        pixels = cbor2.CBORTag(40, [[HEIGHT, WIDTH], cbor2.CBORTag(69, frame.tobytes())])
        said.append({"type": "image", **series, "image_id": number, "data": {"t": pixels}})
    said.append({"type": "end", **series})
    (folder / "stream").mkdir()
    for number, message in enumerate(said):
        (folder / f"stream/{number:03}.cbor").write_bytes(cbor2.dumps(message))
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a copy of that folder, in which commands run."""
    shutil.copytree(made, tmp_path / "in")
    monkeypatch.chdir(tmp_path / "in")
    yield tmp_path / "in"


@dataclass(frozen=True)
class Called:
    """Holds the output of a command. `books`: None when it refused."""

    code: int
    books: dict[str, Any] | None
    files: list[str]
    stderr: str


def call(*words: str) -> Called:
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    said = json.loads(done.stdout)
    assert said["command"] in (words[0], " ".join(words[:2]))
    assert (said["books"] is None) == bool(said["problem"])
    return Called(done.exit_code, said["books"], said["files"], done.stderr)


@dataclass(frozen=True)
class Command:
    """Describes one command. `reads`: the run that is damaged for it; `makes`: the files that it makes."""

    words: tuple[str, ...]
    reads: str
    makes: tuple[str, ...] = ()


DARKS = ("--g0", "dark_b_master.h5", "--g1", "g1.npy", "--g2", "g2.npy")
COMMANDS = {
    "convert": Command(
        ("convert", "raw_b_raw_master.h5", "made"), "raw_b_raw", ("made_master.h5", "made_data_000001.h5")
    ),
    "repair raw": Command(("repair", "raw_b_raw_master.h5"), "raw_b_raw"),
    "inspect raw": Command(("inspect", "raw_b_raw_master.h5"), "raw_b_raw"),
    "repair": Command(("repair", "dense_b_master.h5"), "dense_b"),
    "inspect": Command(("inspect", "dense_b_master.h5"), "dense_b"),
    "combine": Command(("combine", "dense_b_master.h5", "-o", "made.h5"), "dense_b", ("made.h5",)),
    "peaks": Command(("peaks", "dense_b_master.h5", "--output", "made.cxi"), "dense_b", ("made.cxi",)),
    "calibrate": Command(("calibrate", "pedestal", "made.h5", *DARKS, "--least-frames", "2"), "dark_b", ("made.h5",)),
    "process": Command(("process", "dense_b_master.h5", "-p", "dense.toml", "-o", "out", "-q"), "dense_b"),
    "receive-stream": Command(("receive-stream", "stream", "made"), "stream", ("made_master.h5",)),
    "check": Command(("check", "dense_b_master.h5"), "dense_b"),
}


def hidden(folder: Path) -> set[str]:
    """Return the hidden files of a folder."""
    return {path.name for path in folder.iterdir() if path.name.startswith(".")}


def data_of(reads: str, number: int) -> Path:
    return Path(f"{reads}_data_{number:06}.{'raw' if reads.endswith('raw') else 'h5'}")


def cut(path: Path, part: float) -> None:
    os.truncate(path, int(path.stat().st_size * part))


def scramble(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(path.stat().st_size))


def never_written(reads: str) -> None:
    """Reserve places for images and write only the first one, as a killed receiver leaves them."""
    path = data_of(reads, 2)
    with h5py.File(path, "r+") as file:
        pixels = file["entry/data/data"][0]
        attributes = dict(file["entry/data/data"].attrs)
        del file["entry/data/data"]
        made = file.create_dataset(
            "entry/data/data",
            (A_FILE, HEIGHT, WIDTH),
            "u2",
            chunks=(1, HEIGHT, WIDTH),
            compression=hdf5plugin.Bitshuffle(),
        )
        made[0] = pixels
        made.attrs.update(attributes)


RECORDED = {
    "dataset make": Command(
        ("dataset", "make", "ds", *["--kind", "files", "--width", "0", "--height", "0", "--raw", "f.npy"]),
        "f",
        ("ds/dataset.json",),
    ),
    "dataset info": Command(("dataset", "info", "f.npy"), "f"),
    "process": Command(("process", "f.npy", "-p", "dense.toml", "-o", "out", "-q"), "f", ("out/f_b_master.h5",)),
    "calibrate": Command(
        ("calibrate", "pedestal", "made.h5", "--g0", "f.npy", *DARKS[2:], "--least-frames", "2"), "f", ("made.h5",)
    ),
}
"""Commands that read a recording of one file."""
DAMAGES: dict[str, Callable[[str], object]] = {
    "a data file is gone": lambda reads: data_of(reads, 2).unlink(),
    "a data file is cut": lambda reads: cut(data_of(reads, 2), 0.5),
    "a data file is empty": lambda reads: cut(data_of(reads, 2), 0.0),
    "a data file is random": lambda reads: scramble(data_of(reads, 2)),
    "images were never written": never_written,
    "the index is cut": lambda reads: cut(Path(f"{reads}_master.journal"), 0.5),
    "the master is cut": lambda reads: cut(Path(f"{reads}_master.h5"), 0.6),
    "the master is random": lambda reads: scramble(Path(f"{reads}_master.h5")),
}


@pytest.mark.parametrize("name", list(COMMANDS))
def test_of_good_data_every_command_makes_all_and_ends_with_0(folder: Path, name: str) -> None:
    command = COMMANDS[name]
    done = call(*command.words)
    assert done.code == 0, done
    assert done.books is not None
    assert done.books["whole"] and done.books["expected"] == done.books["made"] > 0
    assert all(Path(file).is_file() for file in command.makes)
    assert hidden(folder) == set()


# a damage that the files of a kind cannot have, or that a command does not meet
NONE = {
    *((name, damage) for name in ("convert", "repair raw", "inspect raw") for damage in ("images were never written",)),
    *((name, "the index is cut") for name in COMMANDS if "raw" not in name and name != "convert"),
    ("inspect raw", "the index is cut"),  # the master alone leads to the images
    *((name, "a data file is random") for name in ("inspect raw", "repair raw")),  # checksums are for who reads images
    ("convert", "the master is cut"),  # what it is made of was kept beside it
    ("convert", "the master is random"),
    ("process", "images were never written"),  # it is told of them by the reader of stored images
    *(("receive-stream", damage) for damage in DAMAGES),
}


@pytest.mark.parametrize(
    ("name", "damage"), [(name, damage) for name in COMMANDS for damage in DAMAGES if (name, damage) not in NONE]
)
def test_of_damaged_data_no_command_ends_with_0(folder: Path, name: str, damage: str) -> None:
    command = COMMANDS[name]
    DAMAGES[damage](command.reads)
    done = call(*command.words)
    assert done.code in (1, 2, 3), done
    assert "Traceback" not in done.stderr
    assert done.stderr.strip(), "nothing was said"
    if done.books is not None:
        assert done.books["closed"], done.books
        assert not done.books["whole"]
    if done.code == 2:
        assert not [file for file in command.makes if Path(file).exists()]
    for master in [*Path().glob("made*_master.h5"), *Path("out").glob("*_master.h5")]:
        open_run(master).close()
    assert hidden(folder) == set()


@pytest.mark.parametrize(
    ("damage", "errored"),
    [("the index is cut", 0), ("a data file is random", 4), ("a data file is gone", 4)],
)
def test_convert_says_how_many_images_are_lost(folder: Path, damage: str, errored: int) -> None:
    DAMAGES[damage]("raw_b_raw")
    done = call(*COMMANDS["convert"].words)
    assert done.code == 3
    assert done.books is not None
    assert (done.books["expected"], done.books["errored"]) == (IMAGES, errored)
    assert (done.books["missing"] > 0) == (damage == "the index is cut")
    with open_run("made_master.h5") as run:
        assert len(run) == done.books["made"]
        for index, frame in enumerate(run.frame_numbers.tolist()):
            np.testing.assert_array_equal(run.image(index), FRAMES[frame])


def test_all_images_that_are_lost_are_errored(folder: Path) -> None:
    for number in (1, 2, 3):
        scramble(data_of("raw_b_raw", number))
    done = call(*COMMANDS["convert"].words)
    assert done.books is not None
    assert (done.code, done.books["made"], done.books["errored"]) == (3, 0, IMAGES)


def test_a_complete_master_whose_index_is_cut_is_not_called_complete(folder: Path) -> None:
    cut(Path("raw_b_raw_master.journal"), 0.5)
    done = CliRunner().invoke(app, ["repair", "raw_b_raw"])
    assert done.exit_code == 3
    assert "is complete" not in done.output
    assert "raw_b_raw_master.journal is cut" in done.stderr
    Path("raw_b_raw_master.journal").unlink()
    assert call("repair", "raw_b_raw").books == call("repair", "raw_b_raw").books
    assert call("repair", "raw_b_raw").code == 3


@pytest.mark.parametrize(
    ("damage", "missing"),
    [("a data file is gone", 4), ("a data file is cut", 4), ("images were never written", 3)],
)
@pytest.mark.parametrize("name", ["combine", "peaks", "repair"])
def test_images_that_no_file_has_are_missing_and_named(folder: Path, name: str, damage: str, missing: int) -> None:
    DAMAGES[damage]("dense_b")
    done = call(*COMMANDS[name].words)
    assert done.code == 3
    assert done.books is not None
    assert (done.books["missing"], done.books["errored"]) == (missing, 0)
    assert any("data_000002" in text for text in done.books["troubles"])


@pytest.mark.parametrize(
    ("lost", "code", "books"),
    [
        ("006.cbor", 3, {"expected": IMAGES, "made": IMAGES - 1, "missing": 1, "errored": 0}),
        ("000.cbor", 1, {"expected": 0, "made": 0, "missing": 0, "errored": 0}),  # images without a start are no series
        ("013.cbor", 1, {"expected": IMAGES, "made": IMAGES, "missing": 0, "errored": 0}),
    ],
)
def test_a_message_that_is_lost_is_missed(folder: Path, lost: str, code: int, books: dict[str, int]) -> None:
    (folder / "stream" / lost).unlink()
    done = call(*COMMANDS["receive-stream"].words)
    assert done.books is not None
    assert (done.code, {name: done.books[name] for name in books}) == (code, books)


def test_a_message_that_is_damaged_is_not_made(folder: Path) -> None:
    path = folder / "stream/006.cbor"
    path.write_bytes(path.read_bytes()[:-9])
    done = call(*COMMANDS["receive-stream"].words)
    assert done.books is not None
    assert (done.code, done.books["made"], done.books["closed"]) == (3, IMAGES - 1, True)


def test_a_failed_convert_leaves_nothing_and_an_older_one_as_it_was(folder: Path) -> None:
    assert call(*COMMANDS["convert"].words).code == 0
    before = {path.name: path.read_bytes() for path in folder.glob("made_*")}
    assert call(*COMMANDS["convert"].words).code == 2
    scramble(Path("raw_b_raw_facts.h5"))
    scramble(Path("raw_b_raw_master.h5"))
    failed = call(*COMMANDS["convert"].words, "--replace")
    assert failed.code == 2, failed
    assert {path.name: path.read_bytes() for path in folder.glob("made_*")} == before
    for path in folder.glob("made_*"):
        path.unlink()
    assert call(*COMMANDS["convert"].words).code == 2
    assert not list(folder.glob("*made*"))


def test_convert_replaces_neither_its_input_nor_a_series_nor_a_run_that_is_written(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.glob("raw_b_raw_*")}
    (folder.parent / "alias").symlink_to(folder)
    for to in ("raw_b_raw", "raw_b_raw_master.h5", f"{folder}/raw_b_raw", "../alias/raw_b_raw"):
        assert call("convert", "raw_b_raw_master.h5", to, "--replace").code == 2
    for path in folder.glob("raw_b_raw_*"):
        shutil.copy(path, path.with_name(path.name.replace("raw_b_raw_", "made_s0001_")))
    assert call("convert", "made_s0001", "made", "--replace").code == 0
    assert {path.name: path.read_bytes() for path in folder.glob("raw_b_raw_*")} == before
    assert len(list(folder.glob("made_s0001_*"))) == len(before)
    with Path("made_master.journal").open("wb") as journal:
        take_writer_lock(journal.fileno())
        refused = call(*COMMANDS["convert"].words, "--replace")
        assert refused.code == 2
        assert "is being written by another process" in refused.stderr


def test_an_earlier_convert_is_replaced_whole(folder: Path) -> None:
    assert call(*COMMANDS["convert"].words, "--images-per-file", "2").code == 0
    assert len(list(folder.glob("made_data_*"))) == IMAGES // 2
    assert call(*COMMANDS["convert"].words, "--replace").code == 0
    assert [path.name for path in folder.glob("made_data_*")] == ["made_data_000001.h5"]
    with open_run("made_master.h5") as run:
        assert len(run) == IMAGES
        run.image(IMAGES - 1)


@pytest.mark.parametrize("name", list(RECORDED))
def test_a_recording_that_is_cut_is_refused_and_nothing_is_made(folder: Path, name: str) -> None:
    command = RECORDED[name]
    good = call(*command.words)
    assert good.code == 0, good
    assert good.books is not None and good.books["made"] == good.books["expected"] >= IMAGES
    for file in command.makes:
        shutil.rmtree(Path(file).parent) if "/" in file else Path(file).unlink()
    cut(Path("f.npy"), 0.7)
    done = call(*command.words)
    assert (done.code, done.books) == (2, None), done
    assert "f.npy" in done.stderr
    assert not [file for file in command.makes if Path(file).exists()]


def test_peaks_of_a_run_that_has_stored_no_image_are_a_file_of_none(folder: Path) -> None:
    veto = PEAKS + '[[buffer.kernel]]\nname = "veto"\nkeep = "n_peaks >= 10000"\nreason = "no"\n'
    Path("none.toml").write_text(pipeline("hdf5", A_FILE, veto, keep_darks=True), encoding="utf-8")
    assert process_recording(Job(Path("none.toml"), "", folder, Recording("none", (Path("f.npy"),)))).good
    done = call("peaks", "none_b_master.h5")
    assert (done.code, done.files) == (0, ["none_b_peaks.cxi"])
    with h5py.File("none_b_peaks.cxi") as file:
        assert file["entry_1/result_1/nPeaks"].shape == (0,)
        assert file["entry_1/result_1/peakXPosRaw"].shape[0] == 0


WITHOUT_DATA = {
    *("demo", "stop", "pause", "resume", "limits", "abort", "join", "plan", "emulator", "receiver", "status", "top", "doctor", "dashboard", "tango", "epics", "free", "trigger", "node status", "node abort", "node reset", "node log", "node audit", "card"),
    *("conformance", "packet decode", "packet encode"),  # of vectors and packets
    *(f"bench {name}" for name in ("list", "link", "kernel", "gpu", "opencl", "chain", "feedback", "group", "rtl")),
}  # fmt: skip
"""Commands that neither read nor make data of detectors."""
BY_OTHERS = {
    "example": "python/tests/cli/test_example.py: run files and small frames, which nothing overwrites",
    "run": "tests/chain, and the replay below; its books are in report.json",
    "attach": "tests/chain/test_attach.py",
    "feedback": "python/tests/cli: a document a line, and 3 where some were lost",
    "dataset preview": "a picture of one frame, which is refused where it cannot be read",
}
"""Commands whose books are judged elsewhere."""


def names_of(command: Any, path: str = "") -> Iterator[str]:
    """Yield every command that can be typed."""
    if not hasattr(command, "list_commands"):
        yield path
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        yield from names_of(command.get_command(context, name), f"{path} {name}".strip())


def test_every_command_that_reads_or_makes_data_is_in_these_tables() -> None:
    judged = {
        found for one in (*COMMANDS.values(), *RECORDED.values()) for found in (one.words[0], " ".join(one.words[:2]))
    }
    there = set(names_of(typer.main.get_command(app)))
    assert {"process", "dataset make", "calibrate pedestal"} <= there
    assert there - judged - WITHOUT_DATA - set(BY_OTHERS) == set()
    assert (WITHOUT_DATA | set(BY_OTHERS)) - there == set()


@pytest.mark.parametrize(("allowed", "limit", "code", "played", "missing"), [("false", 0, 2, 0, 0), ("true", 0, 3, 8, 4), ("true", 4, 0, 4, 0)])  # fmt: skip
def test_a_replay_keeps_books_of_what_it_plays(
    folder: Path, allowed: str, limit: int, code: int, played: int, missing: int
) -> None:
    """Play 12 stored images when the data file of four is missing."""
    DAMAGES["a data file is gone"]("dark_b")
    run = pipeline("hdf5", A_FILE, "", keep_darks=True)
    stored = f'[dataset]\nkind = "stored"\npath = "dark_b_master.h5"\nallow_missing = {allowed}\nframes = {limit}\n'
    head, _, tail = run.partition("[dataset]")
    frames = played or IMAGES
    text = head.replace(f"frames = {IMAGES}", f"frames = {frames}") + stored + tail[tail.index("[[buffer]]") :]
    Path("again.toml").write_text(text.replace('name = "x"', 'name = "again"\noutput = "."'), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "rashpa.cli.entry", "run", "again.toml", "--quiet", "--output", "report", "--no-page"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    if code == 2:
        assert "data_000002" in done.stderr
        return
    report = json.loads(Path("report/report.json").read_text(encoding="utf-8"))
    expected = {"expected": played + missing, "made": played, "missing": missing, "errored": 0}
    assert report["replayed"] == expected
    assert report["run"]["good"] == (code == 0)
    assert ("4 are missing" in " ".join(report["run"]["reasons"])) == bool(missing)
    with open_run("again_b_master.h5") as again:
        wanted = [frame for number, frame in enumerate(FRAMES) if number // A_FILE != 1][:played]
        assert len(again) == played
        for index, frame in enumerate(wanted):
            np.testing.assert_array_equal(again.image(index), frame)
