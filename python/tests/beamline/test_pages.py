# SPDX-License-Identifier: Apache-2.0
"""Pages on Bluesky, Tango and EPICS are typed from top to bottom, with the packages that they need."""

from pathlib import Path

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
pytest.importorskip("ophyd_async", reason="rashpa[bluesky] is not installed: make test-beamline")

from python.tests.docs.as_typed import has_own_network, try_page
from python.tests.docs.pages import BEAMLINE, pages

pytestmark = pytest.mark.whole

PAGES = [path for path in pages() if path.stem in BEAMLINE]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.stem))
def test_a_page_can_be_typed(page: Path, tmp_path: Path) -> None:
    if not has_own_network() and page.stem != "from_bluesky":
        pytest.skip("listens on ports of its own: unshare --net")
    try_page(page, tmp_path, tmp_path)
