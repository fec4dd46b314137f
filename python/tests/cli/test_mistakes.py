# SPDX-License-Identifier: Apache-2.0
"""Mistakes in commands, and their errors: each kind of mistake has the same text in all commands."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from typer.testing import CliRunner

from rashpa.cli.main import app
from rashpa.data.base.exit_code import ExitCode
from rashpa.testing.run_file import run_file

RUN = run_file(
    run={"name": "x"},
    detector={"rate_hz": 100.0},
    link={"port": 0},
    buffer={"slots": 40, "sink": [{"kind": "hdf5"}]},
    receiver=None,
)
# what stands in the run file, what is typed in its place, what is said of it
RUN_FILES = [
    ("[[buffer]]\n", "[buffer]\n", "run.toml:14: buffer: it is one table; write [[buffer]] in double brackets, once for each"),
    ("[[buffer.sink]]", "[buffer.sink]", "buffer[0].sink: it is one table; write [[buffer.sink]] in double brackets, once for each"),
    ("[run]", "[[run]]", "run: it is a list; write [run] in single brackets, once"),
    ('name = "x"', 'name = "x', "run.toml:2: not TOML: a text has no end on this line, column 10; add the missing quote"),
    ('name = "x"', "name = x", "run.toml:2: not TOML: Invalid value, column 8; a text stands in quotes"),
    ('name = "x"', 'name "x"', "write key = value"),
    ("slots = 40", 'unit = "gpu"', 'buffer[0].unit: it is "gpu"; it must be "cpu", "cuda", "opencl" or "fpga"; did you mean "cuda"?'),
    ("slots = 40", "slots = true", "buffer[0].slots: it is true; it must be a whole number"),
    ("slots = 40", "slots = [4]", "buffer[0].slots: it is [4]; it must be a whole number"),
    ("rate_hz = 100.0", 'rate_hz = "fast"', 'detector.rate_hz: it is "fast"; it must be a number'),
    ("rate_hz = 100.0", "rate_hz = -1", "detector.rate_hz: it is -1; it must be "),
    ("port = 0", "port = 70000", "link.port: it is 70000; it must be at most 65535"),
    ('kind = "hdf5"', 'kind = "h5"', 'buffer[0].sink[0].kind: "h5" is not known; did you mean "hdf5"?'),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text(RUN)
    np.save(tmp_path / "frames.npy", np.zeros((2, 32, 64), np.uint16))
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = 1
    return tmp_path


def refused(*words: str) -> str:
    done: Any = CliRunner().invoke(app, words)
    assert done.exit_code == ExitCode.BAD_INPUT, done.output
    assert "Traceback" not in done.output
    assert "nput should" not in done.output
    return str(done.stderr)


@pytest.mark.parametrize(("old", "new", "says"), RUN_FILES)
@pytest.mark.parametrize("words", [("run",), ("plan",), ("run", "--check"), ("dashboard",), ("epics",), ("tango",)])
def test_every_command_says_the_same_of_a_run_file(
    folder: Path, old: str, new: str, says: str, words: Sequence[str]
) -> None:
    assert RUN.count(old) == 1
    (folder / "run.toml").write_text(RUN.replace(old, new))
    said = refused(*words, "run.toml")
    if "pip install" not in said:  # of an extra that is not here
        assert says in said
        assert said.startswith(f"rashpa {words[0]}: ")


MISSING = [
    (("run", "nope.toml"), "no such file; there is run.toml"),
    (("plan", "nope.toml"), "no such file; there is run.toml"),
    (("status", "nope.toml"), "no such file; there is run.toml"),
    (("dashboard", "nope.toml"), "no such file; there is run.toml"),
    (("inspect", "othr.h5"), "no such file; there is other.h5"),
    (("check", "othr.h5"), "no such file; there is other.h5"),
    (("peaks", "othr.h5"), "no such file; there is other.h5"),
    (("combine", "othr.h5", "-o", "made.h5"), "no such file; there is other.h5"),
    (("inspect", "gone/x.h5"), "no such file; there is no folder gone"),
    (("repair", "nope"), "no such file"),
    (("convert", "nope", "-o", "made"), "no such file"),
    (("process", "nope.npy", "-p", "run.toml"), "no such file; there are "),
    (("process", "frames.npy", "-p", "nope.toml"), "no such file; there is run.toml"),
    (("dataset", "info", "nope.npy"), "nope.npy: no such file; there is frames.npy"),
    (("run", "other.h5"), "it is an HDF5 file, which `rashpa inspect other.h5` shows; give a run file (TOML)"),
    (("run", "frames.npy"), "it is a file of images by its name (.npy); give a run file (TOML)"),
    (("convert", "other.h5", "-o", "made"), "it is no master of a run, whose name ends in _master.h5"),
    (("repair", "other.h5"), "it is no master of a run, whose name ends in _master.h5"),
    *(((name, "nope"), "there is no such run (no such folder or journal)") for name in ("stop", "pause", "resume", "abort", "attach")),
    *(((name, "."), "there is no such run (no *_attach.json is there)") for name in ("stop", "pause", "resume", "abort", "attach")),
    *(((name, "x_attach.json"), "there is no such run (no such folder or journal)") for name in ("stop", "pause", "resume", "abort", "attach")),
    (("join", "nope", "d"), "there is no such run (no such folder or journal)"),
    (("join", ".", "d"), "there is no such run (no *_attach.json is there)"),
    *((words, "foo is no URL of a node") for words in (("free", "foo"), ("trigger", "foo"), ("node", "status", "foo"), ("node", "log", "foo"))),
    *((words, "write http://localhost:4781") for words in (("free", "localhost:4781"), ("trigger", "localhost:4781"), ("node", "reset", "localhost:4781"))),
    (("status", "foo"), "foo is neither a URL of a node nor a run file"),
    (("top", "foo"), "foo is neither a URL of a node nor a run file"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "says"), MISSING, ids=[" ".join(words) for words, _ in MISSING])
def test_what_is_not_there_has_one_wording_and_the_name_of_the_command(
    folder: Path, words: Sequence[str], says: str
) -> None:
    said = refused(*words)
    assert says in said
    name = " ".join(words[:2]) if words[0] in ("node", "dataset") else words[0]
    assert said.startswith(f"rashpa {name}: ")
    assert sorted(path.name for path in folder.iterdir()) == ["frames.npy", "other.h5", "run.toml"]


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ('["frames.npy", "frames.npy"]', "files of 2 modules, [[detector.module]] lists 1; give an entry a module: a file, a pattern"),
        ('["gone_*.npy"]', "gone_*.npy does not exist"),
        ('["m_*.npy"]', "m_2.npy is missing between"),
        ("[7]", "dataset.files[0]: it is 7; it must be a list in brackets"),
        ('"frames.npy"', 'dataset.files: it is "frames.npy"; it must be a list in brackets'),
    ],
)  # fmt: skip
def test_files_of_frames_are_refused_with_what_to_write(folder: Path, files: str, says: str) -> None:
    for number in (1, 3):
        np.save(folder / f"m_{number}.npy", np.zeros((1, 32, 64), np.uint16))
    source = f'kind = "files"\nfiles = {files}\n'
    (folder / "run.toml").write_text(RUN.replace('kind = "pattern"\nwidth = 64\nheight = 32\n', source))
    assert says in refused("run", "run.toml")


@pytest.mark.parametrize("files", ['["frames.npy"]', '["fr*.npy"]', '["frames"]', '[["frames.npy"]]'])
def test_files_of_frames_are_named_as_people_have_them(folder: Path, files: str) -> None:
    (folder / "frames").mkdir()
    (folder / "frames/a.npy").write_bytes((folder / "frames.npy").read_bytes())
    source = f'kind = "files"\nfiles = {files}\n'
    (folder / "run.toml").write_text(RUN.replace('kind = "pattern"\nwidth = 64\nheight = 32\n', source))
    done = CliRunner().invoke(app, ["run", "run.toml", "--check"])
    assert done.exit_code == 0, done.output
