# SPDX-License-Identifier: Apache-2.0
"""The form for the next run: its fields are the model's, and a changed run file differs only in the changed keys."""

import tomllib
from pathlib import Path

import pytest

from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.dashboard.settings.changed_text import TextError, text_with, value_text
from rashpa.dashboard.settings.form import KEYS, changes_of, fields_of
from rashpa.dashboard.settings.next_run import NextRun

RUN = """\
# a comment
[run]
name = "next"  # of the files
frames = 10
[detector]
width = 64
height = 32
[dataset]
kind = "pattern"
width = 64
height = 32
[receiver]
port = 0
[[buffer]]
name = "full"
sink = [{ kind = "null" }]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    return path


@pytest.mark.parametrize(
    ("text", "there"),
    [
        (RUN, "# a comment\n"),
        ("[run]\nframes=1\n[detector]\nwidth=2", "width=2"),
        ("[ run ] # here\n  frames  = 1 # so many\n", "[ run ] # here"),
        ("[detector]\nwidth = 2\n", "width = 2"),
        ("", "[run]"),
    ],
)
def test_a_changed_text_has_the_values_and_all_its_other_lines(text: str, there: str) -> None:
    changes: dict[tuple[str, str], str | int | float] = {
        ("run", "frames"): 77,
        ("run", "sample"): 'a "quoted" one \\ \n\x7f 😀',
        ("detector", "energy_kev"): 1e-10,
    }
    made = text_with(text, changes)
    wanted = tomllib.loads(text)
    for (table, key), value in changes.items():
        wanted.setdefault(table, {})[key] = value
    assert tomllib.loads(made) == wanted
    assert there in made
    assert tomllib.loads(f"key = {value_text(changes['run', 'sample'])}")["key"] == changes["run", "sample"]


@pytest.mark.parametrize(
    "text", ["run = { frames = 1 }", "run.frames = 1", '[run]\nsample = """a\nframes = 3\n"""\nframes = 2', "run = 3"]
)
def test_a_text_that_has_no_such_line_is_left_alone(text: str) -> None:
    with pytest.raises(TextError, match=r"change the file itself|is no table"):
        text_with(text, {("run", "frames"): 77})


def test_fields_have_the_bounds_of_the_model(file: Path) -> None:
    fields = {field.name: field for field in fields_of(load_plan(file).file)}
    assert set(fields) == {f"{table}.{key}" for table, key in KEYS}
    assert fields["run.number"].bounds == {"step": "1", "min": "0", "max": str(2**32 - 1)}
    assert fields["run.frames"].kind == "text", "it may be until stopped"
    assert fields["run.comment"].bounds["maxlength"] == "2000"
    assert fields["detector.energy_kev"].bounds == {"step": "any", "min": "0.0"}
    assert all(field.description for field in fields.values())


def test_values_that_do_not_differ_are_no_changes(file: Path) -> None:
    plan = load_plan(file)
    values = {field.name: field.value for field in fields_of(plan.file)}
    assert changes_of(plan.file, values) == {}
    assert NextRun(plan, None).made("", values).source.path == file
    assert changes_of(plan.file, {**values, "run.frames": " 20 "}) == {("run", "frames"): 20}


@pytest.mark.parametrize(
    ("name", "value"),
    [("run.frames", "many"), ("run.frames", "0"), ("run.number", "-1"), ("detector.energy_kev", "0.0")],
)
def test_a_wrong_value_is_refused_in_the_words_of_a_run_and_leaves_no_file(file: Path, name: str, value: str) -> None:
    there = set(file.parent.iterdir())
    with pytest.raises(RunFileError, match=rf"run.page-[^:]*:\d+: {name}: ") as refused:
        NextRun(load_plan(file), None).made("", {name: value})
    assert set(file.parent.iterdir()) == there
    written = file.with_name("same.toml")
    key = name.partition(".")[2]
    line = f"{key} = {value!r}" if value == "many" else f"{key} = {value}"
    text = (
        RUN.replace("frames = 10", line)
        if key == "frames"
        else RUN.replace(f"[{name.partition('.')[0]}]", f"[{name.partition('.')[0]}]\n{line}")
    )
    written.write_text(text)
    with pytest.raises(RunFileError) as by_hand:
        load_plan(written)
    assert str(refused.value).partition(f"{name}: ")[2] == str(by_hand.value).partition(f"{name}: ")[2]


def test_a_template_is_a_run_file_of_its_folder_and_nothing_else(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "templates"
    folder.mkdir()
    (folder / "long.toml").write_text(RUN.replace("frames = 10", "frames = 1000"))
    (folder / "notes.txt").write_text("")
    (folder / "folder.toml").mkdir()
    made = NextRun(load_plan(file), folder)
    assert made.templates() == ["long"]
    plan = made.made("long", {"run.sample": "lysozyme"})
    assert (plan.file.run.frames, plan.file.run.sample) == (1000, "lysozyme")
    assert plan.source.path.parent == folder
    assert load_plan(plan.source.path).file == plan.file
    assert made.templates() == ["long"], "what a page has made is no template"
    for wrong in ("../run", "notes", "folder", "none"):
        with pytest.raises(RunFileError, match="there is no such template"):
            made.made(wrong, {})
