# SPDX-License-Identifier: Apache-2.0
"""Cited documents exist in this repository, and cited tests have the given names."""

import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OWN = Path(__file__).relative_to(ROOT)
# documents of those who made the plan; what readers need of them stands in docs/
ELSEWHERE = re.compile(r"(?<![\w/])(?:DESIGN|conventions|roce|jungfrau|kernels|style)\.md\b|\bDESIGN\b (?:section )?\d")
WORDS = {".py", ".cpp", ".hpp", ".cu", ".cuh", ".md", ".sh", ".cmake", ".xsd", ".toml", ".json", ".txt"}


@cache
def texts() -> dict[Path, str]:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    files = [Path(name) for name in listed if name]
    kept = [path for path in files if path.suffix in WORDS and "corpus" not in path.parts and (ROOT / path).is_file()]
    return {path: (ROOT / path).read_text(encoding="utf-8") for path in kept}


def test_nothing_cites_documents_that_are_not_here() -> None:
    found = [
        f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for path, text in texts().items()
        if path != OWN
        for match in ELSEWHERE.finditer(text)
    ]
    assert found == [], "say it in docs/, and cite the page"


def test_tests_that_texts_name_exist() -> None:
    names = {path.name for path in texts()}
    gone = [
        f"{path}: {name}"
        for path, text in texts().items()
        if path.suffix == ".md" and path.parts[0] != "changes"
        for name in re.findall(r"\b(\w+_test\.(?:cpp|cu)|test_\w+\.py)\b", text)
        if name not in names
    ]
    assert gone == []


def test_test_cases_that_texts_name_exist() -> None:
    cases = set()
    for path, text in texts().items():
        if path.suffix in {".cpp", ".cu"}:
            found = re.findall(r"\b(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", text)
            cases |= {f"{suite}.{case}" for suite, case in found} | {case for _, case in found}
        if path.suffix == ".py":
            cases |= set(re.findall(r"^\s*(?:async )?def (test_\w+)\(", text, re.MULTILINE))
    suites = {case.partition(".")[0] for case in cases if "." in case}
    gone = []
    for path, text in texts().items():
        if path.suffix != ".md" or path.parts[0] == "changes":
            continue
        named = re.findall(r"`(?:rashpa_\w+_test.*?)?([A-Z]\w+\.[a-z]\w+_\w+)`", text) + re.findall(
            r"`(test_\w+)`", text
        )
        gone += [
            f"{path}: {name}"
            for name in named
            if name not in cases and (name.partition(".")[0] in suites or name.startswith("test_"))
        ]
    assert gone == []
