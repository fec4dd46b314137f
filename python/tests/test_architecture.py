# SPDX-License-Identifier: Apache-2.0
"""The map in ARCHITECTURE.md is true: everything that it names exists, and all existing folders are named."""

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def table() -> dict[str, list[str]]:
    """Return each row's subject and its paths."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| (`.+?`) \|$", text.split("## Where is …?")[1], re.MULTILINE)
    return {what: re.findall(r"`([^`]+)`", where) for what, where in rows}


def test_every_path_in_the_table_exists() -> None:
    rows = table()
    assert rows
    gone = [f"{what}: {path}" for what, paths in rows.items() for path in paths if not (ROOT / path).exists()]
    assert gone == []


def test_every_folder_of_the_data_plane_is_in_the_map() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\]\(src/rashpa/(\w+)/README.md\)", text))
    assert named == {path.parent.name for path in (ROOT / "src" / "rashpa").glob("*/CMakeLists.txt")}


def test_the_map_is_short() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()) <= 150


def folders_of_source() -> list[Path]:
    """Return the folders with Python or C++ source."""
    python = {path.parent for path in (ROOT / "python" / "rashpa").rglob("*.py")} - {ROOT / "python" / "rashpa"}
    native = {path.parent for path in (ROOT / "src" / "rashpa").rglob("*.?pp")}
    return sorted(python | native)


@pytest.mark.parametrize("folder", folders_of_source(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_folder_has_a_readme_to_which_its_parent_leads(folder: Path) -> None:
    assert (folder / "README.md").is_file()
    above = folder.parent / "README.md"
    if above.is_file():
        assert f"]({folder.name}/README.md)" in above.read_text(encoding="utf-8")


def test_the_lists_of_files_are_complete() -> None:
    command = [sys.executable, str(ROOT / "tools" / "make_rooms.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda room: (room / "a.py").write_text('"""Read later words."""\n'), "python/x/README.md: is older than its files: | `a.py` |"),
        (lambda room: (room / "b.py").write_text('"""Write."""\n'), "python/x/README.md: lacks b.py;"),
        (lambda room: (room / "a.py").unlink(), "python/x/README.md: names a.py, which is gone;"),
    ],
    ids=["words", "lacks", "gone"],
)  # fmt: skip
def test_a_list_that_its_files_no_longer_make_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object], says: str
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    rooms = importlib.import_module("make_rooms")
    monkeypatch.setattr(rooms, "ROOT", tmp_path)
    room = tmp_path / "python" / "x"
    room.mkdir(parents=True)
    (room / "c.py").write_text('"""Keep."""\n')
    (room / "a.py").write_text('"""Read early words."""\n')
    (room / "README.md").write_text(f"# X\n\n{rooms.BEGIN}\n{rooms.END}\n")
    rooms.write(room)
    assert rooms.problems(room) == []
    change(room)
    assert [problem[: len(says)] for problem in rooms.problems(room)] == [says]


def test_links_between_the_texts_lead_somewhere() -> None:
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("schema/*.md")]
    texts += [*ROOT.glob("src/**/*.md"), *ROOT.glob("python/rashpa/**/*.md")]
    broken = [
        f"{text.relative_to(ROOT)}: {target}"
        for text in texts
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text.read_text(encoding="utf-8"))
        if not (text.parent / target).exists()
    ]
    assert broken == []


def test_no_file_names_a_path_of_one_machine() -> None:
    texts = [
        path for pattern in ("*.md", "docs/**/*.md", "examples/*", "tools/*", ".ci/*") for path in ROOT.glob(pattern)
    ]
    assert [str(path) for path in texts if path.is_file() and f"{ROOT}/" in path.read_text(encoding="utf-8")] == []


def test_the_declarations_of_the_kernels_are_up_to_date() -> None:
    pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    command = [sys.executable, str(ROOT / "tools" / "make_kernels.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_reference_of_run_file_and_commands_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "tools" / "make_reference.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_kernel_has_a_page() -> None:
    names = [kernel["name"] for kernel in json.loads((ROOT / "schema/kernels.json").read_text())]
    index = (ROOT / "docs/index.md").read_text()
    assert names
    for name in names:
        assert (ROOT / f"docs/kernels/{name}.md").is_file()
        assert f"(kernels/{name}.md)" in index
