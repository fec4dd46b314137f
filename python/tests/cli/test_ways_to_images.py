# SPDX-License-Identifier: Apache-2.0
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rashpa.cli.ways_to_images import typed, ways_to_images
from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.run_plan import load_plan
from rashpa.testing.run_file import run_file

RUN = run_file(
    run={"name": "the run", "frames": 12, "output": "out put"},
    detector={"rate_hz": 500},
    buffer=[
        {"name": "counted", "sink": [{"kind": "null"}]},
        {"name": "full", "sink": [{"kind": "null"}, {"kind": "hdf5"}]},
        {"name": "raw", "every": 2, "sink": [{"kind": "raw"}]},
    ],
)
STORED = "out put/the run_full_master.h5"


def written(folder: Path, text: str = RUN) -> Path:
    (folder / "run.toml").write_text(text)
    return folder / "run.toml"


@pytest.mark.whole
@pytest.mark.parametrize("report", [(), ("--output", "report", "--no-page")])
def test_a_run_ends_with_where_its_images_are_and_lines_that_open_them(tmp_path: Path, report: tuple[str, ...]) -> None:
    text = RUN.replace("the run", "the_run").replace("out put", "out's put")
    command = [sys.executable, "-m", "rashpa.cli.entry"]
    words = [*command, "run", str(written(tmp_path, text)), "-q", *report]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()[-4:]
    assert said[0] == "images: out's put/the_run_full_master.h5 (12), out's put/the_run_raw_raw_master.h5 (6)"
    for line in said[1:]:
        program, *arguments = shlex.split(line)
        opened = subprocess.run(
            [*(command if Path(program).name == "rashpa" else [sys.executable]), *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert opened.returncode == 0, (line, opened.stderr)
        assert opened.stdout
    assert (tmp_path / "image.png").exists()


@pytest.mark.whole
def test_a_run_that_stores_nothing_names_no_images(tmp_path: Path) -> None:
    text = RUN[: RUN.index('[[buffer]]\nname = "full"')].replace("the run", "the_run")
    words = [sys.executable, "-m", "rashpa.cli.entry", "run", str(written(tmp_path, text)), "-q"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "images: " not in done.stdout.splitlines()[-4:]
    assert "python3" not in done.stdout


def test_files_that_were_not_completed_are_named_with_what_completes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = Outcome(load_plan(written(tmp_path, RUN.replace("the run", "the_run"))))
    assert list(ways_to_images(outcome)) == []
    (tmp_path / "out put").mkdir()
    (tmp_path / "out put" / "the_run_full_master.journal").touch()
    (line,) = ways_to_images(outcome)
    assert line == (
        "not completed: out put/the_run_full_master.h5; `rashpa repair 'out put/the_run_full'` makes it of what is there"
    )


def test_programs_are_typed_as_a_shell_finds_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a clone" / ".venv" / "bin"
    folder.mkdir(parents=True)
    for name in ("python3", "rashpa"):
        (folder / name).touch(mode=0o755)
    elsewhere = tmp_path / "bin"
    elsewhere.mkdir()
    (elsewhere / "python3").touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python3"))
    monkeypatch.setenv("PATH", str(elsewhere))
    monkeypatch.chdir(tmp_path / "a clone")
    assert [typed(name) for name in ("rashpa", "python3")] == [".venv/bin/rashpa", ".venv/bin/python3"]
    monkeypatch.chdir(tmp_path)
    assert typed("rashpa") == "'a clone/.venv/bin/rashpa'"
    monkeypatch.setenv("PATH", f"{folder}:{elsewhere}")
    assert [typed(name) for name in ("rashpa", "python3")] == ["rashpa", "python3"]
    (folder / "rashpa").unlink()  # a command that was started in another way
    assert typed("rashpa") == "rashpa"
