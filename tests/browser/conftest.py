# SPDX-License-Identifier: Apache-2.0
"""Starts Debian's Chromium, driven by Playwright, once for all tests of a module. Screenshots go to out/browser.

Its headless shell is preferred where it is installed: it draws the same pages without window decorations, and needs a sixth less processor time.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
# nobody is shut out of a sandbox whose pages are all ours; root has none, and containers have little shared memory
OPTIONS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
PICTURES = Path("out/browser")


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("Debian's Chromium is not installed (packages-browser.txt)")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with api.sync_playwright() as play:
        found = play.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield found
        found.close()


@pytest.fixture(scope="session")
def patience_s() -> float:
    """Return the seconds that a page may take for any step; machines of tests are shared."""
    return 30.0 if os.environ.get("RASHPA_QUIET") else 90.0
