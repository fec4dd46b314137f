#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Updates python/rashpa/_native.pyi from the native module: adds new names with their signatures, corrects changed ones, and removes old ones.

Types that the stub describes better than C++, docstrings and comments stay, because they are written by hand. Usage: make_native_stub.py [--check];
build first. With --check nothing is written; exit 1 when the stub is out of date.
"""

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rashpa import _native

STUB = Path(__file__).resolve().parents[1] / "python" / "rashpa" / "_native.pyi"

Interface = dict[str, str]  # "Emulator.wait" → "(timeout_s: float) -> bool", "Region.x" → "int, settable"


def plain(annotation: str) -> str:
    """Return a type without the parts that the two sides write differently: array bounds in C++, types of dictionaries in the stub."""
    text = annotation.replace("rashpa._native.", "").replace("collections.abc.", "")
    text = re.sub(r"ndarray\[(?:[^\[\]]|\[[^\]]*\])*\]", "NDArray", text)
    text = re.sub(r"(?:numpy\.|np\.)", "", text)
    text = re.sub(r"NDArray\[(?:[^\[\]]|\[[^\]]*\])*\]", "NDArray", text)
    text = re.sub(r"dict\[(?:[^\[\]]|\[[^\]]*\])*\]", "dict", text)
    text = text.replace("list[bytes]", "list")  # a list of bytes is made without its type
    return text.replace(" ", "")


def signature(node: ast.FunctionDef) -> str:
    """Return a signature as "(name: type = …) -> type", without self."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    first_default = len(positional) - len(arguments.defaults)
    said = [
        _argument(one, optional=number >= first_default)
        for number, one in enumerate(positional)
        if not (number == 0 and one.arg == "self")
    ]
    if arguments.kwonlyargs:
        said.append("*")
        said += [
            _argument(one, optional=default is not None)
            for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        ]
    return f"({', '.join(said)}) -> {plain(ast.unparse(node.returns)) if node.returns is not None else '?'}"


def _argument(argument: ast.arg, *, optional: bool) -> str:
    kind = plain(ast.unparse(argument.annotation)) if argument.annotation is not None else "?"
    return f"{argument.arg}: {kind}{' = …' if optional else ''}"


def of_stub(text: str) -> Interface:
    """Return the interface that a stub describes."""
    found: Interface = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = signature(node)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = plain(ast.unparse(node.annotation))
        elif isinstance(node, ast.ClassDef):
            found[node.name] = f"class({', '.join(ast.unparse(base) for base in node.bases)})"
            found |= {f"{node.name}.{name}": said for name, said in _members(node).items()}
    return found


def _members(node: ast.ClassDef) -> Interface:
    found: Interface = {}
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            said = ast.unparse(item.annotation)
            fixed = said.removeprefix("Final[").removesuffix("]") if said.startswith("Final[") else None
            found[item.target.id] = plain(fixed) if fixed is not None else f"{plain(said)}, settable"
        elif isinstance(item, ast.FunctionDef):
            decorators = [ast.unparse(one) for one in item.decorator_list]
            if "property" in decorators:
                found[item.name] = plain(_returned(item))
            elif decorators:
                found[item.name] += ", settable"
            else:
                found[item.name] = signature(item)
    return found


def _parsed(function: Any) -> ast.FunctionDef:
    """Return the declaration of a function with one overload, from nanobind's text."""
    ((text, _, _),) = function.__nb_signature__
    text = re.sub(r"\\\d+", "...", text)
    text = re.sub(r"ndarray\[(?:[^\[\]]|\[[^\]]*\])*\]", "NDArray", text).replace("def (", "def _(")
    (node,) = ast.parse(text + ": ...").body
    if not isinstance(node, ast.FunctionDef):
        raise TypeError(f"{text} declares no function; this nanobind says signatures in other words")
    return node


def _returned(function: ast.FunctionDef) -> str:
    return ast.unparse(function.returns) if function.returns is not None else "Any"


def of_module() -> Interface:
    """Return the interface of the native module."""
    found: Interface = {}
    for name, value in vars(_native).items():
        if name.startswith("__") and name != "__version__":
            continue
        if inspect.isclass(value):
            bases = [base.__name__ for base in value.__bases__ if base is not object]
            found[name] = f"class({', '.join(bases)})"
            found |= {f"{name}.{member}": said for member, said in _members_of(value).items()}
        elif isinstance(value, str):
            found[name] = "str"
        else:
            found[name] = signature(_parsed(value))
    return found


def _members_of(kind: type) -> Interface:
    found: Interface = {}
    for name, value in vars(kind).items():
        if isinstance(value, property):
            found[name] = plain(_returned(_parsed(value.fget))) + (", settable" if value.fset is not None else "")
        elif hasattr(value, "__nb_signature__") and (name == "__init__" or not name.startswith("__")):
            found[name] = signature(_parsed(value))
    return found


