#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes one place of a C++ file at a time, and says which changes no unit test finds.

Usage: mutate_cpp.py FILE PROGRAM [--count N] [--seed S] [--filter TESTS]. PROGRAM is the test program of that file in build/release (a target of ninja), built
already. Each change is compiled alone, and linked before the library that has the file; nothing of the tree or of the build is touched. A change that tests
find is killed; a program that does not end within a minute is killed, too. Exit 1 when one survives.
"""

import argparse
import random
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
LONGEST_S = 60
CHANGES = (
    (r" < ", " <= "),
    (r" <= ", " < "),
    (r" > ", " >= "),
    (r" >= ", " > "),
    (r" == ", " != "),
    (r" != ", " == "),
    (r" && ", " || "),
    (r" \|\| ", " && "),
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r"\+\+", "--"),
    (r" \+= ", " -= "),
    (r"std::min", "std::max"),
    (r"std::max", "std::min"),
    (r"\b0;", "1;"),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"if \(!", "if ("),
    (r"^( +)[a-z_.>\-]+[(\[].*\);$", r"\1;"),
    (r"^( +)[a-z_.>\-\[\]]+ = .*;$", r"\1;"),
)
NO_CODE = re.compile(
    r"^\s*(//|#|\*|using|namespace|static_assert|template)|log::|fmt::|ConfigError|constexpr|memory_order"
)


def places(lines: list[str]) -> list[tuple[int, str]]:
    """Return all changes: the number of a line, and its new text."""
    found = []
    for number, line in enumerate(lines):
        if NO_CODE.search(line):
            continue
        for pattern, other in CHANGES:
            found += [
                (number, line[: at.start()] + at.expand(other) + line[at.end() :]) for at in re.finditer(pattern, line)
            ]
    return found


def commands(program: str, file: Path) -> tuple[list[str], list[str]]:
    """Return the commands that compile the file, without what it writes, and that link the program."""
    told = subprocess.run(  # noqa: S603
        ["ninja", "-C", str(BUILD), "-t", "commands", program],  # noqa: S607
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    compiles = next(line for line in told if str(file) in line and " -c " in line)
    links = next(line for line in reversed(told) if f"-o {program}" in line or f"/{program} " in line)
    words = shlex.split(compiles)
    words = words[next(i for i, word in enumerate(words) if word.endswith("++")) :]
    kept, skip = [], 0
    for word in words:
        if skip:
            skip -= 1
        elif word in ("-o", "-MF", "-MT", "-include", "-c"):
            skip = 1
        elif word not in ("-MD", "-fpch-preprocess", "-Winvalid-pch", "-Werror") and word != str(file):
            kept.append(word)
    link = shlex.split(links.split("&&")[1] if "&&" in links else links)
    return [*kept, "-O0", "-w"], link


def outcome_of(text: str, compiler: list[str], linker: list[str], tests: str) -> str:
    """Return the fate of a changed file."""
    with tempfile.TemporaryDirectory() as folder:
        source, made, program = (Path(folder) / name for name in ("changed.cpp", "changed.o", "program"))
        source.write_text(text)
        if subprocess.run(  # noqa: S603
            [*compiler, "-c", str(source), "-o", str(made)], cwd=BUILD, capture_output=True, check=False
        ).returncode:
            return "does not compile"
        words = [str(program) if linker[i - 1] == "-o" else word for i, word in enumerate(linker)]
        first = next(i for i, word in enumerate(words) if word.endswith(".o"))
        words.insert(first, str(made))
        if subprocess.run(words, cwd=BUILD, capture_output=True, check=False).returncode:  # noqa: S603
            return "does not link"
        try:
            done = subprocess.run(  # noqa: S603
                [str(program), f"--gtest_filter={tests}", "--gtest_fail_fast"],
                cwd=ROOT,
                capture_output=True,
                timeout=LONGEST_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "killed"
        return "killed" if done.returncode else "survives"


def main() -> int:
    """Return the exit status: 0 when no change survives."""
    parser = argparse.ArgumentParser(description="says which changes of a file no unit test finds")
    parser.add_argument("file", type=Path)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--filter", default="*")
    asked = parser.parse_args()
    file = asked.file.resolve()
    lines = file.read_text().splitlines()
    compiler, linker = commands(asked.program, file)
    all_places = places(lines)
    random.seed(asked.seed)
    chosen = random.sample(all_places, min(asked.count, len(all_places)))
    fates: Counter[str] = Counter()
    for number, line in sorted(chosen):
        text = "\n".join([*lines[:number], line, *lines[number + 1 :], ""])
        fate = outcome_of(text, compiler, linker, asked.filter)
        fates[fate] += 1
        if fate != "killed":
            print(f"{fate}: {asked.file}:{number + 1}: {lines[number].strip()}  ->  {line.strip()}", flush=True)
    tried = fates["killed"] + fates["survives"]
    print(f"{asked.file}: {fates['killed']} of {tried} killed, {len(all_places)} places", flush=True)
    return 1 if fates["survives"] else 0


if __name__ == "__main__":
    sys.exit(main())
