# SPDX-License-Identifier: Apache-2.0
"""Pages are typed from top to bottom: commands and Python are run, run files and their fragments are planned."""

import os
from pathlib import Path

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from python.tests.docs import as_typed
from python.tests.docs.as_typed import run_blocks, try_page
from python.tests.docs.pages import BEAMLINE, COMMANDS, ROOT, pages
from python.tests.docs.try_page import shortened

pytestmark = pytest.mark.whole

# Adds addresses, in a network that has the MTU of an Ethernet.
OWN_NETWORK = {"two_computers"}
TYPED = [path for path in pages() if path.stem not in BEAMLINE and run_blocks(path)]


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of runs that pages share, one for all processes of this call of pytest."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "runs"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", TYPED, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_can_be_typed(page: Path, tmp_path: Path, runs: Path) -> None:
    if page.stem in OWN_NETWORK and not as_typed.has_own_network():
        pytest.skip("needs addresses of its own: unshare --net, ip")
    try_page(page, tmp_path, runs, before="ip link set lo mtu 1500" if page.stem in OWN_NETWORK else "")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("```sh\nrashpa plan nowhere.toml\n```\n", "nowhere.toml"),
        ("```sh\nexport A=1\n```\n\n```sh\ntest $A = 2\n```\n", "page.md:5: "),
        ("```python\na = 1\n```\n```python\nassert a == 2\n```\n", "assert a == 2"),
        ("```toml\n[run]\nframes_ = 3\n```\n", "frames_"),
        ("<!-- stays: ready -->\n```sh\necho steady\n```\n", "does not say 'ready'"),
        ("<!-- stays: ready -->\n```sh\necho ready; exit 7\n```\n", "ends with 7"),
    ],
)
def test_what_is_wrong_with_a_page_is_found(
    text: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(as_typed, "ROOT", tmp_path)
    (tmp_path / "examples").mkdir()
    page = tmp_path / "page.md"
    page.write_text(text)
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(AssertionError, match=says):
        try_page(page, folder, tmp_path)


def test_several_pages_begin_with_the_shared_block() -> None:
    firsts = [next(block.script for block in run_blocks(page) if block.language in COMMANDS or block.language == "python")
              for page in TYPED if any(block.script == as_typed.SHARED for block in run_blocks(page))]  # fmt: skip
    assert len(firsts) > 3
    assert set(firsts) == {as_typed.SHARED}


def test_a_shared_block_is_typed_once_and_its_files_are_there_on_each_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(as_typed, "ROOT", tmp_path)
    monkeypatch.setattr(as_typed, "SHARED", "date +%N > made\n")
    (tmp_path / "examples").mkdir()
    page = tmp_path / "page.md"
    page.write_text("```sh\ndate +%N > made\n```\n")
    said = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        try_page(page, tmp_path / name, tmp_path / "runs")
        said.append((tmp_path / name / "made").read_text())
    assert said[0] == said[1]


def test_run_files_of_pages_end_soon() -> None:
    text = "[run]\nframes = 100_000\n\n[dataset]  # played again\n# few\nkind = 'jungfrau'\nframes = 64\n\n[link]\nframes = 3\n"
    wanted = text.replace("100_000", "20").replace("64", "10")
    assert shortened(text, 20) == wanted
    assert shortened("dataset = {kind = 'a', frames = 60}\nrun = {frames = 600}\n", 60) == (
        "dataset = {kind = 'a', frames = 10}\nrun = {frames = 60}\n"
    )
