# SPDX-License-Identifier: Apache-2.0
"""Rules for every command: literal help, exit codes of one enum, names of options, groups, completion, and suggestions after mistakes."""

import ast
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from python.tests.cli.walk import commands
from typer.testing import CliRunner

import rashpa.cli
from rashpa.cli.commands import COMMANDS, GROUPS, members
from rashpa.cli.main import app
from rashpa.cli.old_words import OLD_WORDS, words_of_today
from rashpa.data.base.exit_code import ExitCode
from rashpa.testing.waiting import GUARD_S

EVERY = dict(commands())
SOURCES = sorted(Path(rashpa.cli.__file__).parent.rglob("*.py"))
# commands that only show something, and nodes: what they write has names of its own
WRITES = {
    "demo", "run", "attach", "plan", "dashboard", "conformance", "inspect", "combine", "peaks", "receive-stream", "process", "convert",
    "example", "dataset make", "dataset preview", "calibrate pedestal", "bench link", "bench kernel", "bench gpu", "bench opencl", "bench chain",
    "bench feedback", "bench group", "bench rtl",
}  # fmt: skip


def asked(*words: str, columns: int = 200) -> Any:
    return CliRunner().invoke(app, [*words], env={"COLUMNS": str(columns), "TERMINAL_WIDTH": ""})


def options(command: Any) -> dict[str, Any]:
    return {name: one for one in command.params for name in one.opts if name.startswith("-")}


@pytest.mark.parametrize("name", EVERY)
def test_help_shows_brackets_and_exit_codes(name: str) -> None:
    done = asked(*name.split(), "--help")
    assert done.exit_code == 0, done.output
    shown = " ".join(re.sub(r"[│╭╮╰╯─]", " ", done.output).split())
    command = EVERY[name]
    written = [command.help, *(one.help for one in command.params if not getattr(one, "hidden", False))]
    brackets = [found for text in written if text for found in re.findall(r"\[[^\]\n]*\]+", text)]
    for found in brackets:
        assert found in shown, f"{name}: {found}"
    for code, text in COMMANDS[name.split()[0]].exits.items():
        assert f"{int(code)}: {text}" in shown


def test_brackets_that_look_like_markup_are_there() -> None:
    assert any("[tango]" in (one.help or "") for one in EVERY.values())
    assert "rashpa[tango]" in asked("tango", "--help").output


def _integers(tree: ast.AST) -> Iterator[int]:
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func) in (
            "typer.Exit",
            "sys.exit",
            "os._exit",
            "SystemExit",
        ):
            yield from (call.lineno for one in call.args if isinstance(one, ast.Constant))


def test_every_exit_code_is_of_the_enum() -> None:
    for path in SOURCES:
        assert not list(_integers(ast.parse(path.read_text(encoding="utf-8")))), path


@pytest.mark.parametrize("name", sorted(WRITES))
def test_a_command_that_writes_has_output(name: str) -> None:
    found = options(EVERY[name])
    assert "--output" in found
    assert "-o" in found


@pytest.mark.parametrize("name", EVERY)
def test_options_have_one_name_each(name: str) -> None:
    found = options(EVERY[name])
    old = OLD_WORDS.get(name.split()[0], {})
    assert not set(found) & (set(old) | {"--out", "--report", "--wait", "--launcher-wait"})
    assert set(old.values()) <= set().union(
        *(options(one) for full, one in EVERY.items() if full.split()[0] == name.split()[0])
    )
    if "--quiet" in found:
        assert "-q" in found
    if "--json" in found:
        assert found["--json"].is_flag, "--json is a flag"


@pytest.mark.parametrize(
    ("words", "today", "said"),
    [
        (["run", "a.toml", "--report", "x"], ["a.toml", "--output", "x"], ("--report is --output now",)),
        (["run", "--report=x", "--launcher-wait=3"], ["--output=x", "--timeout=3"], ("--report is --output now", "--launcher-wait is --timeout now")),
        (["run", "--", "--report"], ["--", "--report"], ()),
        (["join", "--wait", "3"], ["--timeout", "3"], ("--wait is --timeout now",)),
        (["bench", "link", "--json", "x.json"], ["link", "--output", "x.json"], ("--json FILE is --output now",)),
        (["conformance", "--json=x.json"], ["--output=x.json"], ("--json FILE is --output now",)),
        (["conformance", "--json", "--unit", "cpu"], ["--json", "--unit", "cpu"], ()),
        (["inspect", "x.h5", "--json"], ["x.h5", "--json"], ()),
    ],
)  # fmt: skip
def test_old_options_become_those_of_today(words: list[str], today: list[str], said: tuple[str, ...]) -> None:
    assert words_of_today(words[0], words[1:]) == (today, said)


def test_an_old_option_says_the_new_one(tmp_path: Path) -> None:
    done = asked("plan", str(tmp_path / "no.toml"), "--svg", "x.svg")
    assert done.exit_code == ExitCode.BAD_INPUT
    assert done.stderr.startswith("rashpa plan: --svg is --output now\n")