def same(stub: str | None, module: str | None) -> bool:
    """Return True when both signatures agree. An argument that C++ declares as any object may have a better type in the stub."""
    if stub is None or module is None:
        return False
    return re.fullmatch(re.escape(module).replace(":\\ object", r":\ .*"), stub) is not None


def differences(text: str) -> list[str]:
    """Return the differences between a stub and the module as lines of text."""
    stub, module = of_stub(text), of_module()
    return [
        f"{name}: the stub has {stub.get(name)}, the module {module.get(name)}"
        for name in sorted({*stub, *module})
        if not same(stub.get(name), module.get(name))
    ]


def updated(text: str) -> str:
    """Return a stub that agrees with the module and keeps all correct parts of the old one."""
    stub, module = of_stub(text), of_module()
    wrong = [name for name in module if not same(stub.get(name), module[name])]
    old = [name for name in stub if name not in module]
    lines = text.splitlines()
    edits = [edit for name in (*wrong, *old) for edit in _edits(name, ast.parse(text), module, len(lines))]
    for start, end, instead in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        lines[start:end] = instead
    return "\n".join(lines) + "\n"


def _edits(name: str, tree: ast.Module, module: Interface, length: int) -> Iterator[tuple[int, int, list[str]]]:
    """Yield first line, last line, and the replacing lines, for one name that differs."""
    outer, _, member = name.partition(".")
    found = [node for node in tree.body if _name_of(node) == outer]
    if not found or not member:
        if member:
            return  # its class is new, too, and is written whole
        yield from _replaced(found, _written(name, module), length)
        return
    if outer not in module:
        return
    members = [node for node in found[0].body if _name_of(node) == member] if isinstance(found[0], ast.ClassDef) else []
    yield from _replaced(members, _written(name, module), found[0].end_lineno or length)


def _replaced(nodes: Sequence[ast.stmt], instead: list[str], behind: int) -> Iterator[tuple[int, int, list[str]]]:
    """Yield edits that put lines in place of the first of these nodes and remove the others; without nodes, insert them after line `behind`."""
    if not nodes:
        yield behind, behind, instead
    for number, node in enumerate(nodes):
        decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
        start = min([node.lineno, *(one.lineno for one in decorators)]) - 1
        yield start, node.end_lineno or node.lineno, instead if number == 0 else []


def _name_of(node: ast.stmt) -> str:
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return node.name if isinstance(node, ast.FunctionDef | ast.ClassDef) else ""


def _written(name: str, module: Interface) -> list[str]:
    """Return the stub's lines for a name of the module, empty for a name that it does not have."""
    if name not in module:
        return []
    outer, _, member = name.partition(".")
    value = getattr(_native, outer)
    if member:
        return [f"    {line}" for line in _member_written(member, inspect.getattr_static(value, member))]
    if inspect.isclass(value):
        members = [line for one in module if one.startswith(f"{outer}.") for line in _written(one, module)]
        bases = module[outer].removeprefix("class").replace("()", "")
        return ["", f"class {outer}{bases}:", *(members or ["    ..."])]
    return [f"{outer}: str"] if isinstance(value, str) else [_function_written(outer, value)]


def _member_written(name: str, value: Any) -> list[str]:
    if not isinstance(value, property):
        return [_function_written(name, value)]
    kind = _type_written(_returned(_parsed(value.fget)))
    if value.fset is not None:
        return [f"{name}: {kind}"]
    return ["@property", f"def {name}(self) -> {kind}: ..."]


def _function_written(name: str, function: Any) -> str:
    ((text, _, defaults),) = function.__nb_signature__
    for number, default in enumerate(defaults or ()):
        text = text.replace(f"\\{number}", repr(default), 1)
    return _type_written(re.sub(r"^def \w*\(", f"def {name}(", text)) + ": ..."


def _type_written(text: str) -> str:
    text = re.sub(r"ndarray\[(?:[^\[\]]|\[[^\]]*\])*\]", "NDArray[Any]", text)
    return re.sub(r"\bNDArray\b(?!\[)", "NDArray[Any]", re.sub(r"rashpa\._native\.|collections\.abc\.", "", text))


def main() -> int:
    """Write the stub, or print where it differs; return the exit status."""
    text = STUB.read_text(encoding="utf-8")
    if "--check" in sys.argv[1:]:
        found = differences(text)
        for line in found:
            print(f"{STUB.name}: {line}; run tools/make_native_stub.py")
        return int(bool(found))
    STUB.write_text(updated(text), encoding="utf-8")
    for line in differences(STUB.read_text(encoding="utf-8")):
        print(f"{STUB.name}: {line}; write it by hand")
    return 0


if __name__ == "__main__":
    sys.exit(main())
