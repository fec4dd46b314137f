# SPDX-License-Identifier: Apache-2.0
"""Skips these tests, which start a cluster, unless they are selected: `make test-slurm`."""

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "slurm" in str(config.getoption("-m")):
        return
    for item in items:
        if item.get_closest_marker("slurm"):
            item.add_marker(pytest.mark.skip(reason="starts a cluster: make test-slurm"))
