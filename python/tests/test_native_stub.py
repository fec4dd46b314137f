# SPDX-License-Identifier: Apache-2.0
"""The stub of the native module describes exactly the module, because mypy relies on it; its tool updates it."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
TOOLS = Path(__file__).resolve().parents[2] / "tools"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    sys.path.insert(0, str(TOOLS))
    try:
        import make_native_stub
    finally:
        sys.path.remove(str(TOOLS))
    return make_native_stub


@pytest.fixture(scope="module")
def stub(tool: ModuleType) -> str:
    return str(tool.STUB.read_text(encoding="utf-8"))


def test_stub_and_module_have_the_same_classes_functions_members_and_signatures(tool: ModuleType, stub: str) -> None:
    assert len(tool.of_module()) > 200
    assert tool.differences(stub) == []


def test_a_stub_that_is_right_stays_as_it_is(tool: ModuleType, stub: str) -> None:
    assert tool.updated(stub) == stub


@pytest.mark.parametrize(
    ("pattern", "instead"),
    [
        (r"\ndef components\(.*", ""),  # a function is new
        (r"(def components\(.*)", r"\1\ndef gone_components() -> int: ..."),  # one is gone
        (r"(\nclass Region:\n.*\n\n    x: )int", r"\1str"),  # a type has changed
        (r"(\nclass Region:\n.*\n\n)    x: int\n", r"\1"),  # a member is new
        (r"(\nclass Region:\n.*\n\n)", r"\1    depth: int\n"),  # one is gone
        (r"    @property\n    def gpu\(self\) -> int: .*\n", ""),  # one that cannot be set is new
        (r"\nclass Making:\n(?:    .*\n|\n(?=    ))+", ""),  # a class is new
        (r"(\nclass Region:)", r"\nclass Gone:\n    depth: int\n\1"),  # one is gone
        (r"x: int, y: int, width: int, height: int\) -> None", r"x: int, y: int) -> None"),  # a signature has changed
    ],
)
def test_what_has_changed_in_the_binding_is_brought_into_the_stub(
    tool: ModuleType, stub: str, pattern: str, instead: str
) -> None:
    damaged, count = re.subn(pattern, instead, stub, count=1)
    assert count == 1
    assert tool.differences(damaged), "the case changes something"
    mended = tool.updated(damaged)
    assert tool.differences(mended) == []
    assert set(re.findall(r'""".*', damaged)) <= set(re.findall(r'""".*', mended)), "texts stay"
