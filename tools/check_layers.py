#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that includes and imports follow the directions in ARCHITECTURE.md: C++ data flow down a list of folders, Python layers import lower layers
only, and there are no import cycles.

Usage: check_layers.py [ROOT]. Prints one line for each violation; exit 1 when there is one.
"""

import ast
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

# Which folders of src/rashpa a folder includes from, besides itself.
CXX: Mapping[str, frozenset[str]] = {
    folder: frozenset(allowed.split())
    for folder, allowed in {
        "core": "",
        "memory": "core",
        "publish": "core memory",
        "wire": "core",
        "dataset": "core memory",
        "card": "core",
        "link": "core memory wire card kernel",
        "kernel": "core memory",
        "transfer": "core memory link",
        "unit": "core memory kernel card",
        "sink": "core memory publish kernel",
        "feedback": "core memory publish",
        "publisher": "core publish feedback",
        "scheduler": "core memory link unit",
        "emulator": "core memory card wire dataset link transfer",
        "receiver": "core memory link kernel unit scheduler sink feedback",
        "offline": "core memory kernel unit sink receiver",
    }.items()
}
# Says how this processor waits; other files with it do not compile on another kind of processor.
PAUSE = Path("src/rashpa/core/system/pause.hpp")
# Of these folders, only the contract: the headers that lie directly in the folder, not those of one implementation.
CXX_CONTRACT_ONLY = {("scheduler", "link"), ("scheduler", "unit"), ("transfer", "link")}
# Headers that lie directly in these folders are a contract: they include no header of one implementation.
CXX_CONTRACTS = frozenset({"link"})

# Rooms of a folder of src/rashpa from the ground up: of its own folder a room includes what lies in itself, below, or directly in the folder.
CXX_ROOMS: Mapping[str, tuple[str, ...]] = {
    folder: tuple(rooms.split())
    for folder, rooms in {
        "core": "system time numbers cbor libraries image books frame testing",
        "memory": "order gather cuda opencl",
        "wire": "packet",
        "dataset": "files jungfrau",
        "scheduler": "lane",
        "emulator": "card",
        "transfer": "testing",
        "link": "sending arrivals shim inproc pcie roce fpga verbs sls stream2 factory testing",
        "kernel": "contract device photons rings peaks testing",
        "unit": "limits split dealt cpu cuda opencl fpga contract",
        "sink": "journal hdf5 raw stores nxmx repair simple stream2 testing",
        "receiver": "views buffers sinks",
    }.items()
}
# Every other folder of kernel is a kernel: it includes from the rooms, and from no other kernel but these.
KERNELS_BELOW: Mapping[str, frozenset[str]] = {
    "peakfinder": frozenset({"sigma_clip"}),
    "sparsify": frozenset({"sigma_clip", "csr"}),
}
# A folder with more files than this is searched, not read.
MOST_FILES = 25
_MADE, _BUILT = {"__pycache__", "schema"}, {".so", ".pyc"}

# Which packages of rashpa a package imports from, besides itself; `cli | dashboard | beamline → node → control → data`.
_BELOW_NODE = "control data"
PYTHON: Mapping[str, frozenset[str]] = {
    package: frozenset(allowed.split())
    for package, allowed in {
        "data": "",
        "sim": "data",
        "control": "data",
        "node": _BELOW_NODE,
        "testing": _BELOW_NODE + " node",
        "beamline": _BELOW_NODE,
        "cli": _BELOW_NODE + " node sim beamline dashboard",
        "dashboard": _BELOW_NODE + " node",
    }.items()
}
# Rooms of a package from the ground up: a room imports, when it is imported, from itself or from below.
ROOMS: Mapping[str, tuple[str, ...]] = {
    package: tuple(rooms.split())
    for package, rooms in {
        "data": "base wire files geometry parts stored datasets figures making stream kernels",
        "control": "runfile telegrams plan capacity orders nodes books handover run",
        "node": "host doctor logs engine offline state door judge",
        "cli": "bench doors files plan report node run",
    }.items()
}
# Names for users, `rashpa.kernel` and those of `rashpa` itself: names and nothing else, of these packages.
PUBLIC: Mapping[str, frozenset[str]] = {
    "__init__.py": frozenset({"control", "data"}),
    "__main__.py": frozenset({"cli"}),
    "kernel.py": frozenset({"data"}),
}
NATIVE = "_native"
NATIVE_USERS = frozenset({"node", "data"})

_OF_TESTS = re.compile(r"_(test|fuzz)\.(cpp|cu)$|/testing/|testing\.hpp$")
_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def cxx_violations(root: Path) -> Iterator[str]:
    """Yield includes below src/rashpa against the direction of data flow, and includes that do not name their folder."""
    source = root / "src" / "rashpa"
    for path in sorted(p for p in source.rglob("*") if p.suffix in {".hpp", ".cpp", ".cu", ".cuh"}):
        folder = path.relative_to(source).parts[0]
        name = path.relative_to(root)
        if folder not in CXX:
            yield f"{name}: folder {folder} is not in the list of layers; name it in tools/check_layers.py and ARCHITECTURE.md"
            continue
        contract = folder in CXX_CONTRACTS and path.parent == source / folder and path.suffix == ".hpp"
        for included in _INCLUDE.findall(path.read_text(encoding="utf-8")):
            yield from (f"{name}: {problem}" for problem in _include_problems(folder, included))
            parts = included.split("/")
            if contract and parts[:2] == ["rashpa", folder] and len(parts) > 3:
                yield f'{name}: includes "{included}"; a header of the contract of {folder} knows no implementation'


def _include_problems(folder: str, included: str) -> Iterator[str]:
    parts = included.split("/")
    if ".." in parts:
        yield f'includes "{included}"; write the path from src'
    if parts[0] == "bindings":
        yield f'includes "{included}"; the library does not know its bindings'
    if parts[0] != "rashpa" or len(parts) < 3 or parts[1] == folder:
        return
    target = parts[1]
    if target not in CXX[folder]:
        allowed = ", ".join(sorted(CXX[folder])) or "no other folder"
        yield f'includes "{included}"; {folder} may use {allowed}'
    elif (folder, target) in CXX_CONTRACT_ONLY and len(parts) > 3:
        yield f'includes "{included}"; {folder} uses the contract of {target} only, not {"/".join(parts[1:3])}'


def cxx_room_violations(root: Path) -> Iterator[str]:
    """Yield includes between subfolders of a folder in the wrong direction, and subfolders that are in no list. Tests may include everything that
    they test together."""
    source = root / "src" / "rashpa"
    for path in sorted(p for p in source.glob("*/*/**/*") if p.suffix in {".hpp", ".cpp", ".cu", ".cuh"}):
        name, (folder, room) = path.relative_to(root), path.relative_to(source).parts[:2]
        below = _rooms_below(folder, room)
        if below is None:
            yield f"{name}: room {room} is not in the list of rooms of {folder}; name it in tools/check_layers.py"
            continue
        if _OF_TESTS.search(str(name)):
            continue
        for included in _INCLUDE.findall(path.read_text(encoding="utf-8")):
            parts = included.split("/")
            if parts[:2] == ["rashpa", folder] and len(parts) > 3 and parts[2] not in below | {room}:
                known = ", ".join(sorted(below)) or "no other room"
                yield f'{name}: includes "{included}"; {room} may use {known}'


def _rooms_below(folder: str, room: str) -> frozenset[str] | None:
    """Return the subfolders from which a subfolder may include, besides itself; None for an unknown one."""
    rooms = CXX_ROOMS.get(folder, ())
    if room in rooms:
        return frozenset(rooms[: rooms.index(room)])
    return frozenset(rooms) - {"testing"} | KERNELS_BELOW.get(room, frozenset()) if folder == "kernel" else None


def size_violations(root: Path) -> Iterator[str]:
    """Yield source folders with too many files. Files that a build writes there do not count."""
    for source in (root / "src", root / "python" / "rashpa"):
        for folder in sorted(path for path in (source, *source.rglob("*")) if path.is_dir() and path.name not in _MADE):
            files = sum(path.is_file() and path.suffix not in _BUILT for path in folder.iterdir())
            if files > MOST_FILES:
                yield f"{folder.relative_to(root)}: holds {files} files, more than {MOST_FILES}; give those that belong together a room"


def pause_violations(root: Path) -> Iterator[str]:
    """Yield files that spin with an instruction of one processor type in place of core's pause_spinning()."""
    for top in ("src", "tests", "bench"):
        for path in sorted(p for p in (root / top).rglob("*") if p.suffix in {".hpp", ".cpp", ".cu", ".cuh"}):
            name = path.relative_to(root)
            if name != PAUSE and re.search(r"__builtin_ia32_pause|\b_mm_pause\b", path.read_text(encoding="utf-8")):
                yield f"{name}: spins with an instruction of its own; use pause_spinning() of core/system/pause.hpp"


