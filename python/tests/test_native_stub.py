# SPDX-License-Identifier: Apache-2.0
"""The stub of the native module says what the module has, and all of it: mypy believes the stub."""

import ast
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

native: ModuleType = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
STUB = ast.parse((Path(__file__).resolve().parents[1] / "rashpa" / "_native.pyi").read_text(encoding="utf-8"))

Interface = dict[str, str]  # "Emulator.wait" → "(timeout_s: float) -> bool", "Region.x" → "int, settable"


def plain(annotation: str) -> str:
    """A type without what the two sides write in different words: arrays have their bounds in C++, dictionaries their types in the stub."""
    text = annotation.replace("rashpa._native.", "").replace("collections.abc.", "")
    text = re.sub(r"ndarray\[(?:[^\[\]]|\[[^\]]*\])*\]", "NDArray", text)
    text = re.sub(r"(?:numpy\.|np\.)", "", text)
    text = re.sub(r"NDArray\[(?:[^\[\]]|\[[^\]]*\])*\]", "NDArray", text)
    text = re.sub(r"dict\[(?:[^\[\]]|\[[^\]]*\])*\]", "dict", text)
    return text.replace(" ", "")


def signature(node: ast.FunctionDef) -> str:
    """ "(name: type = …) -> type", without self."""
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


def of_stub() -> Interface:
    found: Interface = {}
    for node in STUB.body:
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
                assert item.returns is not None
                found[item.name] = plain(ast.unparse(item.returns))
            elif decorators:
                found[item.name] += ", settable"
            else:
                found[item.name] = signature(item)
    return found


def _parsed(function: Any) -> ast.FunctionDef:
    """What nanobind says of a function that has one overload."""
    ((text, _, _),) = function.__nb_signature__
    text = re.sub(r"\\\d+", "...", text)
    text = re.sub(r"ndarray\[(?:[^\[\]]|\[[^\]]*\])*\]", "NDArray", text).replace("def (", "def _(")
    node = ast.parse(text + ": ...").body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


def of_module() -> Interface:
    found: Interface = {}
    for name, value in vars(native).items():
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
            getter = _parsed(value.fget)
            assert getter.returns is not None
            found[name] = plain(ast.unparse(getter.returns)) + (", settable" if value.fset is not None else "")
        elif hasattr(value, "__nb_signature__") and (name == "__init__" or not name.startswith("__")):
            found[name] = signature(_parsed(value))
    return found


def same(stub: str | None, module: str | None) -> bool:
    """A function's argument may be any object to C++ that the stub knows better."""
    if stub is None or module is None:
        return False
    return re.fullmatch(re.escape(module).replace(":\\ object", r":\ .*"), stub) is not None


def test_stub_and_module_have_the_same_classes_functions_members_and_signatures() -> None:
    stub, module = of_stub(), of_module()
    assert len(module) > 200
    differences = [
        f"{name}: the stub has {stub.get(name)}, the module {module.get(name)}"
        for name in sorted({*stub, *module})
        if not same(stub.get(name), module.get(name))
    ]
    assert differences == []
