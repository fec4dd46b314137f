# SPDX-License-Identifier: Apache-2.0
"""Programs and outputs that only report on a run neither end nor delay it: every image is stored, its report is written, and its exit status is that
of the run."""

import contextlib
import json
import os
import pty
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import h5py
import pytest

from rashpa.testing.run_file import small_run
from rashpa.testing.waiting import GUARD_S
from rashpa.testing.warm_nodes import WarmNodes

pytestmark = pytest.mark.whole

FRAMES = 40
RUN = small_run(run={"name": "watched", "frames": FRAMES}, detector={"rate_hz": 100})
Listener = Callable[[ExitStack], int]


def full_disk(stack: ExitStack) -> int:
    return _closed_later(stack, os.open("/dev/full", os.O_WRONLY))


def closed_pipe(stack: ExitStack) -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return _closed_later(stack, writer)


def full_pipe(stack: ExitStack) -> int:
    """Return a full pipe that nobody reads any more."""
    reader, writer = os.pipe()
    _closed_later(stack, reader)
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(writer, b" " * 4096):
            pass
    os.set_blocking(writer, True)
    return _closed_later(stack, writer)


def stopped_terminal(stack: ExitStack) -> int:
    """Return a terminal that is stopped by Ctrl-S."""
    master, terminal = pty.openpty()
    _closed_later(stack, master)
    termios.tcflow(terminal, termios.TCOOFF)
    return _closed_later(stack, terminal)


def _closed_later(stack: ExitStack, file: int) -> int:
    stack.callback(os.close, file)
    return file


BROKEN: Mapping[str, Listener] = {
    "full disk": full_disk,
    "closed pipe": closed_pipe,
    "full pipe": full_pipe,
    "stopped terminal": stopped_terminal,
}