@pytest.mark.parametrize("group", GROUPS)
def test_each_command_stands_in_its_group(group: str) -> None:
    assert group in asked(group, "--help").output
    for inside, name in members(group).items():
        in_group, alone = (" ".join(asked(*words, "--help").output.split()) for words in ((group, inside), (name,)))
        assert in_group.replace(f"rashpa {group} {inside}", f"rashpa {name}", 1) == alone


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["inspct"], "Did you mean rashpa inspect?"),
        (["mine.toml"], "Did you mean rashpa run mine.toml?"),
        (["out/x_master.h5"], "Did you mean rashpa inspect out/x_master.h5?"),
        (["http://localhost:1"], "Did you mean rashpa status http://localhost:1?"),
        (["help"], "Did you mean rashpa --help?"),
        (["zzzzzz"], "Type --help for a list."),
        (["node", "emulatr"], "Did you mean rashpa node emulator?"),
        (["file", "chck"], "Did you mean rashpa file check?"),
        (["bench", "kernl"], "Did you mean rashpa bench kernel?"),
        (["dataset", "mke"], "Did you mean 'make'?"),
    ],
)
def test_a_word_that_is_no_command_gets_a_guess(words: list[str], says: str) -> None:
    done = asked(*words)
    assert done.exit_code == ExitCode.BAD_INPUT
    assert says in " ".join(done.output.replace("│", " ").split())


def completed(shell: str, line: str, folder: Path) -> set[str]:
    """Return the words that a shell offers after a line."""
    bash = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    others = {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv = ['rashpa']; from rashpa.cli.entry import main; main()"],
        env=os.environ | (bash if shell == "bash" else others) | {"_RASHPA_COMPLETE": f"complete_{shell}"},
        cwd=folder, capture_output=True, text=True, timeout=GUARD_S, check=False,
    )  # fmt: skip
    assert not done.stderr, done.stderr
    if shell == "zsh":
        return set(re.findall(r'"([^":]+)"', done.stdout)) | set(
            re.findall(r'^\s*"?([^":\n]+)"?:', done.stdout, re.MULTILINE)
        )
    return {word.partition("\t")[0] for word in done.stdout.splitlines()}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_files_kernels_and_links(shell: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").touch()
    (tmp_path / "mine.txt").touch()
    assert {"inspect"} <= completed(shell, "rashpa insp", tmp_path)
    assert {"mine.toml"} <= (found := completed(shell, "rashpa run m", tmp_path))
    assert "mine.txt" not in found
    if shell == "bash":  # the words are the same for all shells
        assert {"jungfrau"} <= completed(shell, "rashpa bench kernel jung", tmp_path)
        assert {"roce"} <= completed(shell, "rashpa bench link --link ro", tmp_path)
        assert {"stop"} <= completed(shell, "rashpa run st", tmp_path)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_of_completion_are_scripts(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: (shell, f"/bin/{shell}"))
    done = CliRunner().invoke(app, ["--show-completion"], prog_name="rashpa")
    assert done.exit_code == 0, done.output
    assert f"complete_{shell}" in done.stdout
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=done.stdout, text=True, check=True, timeout=GUARD_S)


def test_the_completion_of_commands_imports_none_of_them() -> None:
    code = "import sys; sys.argv = ['rashpa']; import atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); from rashpa.cli.entry import main; main()"
    words = {"COMP_WORDS": "rashpa ", "COMP_CWORD": "1", "_RASHPA_COMPLETE": "complete_bash"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | words,
        capture_output=True,
        text=True,
        timeout=GUARD_S,
        check=False,
    )
    assert set(GROUPS) | set(COMMANDS) == set(done.stdout.split())
    assert not {"h5py", "numpy"} & set(done.stderr.split())


# commands that wait, and the words by which each says that it does
WAITING = {
    "emulator": (["emulator", "--port", "0"], '"url"'),
    "dashboard": (["dashboard", "--port", "0"], "dashboard: "),
    "receive-stream": (["receive-stream", "tcp://127.0.0.1:1", "-o", "got"], "waiting for images"),
}


@pytest.mark.parametrize("name", WAITING)
def test_an_interrupt_ends_a_command_with_the_code_of_its_table(name: str, tmp_path: Path) -> None:
    words, ready = WAITING[name]
    command = [sys.executable, "-u", "-m", "rashpa.cli.entry", *words]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert any(ready in line for line in iter(process.stdout.readline, ""))
            process.send_signal(signal.SIGINT)
            code = process.wait(GUARD_S)
        finally:
            process.kill()
    assert code == (ExitCode.GOOD if COMMANDS[name].serves else ExitCode.INTERRUPTED)


def test_feedback_ends_with_the_code_of_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_words: Any, **_more: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("rashpa.cli.doors.feedback.open_feedback", interrupted)
    assert asked("feedback", "ring").exit_code == ExitCode.INTERRUPTED
