# SPDX-License-Identifier: Apache-2.0
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rashpa.cli import entry
from rashpa.cli.commands import COMMANDS
from rashpa.cli.report.report import PAGE_NEEDS
from rashpa.testing.run_file import run_file
from rashpa.testing.waiting import GUARD_S

pytestmark = [pytest.mark.whole, pytest.mark.usefixtures("ordinary_starts")]

RUN = run_file(run={"name": "endless", "frames": 1000000}, detector={"rate_hz": 50})

# sends itself an interrupt with the n-th import of the command
STRUCK = """\
import builtins, os, signal, sys
number, sys.argv = int(sys.argv[1]), ["rashpa", *sys.argv[2:]]
from rashpa.cli import entry
imported, real = 0, builtins.__import__
def struck(*words, **more):
    global imported
    imported += 1
    if imported == number:
        os.kill(os.getpid(), signal.SIGINT)
    return real(*words, **more)
builtins.__import__ = struck
entry.main()
"""


# whether garbage is looked for when a command has come to its end, and how much it is not looked for in
COLLECTED = """\
import atexit, gc, sys
sys.argv = ["rashpa", *sys.argv[1:]]
from rashpa.cli import entry
atexit.register(lambda: print(gc.isenabled(), gc.get_freeze_count(), file=sys.stderr))
entry.main()
"""


@pytest.fixture
def run_path(tmp_path: Path) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    return path


def test_the_package_is_the_command() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "rashpa", "--version"], capture_output=True, text=True, timeout=GUARD_S
    )
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith("rashpa ")
    assert importlib.import_module("rashpa.__main__").main is entry.main


@pytest.mark.parametrize("command", [["run", "run.toml", "-q"], ["--version"], ["dataset", "--help"]])
@pytest.mark.parametrize("number", [2, 100, 300])
def test_an_interrupt_while_a_command_is_imported_ends_it_quietly(
    run_path: Path, number: int, command: list[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STRUCK, str(number), *command],
        cwd=run_path.parent,
        capture_output=True,
        text=True,
        timeout=GUARD_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "")
    assert "Traceback" not in done.stdout


def test_no_command_but_the_page_waits_for_plots_that_it_does_not_draw() -> None:
    modules = sorted({one.module for one in COMMANDS.values()} - {"dashboard"})
    code = f"""
import importlib, sys, rashpa.cli.main
for module in {modules}:
    importlib.import_module("rashpa.cli." + module)
    found = [name for name in ("bokeh", "matplotlib") if name in sys.modules]
    assert not found, (module, found)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=GUARD_S, check=False)
    assert done.returncode == 0, done.stderr


def test_garbage_is_looked_for_but_not_in_what_was_imported(run_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COLLECTED, "plan", "run.toml"],
        cwd=run_path.parent,
        capture_output=True,
        text=True,
        timeout=GUARD_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    enabled, frozen = done.stderr.split()[-2:]
    assert enabled == "True"
    assert int(frozen) > 50_000


def nodes_of(process: int) -> list[int]:
    """Return the child processes that have become nodes; libraries start other children while they are imported."""
    children = [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return [child for child in children if b"--of-run" in _command_of(child)]


def _command_of(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:  # it has ended
        return b""


def test_an_interrupt_while_the_nodes_start_leaves_none(run_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "rashpa.cli.entry", "run", str(run_path), "-q"],
        cwd=run_path.parent,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        while not (nodes := nodes_of(run.pid)):
            assert run.poll() is None
        run.send_signal(signal.SIGINT)
        said = run.communicate(timeout=GUARD_S)[1]
    assert run.returncode == 130
    assert said.startswith("rashpa run: interrupted")
    assert "Traceback" not in said
    for node in nodes:
        with pytest.raises(ProcessLookupError):
            os.kill(node, 0)


@pytest.mark.parametrize("most", [11, 16, 32, 64])
def test_a_run_for_which_too_few_files_may_be_open_says_so(run_path: Path, most: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rashpa.cli.entry", "run", str(run_path), "-q"],
        cwd=run_path.parent,
        capture_output=True,
        text=True,
        timeout=GUARD_S,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)),
    )
    assert done.returncode in (1, 2)
    assert "ulimit -n" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


# a run on a machine that lacks a module
LACKING = """\
import sys
sys.modules[sys.argv[1]] = None
sys.argv = ["rashpa", *sys.argv[2:]]
from rashpa.cli import entry
entry.main()
"""


@pytest.mark.parametrize("module", ["bokeh", "PIL"])
def test_a_run_whose_page_cannot_be_drawn_is_refused_before_its_nodes_start(run_path: Path, module: str) -> None:
    words = [sys.executable, "-c", LACKING, module, "run", str(run_path), "-q", "--output", "report"]
    done = subprocess.run(words, cwd=run_path.parent, capture_output=True, text=True, timeout=GUARD_S, check=False)
    assert done.returncode == 2
    assert f"report.html cannot be drawn without {module}" in done.stderr
    assert "--no-page" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (run_path.parent / "report").exists()


def test_a_library_that_is_there_and_does_not_work_costs_the_page_alone(run_path: Path) -> None:
    run_path.write_text(RUN.replace("1000000", "10"))
    folder = run_path.parent
    (folder / "lib" / "bokeh").mkdir(parents=True)
    (folder / "lib" / "bokeh" / "__init__.py").write_text("raise ImportError('its parts do not fit')\n")
    words = [sys.executable, "-m", "rashpa.cli.entry", "run", str(run_path), "-q", "--output", "report"]
    environment = {**os.environ, "PYTHONPATH": f"{folder}/lib"}
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, timeout=GUARD_S, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert "its parts do not fit" in done.stderr
    report = json.loads((folder / "report" / "report.json").read_text())
    assert any("its parts do not fit" in one for one in report["run"]["cautions"])
    assert not (folder / "report" / "report.html").exists()


def test_what_is_asked_for_before_a_run_is_what_its_page_imports() -> None:
    code = "import sys, rashpa.cli.report.report_html; print(*(name for name in sys.modules if '.' not in name))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=GUARD_S, check=True)
    assert set(PAGE_NEEDS) <= set(done.stdout.split())
    assert "matplotlib" not in done.stdout.split(), "it takes longer to import than all pictures take"


# the modules of others that `rashpa run` has imported when its first telegram is sent
AT_FIRST_TELEGRAM = """\
import os, sys
sys.argv = ["rashpa", *sys.argv[1:]]
from rashpa.cli import entry
from rashpa.control.telegrams import telegram_xml
real = telegram_xml.encode
def first(message):
    print(*(name for name in sys.modules if "." not in name), file=sys.stderr, flush=True)
    os._exit(0)
