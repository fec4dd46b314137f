# SPDX-License-Identifier: Apache-2.0
import json
import time
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from rashpa.control.runfile.run_file_reader import KeyLines, RunFileError, read_run_file, run_schema
from rashpa.control.runfile.schemas import schema_path

GOOD = """\
[run]
name = "small"
frames = 100

[detector]
width = 64
height = 32

[[detector.module]]
x = 0
y = 0

[dataset]
kind = "pattern"
width = 64
height = 32

[[buffer]]
name = "full"
sink = [{ kind = "null" }]
[[buffer.kernel]]
name = "jungfrau"

[[buffer.kernel]]
name = "bragg_count"
threshold = 3
min_pixels = 5
[[buffer]]
name = "second"
sink = [{ kind = "null" }]
slots = 20
"""


def _file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(text)
    return path


def test_a_good_file_is_read(tmp_path: Path) -> None:
    run_file, source = read_run_file(_file(tmp_path, GOOD))
    assert run_file.run.frames == 100
    assert run_file.buffer[0].kernel[1].name == "bragg_count"
    assert source.where(("buffer", 1, "slots")).endswith("run.toml:31: buffer[1].slots")


def test_a_buffer_without_a_sink_is_refused_with_what_to_ask_for(tmp_path: Path) -> None:
    with pytest.raises(RunFileError) as caught:
        read_run_file(_file(tmp_path, GOOD.replace('sink = [{ kind = "null" }]\n', "", 1)))
    assert "run.toml:18: buffer[0].sink: this key is needed and not there" in str(caught.value)
    assert 'kind = "null" counts them and stores nothing' in str(caught.value)


def test_a_sink_may_drop_and_has_its_own_memory(tmp_path: Path) -> None:
    text = GOOD.replace('{ kind = "null" }', '{ kind = "memory", on_full = "drop", queue = 2 }', 1)
    run_file, _ = read_run_file(_file(tmp_path, text))
    assert (run_file.buffer[0].sink[0].on_full, run_file.buffer[0].sink[0].queue) == ("drop", 2)
    assert run_file.buffer[1].sink[0].on_full == "wait"
    with pytest.raises(RunFileError, match=r"sink\[0\]\.on_full"):
        read_run_file(_file(tmp_path, text.replace('"drop"', '"lose"')))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("frames = 100", "frame = 100", 'run.toml:3: run.frame: no such key; did you mean "frames"?'),
        ("frames = 100", "frame = 100", "run.toml:1: run.frames: this key is needed and not there"),
        ("frames = 100", "frames = 0", "run.toml:3: run.frames: it is 0; it must be at least 1"),
        ("frames = 100", 'frames = "many"', 'run.toml:3: run.frames: it is "many"; it must be a whole number'),
        ("[dataset]", "[datasets]", 'run.toml:13: datasets: no such key; did you mean "dataset"?'),
        (
            'kind = "pattern"',
            'kind = "patern"',
            'run.toml:14: dataset.kind: "patern" is not known; did you mean "pattern"?',
        ),
        ('kind = "pattern"', "", "run.toml:13: dataset.kind: is needed and not there; one of"),
        (
            'kind = "pattern"',
            'kind = "files"\nfiles = ["a.npy"]\nspeed = 1',
            "run.toml:16: dataset.speed: no such key; known here: ",
        ),
        ('kind = "pattern"', 'kind = "files"\nfiles = 3', "run.toml:15: dataset.files: it is 3; it must be a list"),
        ("slots = 20", "slot = 20", 'run.toml:31: buffer[1].slot: no such key; did you mean "slots"?'),
        (
            "min_pixels = 5",
            "min_pixel = 5",
            'run.toml:27: buffer[0].kernel[1].min_pixel: no such key; did you mean "min_pixels"?',
        ),
        (
            'name = "bragg_count"',
            'name = "brag_count"',
            'run.toml:25: buffer[0].kernel[1].name: "brag_count" is not known; did you mean "bragg_count"?',
        ),
        ("threshold = 3", "threshold = 0", "run.toml:26: buffer[0].kernel[1].threshold: it is 0; it must be at least"),
        (
            "height = 32\n\n[[det",
            'height = 32\npixel = "uint12"\n\n[[det',
            'run.toml:8: detector.pixel: it is "uint12"; it must be "uint8"',
        ),
        (
            "[dataset]",
            "[link.roce]\nicrc = true\n\n[dataset]",
            'run.toml:14: link.roce.icrc: it is true; it must be "full", "modulo_id" or "off"',
        ),
        ("frames = 100", "frames = ", "run.toml:3: not TOML: Invalid value, column 10"),
    ],
)
def test_what_is_wrong_is_said_with_file_line_and_key(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in GOOD
    with pytest.raises(RunFileError) as caught:
        read_run_file(_file(tmp_path, GOOD.replace(old, new, 1)))
    assert says in str(caught.value)


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("frames = 100", "frames = 0").replace("slots = 20", "slots = 1")
    with pytest.raises(RunFileError) as caught:
        read_run_file(_file(tmp_path, text))
    assert len(str(caught.value).splitlines()) == 2


def test_a_missing_file_names_its_neighbours(tmp_path: Path) -> None:
    _file(tmp_path, GOOD)
    with pytest.raises(RunFileError, match=r"first.toml: no such file; there is .*run.toml"):
        read_run_file(tmp_path / "first.toml")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RunFileError, match="cannot be read as UTF-8"):
        read_run_file(path)