def stored(folder: Path) -> int:
    with h5py.File(folder / "out" / "watched_full_master.h5") as file:
        return len(file["/entry/data/data"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run.toml").write_text(RUN)
    return tmp_path


@pytest.fixture
def warm_folder(folder: Path, warm_nodes: WarmNodes) -> Path:
    """Return a folder for running nodes, because these tests are about the command only."""
    nodes = f'receiver = "{warm_nodes.url("receiver")}"\nemulator = "{warm_nodes.url("emulator")}"\n'
    text = RUN.replace('output = "out"', f'output = "{folder}/out"')
    (folder / "run.toml").write_text(f"{text}[nodes]\n{nodes}")
    return folder


def carried_out(
    folder: Path,
    stdout: int | None,
    stderr: int | None,
    *words: str,
    encoding: str = "",
    preexec: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "rashpa.cli.entry", "run", "run.toml", "--output", "report", "--no-page", *words]
    environment = {**os.environ, **({"PYTHONIOENCODING": encoding} if encoding else {})}
    return subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE if stdout is None else stdout,
        stderr=subprocess.PIPE if stderr is None else stderr,
        env=environment,
        timeout=GUARD_S,
        check=False,
        preexec_fn=preexec,
    )


def check(folder: Path, done: subprocess.CompletedProcess[bytes]) -> list[str]:
    """Check that the run is complete; return the report's cautions."""
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in (done.stderr or b"") + (done.stdout or b"")
    assert stored(folder) == FRAMES
    report = json.loads((folder / "report" / "report.json").read_text())
    assert report["run"]["good"]
    return list(report["run"]["cautions"])


@pytest.mark.parametrize(
    ("broken", "which"),
    [*((broken, which) for broken in BROKEN for which in ("stdout", "both")), ("full pipe", "stderr")],
)
def test_no_listener_ends_a_run_or_holds_it_up(warm_folder: Path, broken: str, which: str) -> None:
    with ExitStack() as stack:
        file = BROKEN[broken](stack)
        done = carried_out(warm_folder, file if which != "stderr" else None, file if which != "stdout" else None)
    cautions = check(warm_folder, done)
    if which == "stdout":
        said = done.stderr.decode()
        assert said.count("standard output") == 1, said
    if which != "stderr":
        assert any("standard output" in caution for caution in cautions), cautions


@pytest.mark.parametrize("closed", [[1], [2], [0, 1, 2]])
def test_a_run_without_standard_streams_writes_into_no_file_of_its_own(folder: Path, closed: list[int]) -> None:
    def close() -> None:
        for file in closed:
            os.close(file)

    done = carried_out(folder, None, None, preexec=close)
    check(folder, done)


@pytest.mark.parametrize("encoding", ["latin-1", "ascii:strict"])
def test_a_terminal_that_lacks_characters_gets_others(warm_folder: Path, encoding: str) -> None:
    done = carried_out(warm_folder, None, None, encoding=encoding)
    assert check(warm_folder, done) == []
    assert b"every image is as the emulator's log says" in done.stdout


# a run whose report cannot be drawn
UNDRAWN = """\
import sys
sys.argv = ["rashpa", *sys.argv[1:]]
from rashpa.cli import entry
from rashpa.cli.report import report_html
def fails(*_):
    raise MemoryError("no room for a picture")
report_html.html_of = fails
entry.main()
"""


def test_a_page_that_cannot_be_drawn_costs_the_page_alone(warm_folder: Path) -> None:
    folder = warm_folder
    words = [sys.executable, "-m", "rashpa.testing.prepared.program", UNDRAWN, "run", "run.toml", "--output", "report"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=GUARD_S, check=False)
    assert done.returncode == 0, done.stderr
    assert stored(folder) == FRAMES
    report = json.loads((folder / "report" / "report.json").read_text())
    assert any("report.html: MemoryError: no room for a picture" in one for one in report["run"]["cautions"])
    assert "no room for a picture" in done.stderr
    assert not (folder / "report" / "report.html").exists()


@contextlib.contextmanager
def node(role: str, folder: Path, stderr: int, *words: str) -> Iterator[str]:
    """Run a node during the context; yield its URL."""
    command = [sys.executable, "-m", "rashpa.cli.entry", role, "--port", "0", "--with-parent", *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, stderr=stderr) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield json.loads(process.stdout.readline())["url"]
        process.stdin.close()


def test_all_who_tell_of_a_run_fail_at_once(folder: Path) -> None:
    """Break its terminal, its log, its nodes' logs, audits and standard errors, its page and the page's server at once."""
    words = ["--log-file", "/dev/full", "--audit-file", "/dev/full", "--log-level", "debug"]
    with ExitStack() as stack:
        mute = full_pipe(stack)
        receiver = stack.enter_context(node("receiver", folder, mute, *words))
        emulator = stack.enter_context(node("emulator", folder, mute, *words))
        text = f'{RUN}[nodes]\nreceiver = "{receiver}"\nemulator = "{emulator}"\n'
        (folder / "run.toml").write_text(text)
        command = [sys.executable, "-m", "rashpa.cli.entry", "dashboard", "run.toml", "--port", "0"]
        page = stack.enter_context(subprocess.Popen(command, cwd=folder, stdout=full_disk(stack), stderr=mute))
        stack.callback(page.kill)
        done = subprocess.run(
            [sys.executable, "-m", "rashpa.testing.prepared.program", UNDRAWN, "run", "run.toml", "--output", "report"],
            cwd=folder,
            stdout=mute,
            stderr=stopped_terminal(stack),
            timeout=GUARD_S,
            check=False,
        )
        assert page.poll() is None
    assert done.returncode == 0
    assert stored(folder) == FRAMES
    cautions = "\n".join(json.loads((folder / "report" / "report.json").read_text())["run"]["cautions"])
    assert "report.html: MemoryError" in cautions
    assert "standard output: nobody takes what is told there" in cautions


MAKES = {
    "dataset": ["dataset", "make", "made", "--kind", "pattern", "--frames", "2", "--width", "8", "--height", "8"],
    "process": ["process", "out/watched_full_master.h5", "-p", "run.toml", "-o", "processed"],
    "combine": ["combine", "out/watched_full_master.h5", "out/watched_full_master.h5", "-o", "all.h5"],
}
ANSWERS = {
    "help": ["--help"],
    "inspect": ["inspect", "out/watched_full_master.h5"],
    "plan": ["plan", "run.toml"],
    "plan --json": ["plan", "run.toml", "--json"],
}


@pytest.fixture(scope="module")
def with_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("watched")
    (folder / "run.toml").write_text(RUN)
    assert carried_out(folder, None, None).returncode == 0
    # a plan of what `run` would refuse ends with 2
    (folder / "run.toml").write_text(RUN.replace("[run]\n", '[run]\nexisting = "replace"\n', 1))
    return folder


@pytest.mark.parametrize("command", MAKES)
def test_a_command_that_makes_something_ends_as_if_somebody_listened(with_run: Path, command: str) -> None:
    codes = []
    for out in ("listened", "full"):
        with ExitStack() as stack:
            words = [
                word.replace("made", out).replace("processed", out).replace("all.h5", f"{out}.h5")
                for word in MAKES[command]
            ]
            file = full_disk(stack) if out == "full" else subprocess.DEVNULL
            done = subprocess.run(
                [sys.executable, "-m", "rashpa.cli.entry", *words],
                cwd=with_run,
                stdout=file,
                stderr=subprocess.PIPE,
                check=False,
            )
            codes.append(done.returncode)
            assert b"Traceback" not in done.stderr
    assert codes[0] == codes[1]


@pytest.mark.parametrize(
    ("broken", "said"), [("full disk", "standard output: No space left on device"), ("closed pipe", "")]
)
@pytest.mark.parametrize("command", ANSWERS)
def test_a_command_that_only_answers_ends_with_an_error_when_its_answer_is_lost(
    with_run: Path, command: str, broken: str, said: str
) -> None:
    with ExitStack() as stack:
        words = [sys.executable, "-m", "rashpa.cli.entry", *ANSWERS[command]]
        done = subprocess.run(
            words, cwd=with_run, stdout=BROKEN[broken](stack), stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr.strip() == (f"rashpa: {said}" if said else "")


@pytest.mark.parametrize("command", ANSWERS)
def test_an_answer_in_an_encoding_that_lacks_characters_is_an_answer(with_run: Path, command: str) -> None:
    words = [sys.executable, "-m", "rashpa.cli.entry", *ANSWERS[command]]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(words, cwd=with_run, capture_output=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode("ascii")
    if "--json" in ANSWERS[command]:
        json.loads(text)
