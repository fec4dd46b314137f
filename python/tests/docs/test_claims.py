# SPDX-License-Identifier: Apache-2.0
"""Claims of pages about the program are true: quoted messages, lists of parts, and missing features."""

import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from python.tests.docs.pages import ROOT, blocks_of, developer_pages, pages, spans_of
from python.tests.docs.typed import commands_of_the_program

from rashpa.control.runfile.reading.older_places import as_placed_now

TROUBLES = ROOT / "docs" / "how-to" / "troubleshooting.md"
ALL_PAGES = [*pages(), *developer_pages(), *sorted((ROOT / "python" / "rashpa").rglob("*.md"))]
TASKS = ROOT / "docs" / "how-to" / "find_a_command.md"
MISSING = re.compile(
    r"[^.!?|\n]*\b(not there yet|planned, and|planned:|not yet (?:there|written|built|possible|supported|implemented)"
    r"|no \w+ of today|nothing of today|is still missing|to be written)\b[^.!?|]*",
    re.IGNORECASE,
)


@cache
def source() -> str:
    """Return all text of the program, with adjacent string literals joined and with single blanks."""
    folders = ((ROOT / "python" / "rashpa", "*.py"), (ROOT / "src", "*.?pp"))
    files = [path for folder, pattern in folders for path in sorted(folder.rglob(pattern))]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files if "_test." not in path.name)
    return re.sub(r"\s+", " ", re.sub(r"[\"']\s*[fr]?[\"']", "", text))


def symptoms(text: str) -> list[str]:
    """Return the messages in the first column of the tables."""
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


def unknown_pieces(message: str, text: str) -> list[str]:
    """Return the pieces of a message between its … that the program does not contain."""
    return [piece for part in message.split("…") if len(piece := part.strip()) > 2 and piece not in text]


@pytest.mark.parametrize("message", symptoms(TROUBLES.read_text(encoding="utf-8")))
def test_a_message_of_the_page_of_troubles_is_one_of_the_program(message: str) -> None:
    assert unknown_pieces(message, source()) == []


def test_a_message_that_the_program_does_not_have_is_found() -> None:
    assert unknown_pieces("memory: a buffer of … MiB is too shy", source()) == ["MiB is too shy"]


def test_the_page_of_tasks_has_every_command() -> None:
    named = {span.split()[1] for span in spans_of(TASKS.read_text(encoding="utf-8")) if span.startswith("rashpa ")}
    assert sorted(set(commands_of_the_program()) - named) == []


def documented_words() -> set[str]:
    """Return the words that identify pages: those of their file names and titles."""
    titles = [
        f"{path.stem.replace('_', ' ')} {line.removeprefix('# ')}"
        for path in (ROOT / "docs").rglob("*.md")
        if "decisions" not in path.parts
        for line in path.read_text(encoding="utf-8").splitlines()[:4]
        if line.startswith("# ")
    ]
    ordinary = {"from", "with", "what", "without", "there", "when", "another", "test", "first", "each", "other", "file"}
    return {word for title in titles for word in re.findall(r"[a-z0-9_]{4,}", title.lower())} - ordinary


def called_missing(text: str) -> list[tuple[str, set[str]]]:
    """Return the sentences that call something missing, with the words in them for which there is a page."""
    known = documented_words()
    found = []
    for sentence in MISSING.finditer(text):
        words = {word.rstrip("s") for word in re.findall(r"[a-z0-9_]{4,}", sentence[0].lower())}
        if documented := {word for word in known if word.rstrip("s") in words}:
            found.append((sentence[0].strip(), documented))
    return found


# Sentences about one moment of a run, not about the program.
MOMENTS = ("a ring that is not there yet", "those that are not there yet go on to it")