def python_violations(root: Path) -> Iterator[str]:
    """Yield imports below python/rashpa from higher layers, and imports of the native module outside of node and data."""
    package_root = root / "python" / "rashpa"
    for path in sorted(package_root.rglob("*.py")):
        relative = path.relative_to(package_root)
        package = relative.parts[0] if len(relative.parts) > 1 else ""
        name = path.relative_to(root)
        if package and package not in PYTHON:
            yield f"{name}: package {package} is not in the list of layers; name it in tools/check_layers.py and ARCHITECTURE.md"
            continue
        for line, target in _imports(ast.parse(path.read_text(encoding="utf-8"), str(path)), relative):
            problem = _import_problem(package, target, PUBLIC.get(str(relative), frozenset()))
            if problem:
                yield f"{name}:{line}: {problem}"


def room_violations(root: Path) -> Iterator[str]:
    """Yield imports between subfolders of a package in the wrong direction, and subfolders that are in no list. Imports inside functions run later,
    and do not count."""
    package_root = root / "python" / "rashpa"
    for package, rooms in ROOMS.items():
        for path in sorted((package_root / package).glob("*/**/*.py")):
            name, room = path.relative_to(root), path.relative_to(package_root).parts[1]
            if room not in rooms:
                yield f"{name}: room {room} is not in the list of rooms of {package}; name it in tools/check_layers.py"
                continue
            for line, target in _rooms_of(ast.parse(path.read_text(encoding="utf-8"), str(path)), package):
                if target not in rooms[: rooms.index(room) + 1]:
                    below = ", ".join(rooms[: rooms.index(room)]) or "no other room"
                    yield f"{name}:{line}: imports rashpa.{package}.{target}; {room} may use {below}"