def test_lines_of_dotted_and_quoted_keys_are_found() -> None:
    lines = KeyLines('[a]\nb.c = 1\n"d" = 2\n[[e]]\n[[e.f]]\ng = 1\n[[e]]\n[[e.f]]\n[[e.f]] # more\ng = 2\n')
    assert lines.line(("a", "b", "c")) == 2
    assert lines.line(("a", "d")) == 3
    assert lines.line(("e", 0, "f", 0, "g")) == 6
    assert lines.line(("e", 1, "f", 1, "g")) == 10
    assert lines.line(("e", 1, "f", 1, "absent")) == 9
    assert lines.line(("absent",)) is None


def test_the_schema_file_is_that_of_the_models() -> None:
    stored = json.loads(schema_path("run.schema.json").read_text(encoding="utf-8"))
    assert stored == run_schema(), (
        "write it anew: python -m rashpa.control.runfile.run_file_reader > schema/run.schema.json"
    )
    Draft202012Validator.check_schema(stored)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"a = " + b"[" * 100_000, "run.toml:1: arrays and tables lie more than 32 deep"),
        (b"\n" + b"a." * 100_000 + b"a = 1", "run.toml:2: a key goes more than 32 deep"),
        (b"a = " + b"9" * 5000, "not TOML"),
        (b"[receiver]\nport = 0x" + b"f" * 5000, "a number of 20000 bits"),
        (b"\xff\xfe", "cannot be read as UTF-8 text"),
        (b"[[a]]\n" * 100_000, "no such key"),
        (b"".join(b"key%d = 1\n" % number for number in range(50_000)), "and 499"),
        (b"[" + b" " * 200_000 + b"\n", "not TOML"),
        (b"a" * 200_000 + b" = 1", "aaa…"),
        (b"#" * (1 << 21), "1048576 are the most"),
    ],
)
def test_a_file_of_another_kind_is_refused_soon(tmp_path: Path, data: bytes, why: str) -> None:
    path = tmp_path / "run.toml"
    path.write_bytes(data)
    before = time.process_time()
    with pytest.raises(RunFileError) as caught:
        read_run_file(path)
    assert why in str(caught.value)
    assert len(str(caught.value)) < 20_000
    assert time.process_time() - before < 20, "reading takes more than linear time"


@pytest.mark.parametrize("name", ["/dev/zero", "."])
def test_what_is_no_file_is_refused(name: str) -> None:
    with pytest.raises(RunFileError, match="cannot be read"):
        read_run_file(Path(name))


@pytest.mark.parametrize("name", ["a\\u0000b", "", "x" * 5000])
def test_a_name_that_no_file_can_have_is_refused_with_its_key(tmp_path: Path, name: str) -> None:
    path = tmp_path / "run.toml"
    path.write_text(f'[dataset]\nkind = "directory"\npath = "{name}"\n')
    with pytest.raises(RunFileError, match=r"run\.toml:3: dataset\.path"):
        read_run_file(path)
