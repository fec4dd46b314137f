# SPDX-License-Identifier: Apache-2.0
"""For all tests of Python."""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rashpa.testing.warm_nodes import WarmNodes

ROOT = Path(__file__).parent
# Seconds of files that take longer than others, on two cores: workers begin with the longest, so that none of them ends long after the rest. It
# decides the order alone; `make test` names what is missing here.
LONG: dict[str, int] = {}
_LONG_S = 25

# Hundreds of processes import what one of them has compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of long files first; with `--dist loadfile --no-loadscope-reorder` workers take files in this order."""
    items.sort(key=lambda item: -LONG.get(str(item.path.relative_to(ROOT)), 0))


def pytest_collection_finish() -> None:
    """Modules and tests that are there by now stay to the end. Python's collector passes over them from here on: it takes a tenth of a second and more for
    them, and pyFAI calls it with every geometry that is read."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def warm_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator["WarmNodes"]:
    """Nodes that stay up from one run of a file's tests to the next."""
    pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    from rashpa.testing.warm_nodes import WarmNodes

    with WarmNodes(tmp_path_factory.getbasetemp()) as nodes:
        yield nodes