def _rooms_of(tree: ast.Module, package: str) -> Iterator[tuple[int, str]]:
    """Yield line and subfolder of every import of this package that runs when the module is imported."""
    for line, modules in _imported(tree):
        for parts in (module.split(".") for module in modules):
            if parts[:2] == ["rashpa", package] and len(parts) > 2 and parts[2] in ROOMS[package]:
                yield line, parts[2]
                break


def _imported(tree: ast.Module) -> Iterator[tuple[int, list[str]]]:
    """Yield line and names of every absolute import that runs when the module is imported; the names may be modules."""
    left: list[ast.AST] = list(tree.body)
    while left:
        node = left.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            left += node.orelse
            continue
        left += ast.iter_child_nodes(node)
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, [alias.name]) for alias in node.names)


def circle_violations(root: Path) -> Iterator[str]:
    """Yield cycles of modules that import one another when they are imported. Each cycle is reported once, from the alphabetically first name."""
    package_root = root / "python" / "rashpa"
    paths = {
        ".".join(("rashpa", *path.relative_to(package_root).with_suffix("").parts)).removesuffix(".__init__"): path
        for path in package_root.rglob("*.py")
    }
    uses = {
        name: sorted(
            {
                module
                for _, modules in _imported(ast.parse(path.read_text(encoding="utf-8"), str(path)))
                for module in _modules_meant(modules, paths)
                if module != name
            }
        )
        for name, path in paths.items()
    }
    found = {circle for name in sorted(uses) if (circle := _circle_of(name, uses))}
    for circle in sorted(found):
        yield f"{paths[circle[0]].relative_to(root)}: imports itself by {' → '.join((*circle, circle[0]))}"


def _modules_meant(names: list[str], modules: Collection[str]) -> list[str]:
    """Return the modules that `from A import B` imports: B if it is a module, otherwise A."""
    first, *others = names
    meant = [name for name in others if name in modules]
    return meant + ([first] if first in modules and len(meant) < max(1, len(others)) else [])


def _circle_of(name: str, uses: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the shortest import path from a module back to itself, if it is the first of these names; otherwise an empty tuple."""
    ways: list[tuple[str, ...]] = [(name,)]
    seen = {name}
    while ways:
        further: list[tuple[str, ...]] = []
        for way in ways:
            for target in uses.get(way[-1], ()):
                if target == name:
                    first = way.index(min(way))
                    return (*way[first:], *way[:first])
                if target not in seen:
                    seen.add(target)
                    further.append((*way, target))
        ways = further
    return ()


def _imports(tree: ast.AST, relative: Path) -> Iterator[tuple[int, str]]:
    """Yield line and first name below `rashpa` of every import at any place; relative imports are resolved."""
    here = ["rashpa", *relative.parent.parts]
    for node in ast.walk(tree):
        names: list[list[str]] = []
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            module = base + (node.module.split(".") if node.module else [])
            names = [[*module, alias.name] for alias in node.names] if len(module) == 1 else [module]
        for name in names:
            if name[0] == "rashpa" and len(name) > 1:
                yield getattr(node, "lineno", 0), name[1]


def _import_problem(package: str, target: str, public: frozenset[str]) -> str:
    if target == NATIVE:
        return (
            ""
            if package in NATIVE_USERS
            else f"imports the native module; only {' and '.join(sorted(NATIVE_USERS))} do"
        )
    if target not in PYTHON or target == package:
        return ""
    if not package:
        known = ", ".join(sorted(public)) or "none of its parts"
        return "" if target in public else f"imports rashpa.{target}; the package's root imports {known}"
    if target not in PYTHON[package]:
        return f"imports rashpa.{target}; {package} may use {', '.join(sorted(PYTHON[package])) or 'no other package'}"
    return ""


def folder_violations(root: Path) -> Iterator[str]:
    """Yield folders with a name that does not describe their content."""
    for top in ("src", "python", "tests", "tools", "bench"):
        for path in sorted((root / top).rglob("*")):
            if path.is_dir() and path.name in {"common", "util", "utils", "helper", "helpers", "misc"}:
                yield f"{path.relative_to(root)}: name the folder after what is in it"


def violations(root: Path) -> list[str]:
    """Return all violations, in the order of the files."""
    return [
        *cxx_violations(root),
        *cxx_room_violations(root),
        *size_violations(root),
        *pause_violations(root),
        *python_violations(root),
        *room_violations(root),
        *circle_violations(root),
        *folder_violations(root),
    ]


def main() -> int:
    """Return the exit status, 1 when there is a violation."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    found = violations(root)
    for line in found:
        print(line)
    print(f"layers: {len(found)} violations" if found else "layers: includes and imports point the right way")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