@pytest.mark.parametrize("path", [*pages(), ROOT / "ARCHITECTURE.md"], ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_is_called_missing_that_a_page_documents(path: Path) -> None:
    found = called_missing(path.read_text(encoding="utf-8"))
    assert [one for one in found if not any(moment in one[0].lower() for moment in MOMENTS)] == []


def test_a_sentence_that_calls_a_documented_thing_missing_is_found() -> None:
    old = "Planned, and not there yet: several GPUs, the stream2 sink, the dashboard. There is no stub.\n"
    assert {"stream2", "sink"} <= called_missing(old)[0][1]
    assert called_missing("Time travel is not there yet.") == []


KERNELS = {
    one["name"]: one["units"] for one in json.loads((ROOT / "schema" / "kernels.json").read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("name", KERNELS)
def test_the_page_of_a_kernel_names_the_units_that_have_it(name: str) -> None:
    text = (ROOT / "docs" / "kernels" / f"{name}.md").read_text(encoding="utf-8")
    sentences = re.findall(r"\b[Uu]nits? (?=`)[^.]*", text)
    named = {word for sentence in sentences for word in re.findall(r"`(cpu|cuda|opencl|fpga)`", sentence)}
    assert named == set(KERNELS[name])


def test_the_page_of_groups_names_every_key_that_a_group_refuses() -> None:
    program = (ROOT / "python" / "rashpa" / "control" / "plan" / "groups.py").read_text(encoding="utf-8")
    refused = set(
        re.findall(
            r"""source\.where\(\(["'](?:run|link|faults|detector)["'](?:, ["']\w+["'])*, ["'](\w+)["']\)\)""", program
        )
    )
    refused |= {"feedback", *re.findall(r'sink\.kind == "(\w+)"', program)}
    assert {"frames", "series_frames", "trigger", "flow", "records", "dead_modules"} <= refused
    text = (ROOT / "docs" / "how-to" / "use_a_group.md").read_text(encoding="utf-8").split("## Limits of a group")[1]
    assert [key for key in sorted(refused) if not re.search(rf"`[^`]*\b{key}\b[^`]*`", text)] == []


def test_examples_have_numbers_of_their_own() -> None:
    numbers = [path.name.split("_")[0] for path in (ROOT / "examples").iterdir() if path.name[:2].isdigit()]
    assert sorted(set(numbers)) == sorted(numbers)


def test_the_readme_lists_what_the_registries_have() -> None:
    command = [sys.executable, str(ROOT / "tools" / "make_works.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_first_pages_are_short() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 70
    run = next(block for block in blocks_of("README.md", readme) if block.language == "toml")
    assert len(run.text.splitlines()) <= 10
    assert ".webp)" in readme


@cache
def files_of_the_repository() -> frozenset[str]:
    """Return the names of all files and folders, from the root."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return frozenset(str(path) for name in listed for path in (Path(name), *Path(name).parents))


@cache
def ends(known: frozenset[str]) -> frozenset[str]:
    """Return all endings of these names: `link.hpp`, `link/link.hpp`, …"""
    return frozenset(
        "/".join(parts[at:])
        for parts in map(str.split, (name.replace("/", " ") for name in known))
        for at in range(len(parts))
    )


_PATH = re.compile(r"(?:src|python|docs|tools|tests|bench|schema|examples|rtl|sim|cmake|packaging)/[\w./@-]+")
_SOURCE = re.compile(r"[a-z][\w/-]+\.(?:hpp|cpp|cu|cuh|cl|rdl|xsd)")


def gone(text: str, known: frozenset[str]) -> list[str]:
    """Return the files that code in sentences names and that the repository lacks; NAME matches any name."""
    spans = {span.rstrip("/") for span in spans_of(text) if not re.search(r"[A-Z]{3}|\bx[._/]", span)}
    paths = {span for span in spans if _PATH.fullmatch(span)}
    sources = {span for span in spans - paths if _SOURCE.fullmatch(span)}
    return sorted((paths - known) | (sources - ends(known)))


def test_files_that_pages_name_are_there() -> None:
    known = files_of_the_repository()
    found = {str(path.relative_to(ROOT)): gone(path.read_text(encoding="utf-8"), known) for path in ALL_PAGES}
    assert {name: files for name, files in found.items() if files} == {}


MADE_LATER = {"bench/peers/PEER.txt"}  # with the name of a peer
_NAMED = re.compile(
    r"(?<![\w/.:<{$-])(?:src|python|tests|tools|docs|schema|bench|rtl|examples|sim|packaging)/[\w./-]*\w"
    r"\.(?:py|hpp|cpp|cuh?|md|toml|json|xsd|rdl|sh|sv|txt|yml|ipynb)\b"
)


def test_files_that_the_source_names_are_there() -> None:
    known = ends(files_of_the_repository())
    sources = [
        name
        for name in files_of_the_repository()
        if name.startswith(("src/", "python/rashpa/", "tools/", "sim/", "bench/", "cmake/"))
    ]
    found = {
        name: lost
        for name in sorted(sources)
        if Path(name).suffix in {".py", ".hpp", ".cpp", ".cu", ".cuh", ".cmake", ".sh", ".toml"}
        and (ROOT / name).is_file()
        if (lost := set(_NAMED.findall((ROOT / name).read_text(encoding="utf-8"))) - known - MADE_LATER)
    }
    assert found == {}


def test_a_file_that_has_moved_is_found() -> None:
    known = frozenset({"src/rashpa/link/link.hpp", "src/rashpa/link", "tools"})
    text = "See `src/rashpa/links/link.hpp`, `assembly.hpp` and `link.hpp`."
    assert gone(text, known) == ["assembly.hpp", "src/rashpa/links/link.hpp"]
    assert gone("See `src/rashpa/link/link.hpp`, `tests/fuzz/corpus/NAME`.", known) == []


def test_the_index_of_decisions_lists_all_but_a_few_new_records() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = set(re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", (folder / "README.md").read_text(encoding="utf-8")))
    files = {path.name for path in folder.glob("[0-9]*.md")}
    assert sorted(listed - files) == []
    unlisted = sorted(files - listed - {"0000-template.md"})  # several may be written at the same time
    assert len(unlisted) <= 4, unlisted


def test_run_files_of_pages_and_examples_have_their_keys_where_today_has_them() -> None:
    texts = {
        block.where: block.text
        for page in pages()
        for block in blocks_of(str(page), page.read_text(encoding="utf-8"))
        if block.language == "toml" and page.stem != "compatibility"
    }
    texts |= {str(path): path.read_text(encoding="utf-8") for path in (ROOT / "examples").rglob("*.toml")}
    moves = {where: as_placed_now(tomllib.loads(text))[1] for where, text in texts.items()}
    older = {where: [move.text for move in found if move.cautioned] for where, found in moves.items()}
    assert {where: found for where, found in older.items() if found} == {}
