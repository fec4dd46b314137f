# SPDX-License-Identifier: Apache-2.0
"""For all tests of Python."""

import gc
import importlib.util
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rashpa.testing.warm_nodes import WarmNodes

ROOT = Path(__file__).parent
# Benches of rtl/ have a Python of their own, without rashpa.
_HAS_RASHPA = importlib.util.find_spec("rashpa") is not None
# Seconds of a worker that files take which take long: workers begin with the longest, so that none of them ends long after the rest. They decide the order
# alone; the end of the tests names files that are missing here. 30: such a file, named and not yet
# measured by itself.
LONG = {
    "tests/chaos/test_runs.py": 263,
    "tests/files/test_hostile_hdf5.py": 244,
    "python/tests/docs/test_pages.py": 214,
    "tests/chain/test_groups.py": 133,
    "python/tests/node/judge/test_judged_receivers.py": 125,
    "tests/chain/test_examples.py": 119,
    "tests/browser/test_image_tools.py": 116,
    "tests/chain/test_overrun.py": 82,
    "tests/browser/test_dashboard.py": 68,
    "tests/chain/test_masks_of_stored_data.py": 64,
    "tests/chain/test_calibration_of_any_dataset.py": 64,
    "tests/files/test_books_of_commands.py": 60,
    "python/tests/node/test_simulated_card.py": 60,
    "python/tests/test_tutorials.py": 60,
    "python/tests/cli/test_watchers.py": 52,
    "tests/chain/test_reading_commands.py": 52,
    "tests/chain/test_card_unit.py": 42,
    "python/tests/cli/test_hostile_names.py": 41,
    "tests/chain/test_group_losses.py": 40,
    "python/tests/data/test_conformance.py": 39,
    "python/tests/control/test_manager.py": 38,
    "tests/chaos/test_checks.py": 38,
    "tests/chain/test_limits.py": 36,
    "python/tests/node/judge/test_judged_senders.py": 36,
    "python/tests/control/test_attach.py": 34,
    "python/tests/data/test_meaning_of_arrays.py": 32,
    "python/tests/node/test_strangers.py": 31,
    "tests/chain/test_nodes.py": 30,
    "tests/chain/test_accumulated_runs.py": 30,
    "python/tests/cli/test_check_and_run.py": 30,
    "python/tests/cli/test_hanging_code.py": 30,
    "python/tests/node/test_http_interface.py": 30,
    "python/tests/node/test_http_answers.py": 30,
    "python/tests/control/test_manager_claims.py": 30,
    "python/tests/cli/test_entry.py": 30,
    "python/tests/cli/test_run.py": 30,
    "tests/browser/test_report.py": 30,
    "python/tests/testing/test_prepared_python.py": 30,
    "tests/chain/test_four_modules.py": 30,
    "python/tests/control/test_manager_emulators.py": 29,
    "python/tests/dashboard/test_gate.py": 28,
}
_LONG_S = 30

# Hundreds of processes import what one of them has compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_configure() -> None:
    """Let commands of rashpa be forked from a prepared process in place of started anew (docs/decisions/0167)."""
    if _HAS_RASHPA and importlib.util.find_spec("rashpa._native") is not None:
        from rashpa.testing.prepared import prepared_python

        prepared_python.install()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of long files first; with `--dist loadfile --no-loadscope-reorder` workers take files in this order."""
    items.sort(key=lambda item: -LONG.get(str(item.path.relative_to(ROOT)), 0))


def pytest_collection_finish() -> None:
    """Modules and tests that are there by now stay to the end. Python's collector passes over them from here on: it takes a tenth of a second and more for
    them, and pyFAI calls it with every geometry that is read."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name long files that `LONG` lacks."""
    seconds: Counter[str] = Counter()
    for report in (one for reports in terminalreporter.stats.values() for one in reports):
        seconds[getattr(report, "nodeid", "").partition("::")[0]] += getattr(report, "duration", 0.0)
    missing = [f"{name} {taken:.0f} s" for name, taken in seconds.most_common() if taken > _LONG_S and name not in LONG]
    if missing:
        terminalreporter.write_line(f"long files that conftest.LONG lacks: {', '.join(missing)}")


@pytest.fixture
def ordinary_starts() -> Iterator[None]:
    """Start commands as users do: for tests of starts, of ends, and of the processes that a command has."""
    from rashpa.testing.prepared import prepared_python

    with prepared_python.ordinary_starts():
        yield


@pytest.fixture(scope="module")
def warm_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator["WarmNodes"]:
    """Nodes that stay up from one run of a file's tests to the next."""
    pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    from rashpa.testing.warm_nodes import WarmNodes

    with WarmNodes(tmp_path_factory.getbasetemp()) as nodes:
        yield nodes


@pytest.fixture(scope="module", autouse=True)
def _judged_files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fail a file of tests of which a test has written an NXmx file that `rashpa check` calls wrong."""
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
