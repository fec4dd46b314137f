#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts bugs into a block of rtl/, one at a time, and says which its tests catch.

Usage: build/rtl/bin/python tools/rtl/mutate.py [--bugs N] [--json FILE] [--again] [--trust] FOLDER[/MODULE]…
The bugs are small changes at places drawn by the name that is given, of all the folder or of one module of it; one that a compiler refuses is none, and
another is drawn.
The tests are the benches and proofs in the folder, of a package also those of folders that use it, the quickest first, until one fails; one
that takes far longer than without the bug fails. A test of something that the changed module is no part of is left out.
All of it happens in a copy of the tree in build/rtl/mutants, or in the folder RASHPA_MUTANTS, for a second one at the same time; ccache has the parts that a
change does not touch. Exit 1 when a bug survived: either a test is missing, or the change is none. Such are in mutate_equivalent.toml, each with the
reason; they are kept in the results, and another bug is drawn for each.
"""

import argparse
import functools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path

from blocks import BUILD, ROOT, RTL, Bench, benches, modules

TREE = Path(os.environ.get("RASHPA_MUTANTS", BUILD / "mutants")).resolve()
LONGEST_S = 540  # of a test without a bug
EQUIVALENT = Path(__file__).resolve().parent / "mutate_equivalent.toml"
# Patterns, and their replacements; "+1": the number and one.
CHANGES: tuple[tuple[str, str], ...] = (
    (r"&&", "||"),
    (r"\|\|", "&&"),
    (r"(?<=\s)==(?=\s)", "!="),
    (r"!=", "=="),
    (r"(?<=\s)\+(?=\s)", "-"),
    (r"(?<=\s)-(?=\s)", "+"),
    (r"(?<=\s)\^(?=\s)", "|"),
    (r"(?<=\s)&(?=\s)", "|"),
    (r"(?<=\s)\|(?=\s)", "&"),
    (r"!(?=[\w(])", ""),
    (r"~(?=[\w({])", ""),
    (r"'0(?=\W)", "'1"),
    (r"'1(?=\W)", "'0"),
    (r"1'b0", "1'b1"),
    (r"1'b1", "1'b0"),
    (r"(?<=\d'd)\d+", "+1"),
    (r"(?<=\[)\d(?=\])", "+1"),
    (r"(?<=[*:+ (\[])\d+(?=[*:+\];) -])(?!\)')", "+1"),  # not a cast's width
    (r"(?<=\s)<(?=\s)", "<="),
    (r"(?<=\s)>=(?=\s)", ">"),
    (r"(?<=\sif \()\w[\w.\[\]]* && ", ""),
    (r"(?<=<= )(?!'[01]|1'b0)[^;]+(?=;)", "'0"),
    (r"(?<=<= )(?!~)[^;]+(?=;)", r"~(\g<0>)"),
    (r"(\w[\w.\[\]]*)( <= )[^;]+(?=;)", r"\1\2\1"),
    (r"(?<= = )(?!~)[^;?]+(?=;)", r"~(\g<0>)"),
)
# Lines in which a change is none: declarations, checks of parameters, comments.
SPARED = re.compile(
    r"^\s*(//|import|module|endmodule|input|output|localparam|parameter|logic|typedef|function|assign unused|if .*\$fatal)|\$fatal|: gen_"
)


@dataclass
class Bug:
    """Describes a change of a line, and the test that caught it ("" when none did), or why it is none."""

    file: str
    line: int
    before: str
    after: str
    caught_by: str = ""
    equivalent: str = ""

    @property
    def survived(self) -> bool:
        return not self.caught_by and not self.equivalent


def reasons() -> dict[tuple[str, str, str], str]:
    """Return why changes that no test can see are none: by file, line before and after."""
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("change", [])
    return {(entry["file"], entry["before"], entry["after"]): entry["reason"] for entry in entries}


def candidates(folder: Path, module: str) -> list[tuple[Path, int, int, int, str]]:
    """Return every change: file, line, columns, new text. Of one module, or of all."""
    found = []
    for path in sorted(folder.glob(f"{module or '*'}.sv")):
        if path.stem.endswith("_formal"):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            code = line.split("//")[0]
            if SPARED.search(line):
                continue
            for pattern, put in CHANGES:
                for match in re.finditer(pattern, code):
                    new = str(int(match.group()) + 1) if put == "+1" else match.expand(put)
                    found.append((path, number, match.start(), match.end(), new))
    return found


def tests_of(folder: Path) -> list[str]:
    """Return names of jobs."""
    own: list[Bench] = [
        bench for suffix in (".cpp", ".py") for bench in benches(suffix) if bench.path.parent.name == folder.name
    ]
    proofs = [f"formal/{path.stem}" for path in folder.glob("*.sby")]
    return [*(f"{'cpp' if bench.path.suffix == '.cpp' else 'cocotb'}/{bench.name}" for bench in own), *proofs]


def users(path: Path) -> list[str]:
    """Return names of jobs of other folders that use this file: there are some only of packages."""
    name = re.compile(rf"\b{path.stem}::")
    found = []
    for folder in sorted({other.parent for other in (TREE / "rtl").glob("*/*.sv")} - {path.parent}):
        if any(name.search(other.read_text(encoding="utf-8")) for other in folder.glob("*.sv")):
            found += tests_of(folder)
    return found


def copy_tree() -> None:
    """Copy rtl/ and the tools, with earlier builds and the software beside them."""
    shutil.rmtree(TREE / "rtl", ignore_errors=True)
    shutil.rmtree(TREE / "tools", ignore_errors=True)
    shutil.copytree(RTL, TREE / "rtl")
    shutil.copytree(ROOT / "tools" / "rtl", TREE / "tools" / "rtl")
    (TREE / "build" / "rtl").mkdir(parents=True, exist_ok=True)
    # The environment is found by the path of its python.
    of_environment = ((TREE / "build" / "rtl" / name, BUILD / name) for name in ("bin", "lib", "pyvenv.cfg"))
    for link, target in ((TREE / "src", ROOT / "src"), *of_environment):
        if not link.is_symlink():
            link.symlink_to(target)


def passes(only: str, longest_s: float = LONGEST_S) -> bool:
    """Return True when the job of this name is good in the copy."""
    command = [
        sys.executable,
        str(TREE / "tools/rtl/test_rtl.py"),
        "--only",
        f"^{only}$",
        "--longest",
        f"{longest_s:.0f}",
    ]
    environment = os.environ | {"COCOTB_MAX_FAILURES": "1"}
    return not subprocess.run(command, env=environment, capture_output=True, check=False).returncode  # noqa: S603


def compiles(changed: Path) -> bool:
    """Return True when slang takes the module; if it is a package, all modules of the folder. No change is one of ports."""
    tops = [path.stem for path in changed.parent.glob("*.sv") if not path.stem.endswith(("_pkg", "_formal"))]
    if changed.stem in tops:
        tops = [changed.stem]
    command = [sys.executable, str(TREE / "tools/rtl/elaborate.py"), *tops]
    return not subprocess.run(command, capture_output=True, check=False).returncode  # noqa: S603


def untried(tests: list[str]) -> dict[str, float]:
    """Return two minutes for each test; mostly quick ones first, and those that measure rates behind those that compare."""
    kinds = ("formal", "cpp", "cocotb")
    return dict.fromkeys(sorted(tests, key=lambda test: (kinds.index(test.split("/")[0]), "_rate_" in test)), 120.0)


def timed(tests: list[str]) -> dict[str, float]:
    """Return seconds of each, with its build; the quickest first."""
    seconds: dict[str, float] = {}
    for test in tests:
        begin = time.monotonic()
        if not passes(test):
            raise SystemExit(f"mutate: {test} fails without a bug")
        seconds[test] = time.monotonic() - begin
    return dict(sorted(seconds.items(), key=lambda test: test[1]))


@functools.cache
def parts(name: str) -> frozenset[str]:
    """Return a module and those in it, at any depth."""
    text = re.sub(r"//.*", "", modules()[name].read_text(encoding="utf-8"))
    instances = set(re.findall(r"^\s*(\w+)\s+(?:#\(|\w+\s*(?:\[.*\]\s*)?\()", text, re.MULTILINE))
    return frozenset({name}.union(*map(parts, instances & modules().keys() - {name})))


def reaches(test: str, path: Path) -> bool:
    """Return True when the test covers a module of this file."""
    if path.stem.endswith("_pkg"):
        return True
    kind, name = test.split("/")
    if kind == "formal":
        return path.name in (path.parent / f"{name}.sby").read_text(encoding="utf-8").split()
    return path.stem in parts(next(bench.top for bench in benches(f".{name.split('_')[-1]}") if bench.name == name))


def catching(bug: Bug, tests: dict[str, float]) -> str:
    """Return the test that fails with the bug in the copy; a shared processor may take its time."""
    reaching = {test: seconds for test, seconds in tests.items() if reaches(test, TREE / bug.file)}
    own = (test for test, seconds in reaching.items() if not passes(test, 60 + 4 * seconds))
    others = (test for test in users(TREE / bug.file) if not passes(test))
    return next(own, "") or next(others, "")


def tried(bug: Bug, changed: str, tests: dict[str, float]) -> bool:
    """Put the line into the copy; return True when a compiler takes it."""
    path = TREE / bug.file
    original = path.read_text(encoding="utf-8")
    lines = original.splitlines()
    lines[bug.line - 1] = changed
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    good = compiles(path)
    if good:
        bug.equivalent = reasons().get((bug.file, bug.before, bug.after), "")
        bug.caught_by = "" if bug.equivalent else catching(bug, tests)
        print(f"{bug.file}:{bug.line}: {bug.after}: {bug.caught_by or bug.equivalent or 'SURVIVED'}", flush=True)
    path.write_text(original, encoding="utf-8")
    return good


def bugs_of(name: str, count: int, known: list[Bug], tests: dict[str, float]) -> list[Bug]:
    """Return `count` bugs, each tried, but for those that are `known`."""
    folder, _, module = name.partition("/")
    drawn = candidates(TREE / "rtl" / folder, module)
    random.Random(name).shuffle(drawn)  # noqa: S311
    bugs = list(known)
    for path, number, begin, end, new in drawn:
        if sum(not bug.equivalent for bug in bugs) == count:
            break
        before = path.read_text(encoding="utf-8").splitlines()[number]
        changed = before[:begin] + new + before[end:]
        bug = Bug(str(path.relative_to(TREE)), number + 1, before.strip(), changed.strip())
        if all((bug.file, bug.line, bug.after) != (one.file, one.line, one.after) for one in known):
            bugs += [bug] if tried(bug, changed, tests) else []
    return bugs


def again(bugs: list[Bug], tests: dict[str, float]) -> None:
    """Try bugs of an earlier time that survived; they are found by their line's text."""
    for bug in bugs:
        if not bug.survived:
            continue
        lines = (TREE / bug.file).read_text(encoding="utf-8").splitlines()
        places = [number for number, line in enumerate(lines, 1) if line.strip() == bug.before]
        if not places:
            raise SystemExit(f"mutate: {bug.file} has no line `{bug.before}` any more: draw bugs anew, without --again")
        bug.line = min(places, key=lambda number: abs(number - bug.line))
        tried(bug, bug.after, tests)


