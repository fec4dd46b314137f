# SPDX-License-Identifier: Apache-2.0
"""Compiles a changed C++ file, links it before the libraries of `build/release`, and runs its tests and the simulator.

The tree and the build stay unchanged. A header replaces that of the tree, and its own source and test are compiled again.
"""

import functools
import re
import shlex
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
SIMULATION = "rashpa_simulation"
SHORTEST_S = 10
LONGER = 10  # times as long as without a change: it does not end
UNBOUNDED_S = 3600.0
_WITH_VALUE = ("-o", "-MF", "-MT", "-include", "-c")
_NOT_KEPT = ("-MD", "-fpch-preprocess", "-Winvalid-pch", "-Werror")


def ninja(*words: str) -> list[str]:
    """Return the lines that a tool of ninja prints."""
    said = ["ninja", "-C", str(BUILD), "-t", *words]
    return subprocess.run(said, capture_output=True, text=True, check=True).stdout.splitlines()  # noqa: S603


@functools.cache
def includes() -> dict[str, list[str]]:
    """Return the object files that each file of src/ affects."""
    found: dict[str, list[str]] = {}
    made = ""
    for line in ninja("deps"):
        if line.startswith(" "):
            name = str((BUILD / line.strip()).resolve())
            if name.startswith(str(ROOT / "src")):
                found.setdefault(name, []).append(made)
        elif ": #deps" in line:
            made = line.split(": #deps")[0]
    return found


@functools.cache
def commands(program: str) -> list[str]:
    """Return the commands that build a program."""
    return ninja("commands", program)


def compile_words(line: str) -> list[str]:
    """Return the words of a compiler command, without its files and without options that a change does not need."""
    words = shlex.split(line)
    words = words[next(i for i, word in enumerate(words) if word.endswith("++")) :]
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in _WITH_VALUE:
            skip = True
        elif word not in _NOT_KEPT:
            kept.append(word)
    return [kept[0], *kept[1:], "-O0", "-w"]


@dataclass
class Program:
    """Holds a program that tests a file: its link command, its test command, and the object files that the file affects."""

    name: str
    words: list[str]
    link: list[str] = field(init=False)
    objects: dict[str, tuple[Path, list[str]]] = field(init=False)
    beside: list[Path] = field(init=False)  # programs that it starts
    longest_s: float = field(default=UNBOUNDED_S, init=False)
    took_s: float = field(default=0, init=False)  # the last time

    def prepare(self, file: Path) -> None:
        """Find the program's commands, and the object files that the file affects."""
        lines = commands(self.name)
        link = next(line for line in reversed(lines) if re.search(rf"-o \S*\b{self.name} ", line))
        self.link = shlex.split(link.split("&&")[1])
        self.beside = list((BUILD / self.link[self.link.index("-o") + 1]).parent.glob("rashpa-*"))
        wanted = [made for made in includes().get(str(file), []) if self.is_part(made, file)]
        self.objects = {}
        for line in lines:
            made = re.search(r" -o (\S+\.o) -c (\S+)", line)
            if made and made.group(1) in wanted:
                self.objects[made.group(1)] = (Path(made.group(2)), compile_words(line))
        if not self.objects:
            raise SystemExit(f"{file}: no object of {self.name} has it")

    def is_part(self, made: str, file: Path) -> bool:
        """Return True when an affected object file is compiled again: that of the file, and those of a header's own source and test. They are linked
        first, so that they replace those of the libraries."""
        if "_unity" in made or f"rashpa_{file.relative_to(ROOT / 'src' / 'rashpa').parts[0]}" not in made:
            return False
        names = [f"{file.stem}.cpp.o", f"{file.stem}_test.cpp.o"] if file.suffix == ".hpp" else [f"{file.name}.o"]
        return Path(made).name in names

    def limited(self, file: Path) -> float:
        """Measure the program without a change, and return the seconds after which a changed one counts as hanging."""
        self.longest_s = UNBOUNDED_S
        if (fate := self.asked(file, file.read_text())) != "survived":
            raise SystemExit(f"{file}: {self.name}: {fate} without a change; first mend it")
        self.longest_s = max(SHORTEST_S, LONGER * self.took_s)
        return self.longest_s

    def fate(self, file: Path, text: str) -> str:
        """Return the fate of a changed text: `killed`, `hung`, `survived`, or `not compiled`."""
        fate = self.asked(file, text)
        if fate == "hung":
            # By itself, or because the machine has more to do: then it takes longer without a change, too.
            limit = self.longest_s
            if self.limited(file) > limit:
                fate = self.asked(file, text)
        return fate

    def asked(self, file: Path, text: str) -> str:
        """Return the fate of a changed text within the present time limit."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            program = folder / "program"
            laid = folder / "over" / file.relative_to(ROOT / "src")
            laid.parent.mkdir(parents=True)
            laid.write_text(text)
            link = [str(program) if self.link[i - 1] == "-o" else word for i, word in enumerate(self.link)]
            for number, (made, (source, compiler)) in enumerate(self.objects.items()):
                new = str(folder / f"{number}.o")
                source_now = laid if source == file else source
                here = [compiler[0], f"-I{folder / 'over'}", *compiler[1:], "-c", str(source_now), "-o", new]
                if subprocess.run(here, cwd=BUILD, capture_output=True, check=False).returncode:  # noqa: S603
                    return "not compiled"
                if made in link:
                    link.remove(made)
                link.insert(next(i for i, word in enumerate(link) if word.endswith(".o")), new)
            if subprocess.run(link, cwd=BUILD, capture_output=True, check=False).returncode:  # noqa: S603
                return "not compiled"
            for beside in self.beside:
                (folder / beside.name).symlink_to(beside)
            began = time.monotonic()
            try:
                asked = [str(program), *self.words]
                done = subprocess.run(asked, cwd=ROOT, capture_output=True, timeout=self.longest_s, check=False)  # noqa: S603
            except subprocess.TimeoutExpired:
                return "hung"
            self.took_s = time.monotonic() - began
            return "killed" if done.returncode else "survived"


class CppJudge:
    """Runs the test programs of a C++ file, and then the simulator."""

    def __init__(self, file: Path, programs: list[str], tests: str, seeds: int) -> None:
        self.file_ = file
        said = [f"--gtest_filter={tests}", "--gtest_fail_fast"]
        self.programs_ = [Program(name, said) for name in programs]
        if seeds:
            self.programs_.append(Program(SIMULATION, ["--seeds", str(seeds), "--most-failures", "1", "--jobs", "1"]))
        for program in self.programs_:
            program.prepare(file)
            program.limited(file)

    def fate(self, text: str) -> str:
        """Return the fate of a changed text."""
        fates = []
        for program in self.programs_:
            fates.append(program.fate(self.file_, text))
            if fates[-1] != "survived":
                break
        return fates[-1]