telegram_xml.encode = first
entry.main()
"""


def test_the_first_telegram_of_a_run_waits_for_no_library_that_only_its_files_need(run_path: Path) -> None:
    words = [sys.executable, "-c", AT_FIRST_TELEGRAM, "run", str(run_path), "-q", "--output", "report"]
    done = subprocess.run(words, cwd=run_path.parent, capture_output=True, text=True, timeout=GUARD_S, check=False)
    imported = set(done.stderr.split())
    assert "pydantic" in imported, done.stderr
    assert not imported & {
        "bokeh",
        "click",
        "fabio",
        "h5py",
        "hdf5plugin",
        "matplotlib",
        "numpy",
        "PIL",
        "pygments",
        "starlette",
        "uvicorn",
    }


# the modules of others that a node has imported when it says where it is
AT_ITS_URL = """\
import os, sys
sys.argv = ["rashpa", *sys.argv[1:]]
from rashpa.cli import entry
real = os.write
def first(file, data):
    if b"url" in bytes(data):
        real(2, " ".join(name for name in sys.modules if "." not in name).encode())
        os._exit(0)
    return real(file, data)
os.write = first
entry.main()
"""


@pytest.mark.parametrize("role", ["emulator", "receiver"])
def test_a_node_says_where_it_is_before_it_imports_what_only_some_orders_need(role: str) -> None:
    words = [sys.executable, "-c", AT_ITS_URL, role, "--port", "0"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=GUARD_S, check=False)
    imported = set(done.stderr.split())
    assert "uvicorn" in imported, done.stderr
    assert not imported & {
        "bokeh",
        "fabio",
        "h5py",
        "hdf5plugin",
        "httpx",
        "matplotlib",
        "PIL",
        "prometheus_client",
        "rich",
    }


# prints how long a thread of OpenBLAS looks for work, as NumPy will read it
SPINNING = """\
import atexit, os, sys
sys.argv = ["rashpa", "--version"]
from rashpa.cli import entry
atexit.register(lambda: print(os.environ["OPENBLAS_THREAD_TIMEOUT"], file=sys.stderr))
entry.main()
"""


@pytest.mark.parametrize(("given", "wanted"), [({}, "4"), ({"OPENBLAS_THREAD_TIMEOUT": "20"}, "20")])
def test_threads_of_openblas_soon_sleep_unless_the_user_says_otherwise(given: dict[str, str], wanted: str) -> None:
    usual = {name: value for name, value in os.environ.items() if name != "OPENBLAS_THREAD_TIMEOUT"}
    done = subprocess.run(
        [sys.executable, "-c", SPINNING], env=usual | given, capture_output=True, text=True, timeout=GUARD_S, check=True
    )
    assert done.stderr.split() == [wanted]