def main() -> int:
    """Exit status: 1 when a bug survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bugs", type=int, default=10, help="bugs of each name")
    parser.add_argument("--json", type=Path, help="results, beside those of other names that it has")
    parser.add_argument(
        "--again", action="store_true", help="only those bugs of --json that survived, and new ones for what was none"
    )
    parser.add_argument("--trust", action="store_true", help="do not run the tests without a bug first")
    parser.add_argument("name", nargs="+", help="a folder of rtl/, or a module of one: unit, unit/unit_pack")
    options = parser.parse_args()
    copy_tree()
    survived = 0
    if options.again and not options.json:
        parser.error("--again needs --json FILE, which says what survived")
    for name in options.name:
        known = json.loads(options.json.read_text(encoding="utf-8")) if options.json and options.json.exists() else {}
        tests = (untried if options.trust else timed)(tests_of(TREE / "rtl" / name.partition("/")[0]))
        bugs = [Bug(**bug) for bug in known.get(name, [])] if options.again else []
        again(bugs, tests)
        bugs = bugs_of(name, options.bugs, bugs, tests)
        survived += sum(bug.survived for bug in bugs)
        if options.json:
            known = json.loads(options.json.read_text(encoding="utf-8")) if options.json.exists() else {}
            known[name] = [asdict(bug) for bug in bugs]
            options.json.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n", encoding="utf-8")
    print(f"mutate: {survived} bugs survived")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
