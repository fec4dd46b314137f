# SPDX-License-Identifier: Apache-2.0
"""Pages of several releases are side by side, and the index leads to the newest."""

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from urllib.parse import urljoin

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "release" / "docs_versions.py"


def archive(folder: Path, version: str, inner: str = "") -> Path:
    """Make the pages of a release."""
    path = folder / f"rashpa-{version}-docs.tar.gz"
    with tarfile.open(path, "w:gz") as pages:
        for name in ("index.html", "how-to/index.html"):
            text = f"pages of {version}".encode()
            entry = tarfile.TarInfo(f"{inner or f'rashpa-{version}-docs'}/{name}")
            entry.size = len(text)
            pages.addfile(entry, io.BytesIO(text))
    return path


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, TOOL, *words], capture_output=True, text=True, check=False)


def test_each_version_has_a_folder_and_the_newest_comes_first(tmp_path: Path) -> None:
    site = tmp_path / "site"
    assert run(site, archive(tmp_path, "0.9.0"), archive(tmp_path, "0.10.1")).returncode == 0
    assert run(site, archive(tmp_path, "0.3.0")).returncode == 0
    listed = json.loads((site / "versions.json").read_text())
    assert [one["version"] for one in listed] == ["0.10.1", "0.9.0", "0.3.0"]
    assert [one["aliases"] for one in listed] == [["latest"], [], []]
    assert (site / "0.9.0" / "how-to" / "index.html").read_text() == "pages of 0.9.0"
    assert "url=0.10.1/" in (site / "index.html").read_text()


@pytest.mark.parametrize("inner", ["../outside", "rashpa-9.9.9-docs"])
def test_an_archive_with_other_paths_is_refused(tmp_path: Path, inner: str) -> None:
    done = run(tmp_path / "site", archive(tmp_path, "0.4.0", inner))
    assert done.returncode == 2
    assert "is not below rashpa-0.4.0-docs" in done.stderr
    assert not (tmp_path / "outside").exists()


def test_a_folder_without_pages_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path / "site")
    assert done.returncode == 2
    assert "there are no pages" in done.stderr


def test_a_site_alone_lists_itself_where_its_menu_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "build" / "docs" / "tools"))
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    hooks = pytest.importorskip("docs_hooks", reason="MkDocs is not installed: make docs")
    hooks.on_post_build(config={"site_dir": str(tmp_path)})
    base = "http://127.0.0.1:8000/"
    wanted = urljoin(base, "../versions.json").removeprefix(base)
    (entry,) = json.loads((tmp_path / wanted).read_text())
    assert urljoin(base, f"../{entry['version']}/") == base
    version = subprocess.run([ROOT / "tools" / "release" / "version.sh"], capture_output=True, text=True, check=True)
    assert entry["title"] == version.stdout.strip()
    assert "latest" in entry["aliases"]


def test_pages_have_the_menu_of_versions() -> None:
    assert "version: {provider: mike}" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
