# SPDX-License-Identifier: Apache-2.0
"""For all tests of Python."""

import gc


def pytest_collection_finish() -> None:
    """Modules and tests that are there by now stay to the end. Python's collector passes over them from here on: it takes a tenth of a second and more for
    them, and pyFAI calls it with every geometry that is read."""
    gc.collect()
    gc.freeze()
