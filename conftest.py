# SPDX-License-Identifier: Apache-2.0
"""Configures all Python tests."""

import functools
import gc
import importlib.util
import json
import os
import signal
import sys
import threading
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rashpa.testing.warm_nodes import WarmNodes

ROOT = Path(__file__).parent
# Benches of rtl/ have a Python of their own, without rashpa.
_HAS_RASHPA = importlib.util.find_spec("rashpa") is not None
# Seconds that a worker has for files which take long: workers begin with the longest, so that none of them ends long after the rest. They decide the order
# alone. `--store-seconds` writes those of its run, for files that it has run whole.
SECONDS = ROOT / "tests" / "seconds.json"
_LONG_S = 5

# Hundreds of processes import what one of them has compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Threads of OpenMP, as pyFAI has them, otherwise keep a processor busy while they wait for each other: workers have fewer processors than such threads.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# Each process that imports numpy otherwise starts threads of OpenBLAS, which keep a processor busy for 30 ms before they sleep.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_configure(config: pytest.Config) -> None:
    """Fork commands of rashpa from a prepared process in place of new starts (docs/decisions/0167)."""
    _take_interrupts()
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        config.args[:] = _own_order(config.args)
    if _HAS_RASHPA and importlib.util.find_spec("rashpa._native") is not None:
        from rashpa.testing.prepared import prepared_python

        prepared_python.install()
    if _HAS_RASHPA:
        _read_authorities_once()
        _wait_for_answers()


def _wait_for_answers() -> None:
    """Let requests of tests that name no time limit wait as long as a test may take, not 5 s: a server on a busy machine answers late."""
    from httpx._config import DEFAULT_TIMEOUT_CONFIG

    from rashpa.testing.waiting import GUARD_S

    DEFAULT_TIMEOUT_CONFIG.read = GUARD_S


def _take_interrupts() -> None:
    """Take SIGINT and SIGQUIT as in the foreground. Background commands of shells ignore both, and so would all programs that tests start and interrupt."""
    if threading.current_thread() is not threading.main_thread():
        return
    for one, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
        if signal.getsignal(one) is signal.SIG_IGN:
            signal.signal(one, handler)


def _read_authorities_once() -> None:
    """Make httpx clients share the system's certificate authorities; otherwise each client reads all of them, which takes 20 ms of a processor."""
    from httpx._transports import default

    transports: Any = default
    transports.create_ssl_context = functools.cache(transports.create_ssl_context)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that stores the duration of test files."""
    parser.addoption(
        "--store-seconds", action="store_true", help="write the seconds of long files to tests/seconds.json"
    )


def _own_order(paths: list[str]) -> list[str]:
    """Return the folders of tests, and begin with others in each worker. In a fresh clone each worker then compiles a part of all files, and finds the rest compiled."""
    inside = (one for path in paths for one in (ROOT / path).iterdir())
    names = sorted(str(one) for one in inside if one.is_dir() or one.match("test_*.py"))
    worker, workers = (os.environ.get(f"PYTEST_XDIST_WORKER{what}", "") for what in ("", "_COUNT"))
    first = len(names) * int(worker.removeprefix("gw")) // int(workers) if worker and workers else 0
    return [*names[first:], *names[:first]]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of long files first; with `--dist loadfile --no-loadscope-reorder` workers take files in this order, which is the same for all."""
    long = _stored_seconds()
    paths = {path: str(path.relative_to(ROOT)) for path in {item.path for item in items}}
    items.sort(key=lambda item: (-long.get(paths[item.path], 0), paths[item.path]))


def _stored_seconds() -> dict[str, int]:
    seconds: dict[str, int] = json.loads(SECONDS.read_text(encoding="utf-8"))
    return seconds


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let the collector wait until all tests are there: it finds nothing among modules and tests, and looks at more of them each time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Exclude all present objects from garbage collection."""
    _freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Exclude large packages that a test has imported from garbage collection, too."""
    if len(sys.modules) > _Frozen.modules + _MANY_MODULES:
        _freeze()


class _Frozen:
    """Holds the number of modules that are excluded from garbage collection."""

    modules = 0


_MANY_MODULES = 50


def _freeze() -> None:
    """Exclude all present objects from garbage collection: modules and tests stay to the end. A collection takes a tenth of a second and more for
    them, and pyFAI runs one with every geometry that is read."""
    gc.collect()
    gc.freeze()
    _Frozen.modules = len(sys.modules)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Store the seconds of this run's files with those of files that were not run, if requested."""
    if not config.getoption("--store-seconds"):
        return
    seconds: dict[str, float] = defaultdict(float)
    for report in (one for reports in terminalreporter.stats.values() for one in reports):
        seconds[getattr(report, "nodeid", "").partition("::")[0]] += getattr(report, "duration", 0.0)
    stored = {name: float(took) for name, took in _stored_seconds().items() if (ROOT / name).is_file()}
    known = stored | seconds
    long = {name: round(took) for name, took in known.items() if name and round(took) >= _LONG_S}
    ordered = dict(sorted(long.items(), key=lambda one: (-one[1], one[0])))
    SECONDS.write_text(json.dumps(ordered, indent=2) + "\n", encoding="utf-8")


@pytest.fixture
def ordinary_starts() -> Iterator[None]:
    """Start commands as users do, for tests of starts, of ends, and of a command's processes."""
    from rashpa.testing.prepared import prepared_python

    with prepared_python.ordinary_starts():
        yield


@pytest.fixture(scope="module")
def warm_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator["WarmNodes"]:
    """Return nodes that keep running from one run of a file's tests to the next."""
    pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    from rashpa.testing.warm_nodes import WarmNodes

    with WarmNodes(tmp_path_factory.getbasetemp()) as nodes:
        yield nodes


@pytest.fixture(scope="module", autouse=True)
def _judged_files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fail a file of tests when one of them has written an NXmx file that `rashpa check` calls wrong."""
    folder = tmp_path_factory.getbasetemp()
    before = set(folder.iterdir())
    yield
    new = sorted(set(folder.iterdir()) - before)
    if not new or not _HAS_RASHPA:
        return
    from rashpa.testing.judged_files import exempt, wrong_files

    if exempt(request.path):
        return
    if wrong := wrong_files([one for one in new if one.is_dir() and not one.is_symlink()]):
        pytest.fail("rashpa check:\n" + "\n".join(wrong[:20]), pytrace=False)
