# SPDX-License-Identifier: Apache-2.0
"""The check of waits finds sleeps and yields in tests, and in the project itself only those with a reason."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "check_waits.py"


@pytest.fixture(scope="module")
def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_waits", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(TOOL.parent)  # what stands beside it
        spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("src/rashpa/link/a_test.cpp", "int a;\nwhile (!b) std::this_thread::yield();\n", [2]),
        ("src/rashpa/link/testing/link_contract.hpp", "std::this_thread::sleep_for(1ms);\n", [1]),
        ("src/rashpa/unit/contract/bench.cpp", "usleep(5);\n", [1]),
        ("sim/card/testing.hpp", "std::this_thread::sleep_for(1ms);  // wait: its own pace\n", []),
        ("sim/card/testing.hpp", "std::this_thread::sleep_for(1ms);  // wait:\n", [1]),
        ("src/rashpa/link/verbs/sender.cpp", "std::this_thread::yield();\n", []),
        ("src/rashpa/core/testing/testing.hpp", "std::this_thread::yield();\n", []),
        ("python/tests/node/test_a.py", "x = 1\ntime.sleep(3)\nawait asyncio.sleep(0)\n", [2, 3]),
        ("python/tests/node/test_a.py", "time.sleep(3)  # wait: it is slow\n", []),
        ("python/rashpa/node/state/node.py", "await asyncio.sleep(1)\n", []),
    ],
)
def test_a_wait_without_a_condition_is_found(check: ModuleType, name: str, text: str, lines: list[int]) -> None:
    assert list(check.places(name, text)) == lines


def test_no_test_of_the_project_waits_for_a_time_without_a_reason() -> None:
    done = subprocess.run([sys.executable, str(TOOL)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
