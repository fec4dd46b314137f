# SPDX-License-Identifier: Apache-2.0
"""Exceptions of the native module become errors of an engine, each with the code of its Fault."""

import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa import _native
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.native_errors import native_errors


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (_native.ConfigError("csr: threshold: 0; 1 or more"), "config", "csr: threshold: 0; 1 or more"),
        (_native.ResourceError("no huge pages"), "resource", "no huge pages"),
        (_native.FileError("a.h5: it is there"), "file", "a.h5: it is there"),
        (_native.StateError("it has not begun"), "state", "it has not begun"),
        (_native.NativeError("something else"), "config", "something else"),
        (PermissionError(13, "Permission denied"), "file", "[Errno 13] Permission denied"),
        (ValueError("a number"), "config", "a number"),
        (TypeError("a type"), "config", "a type"),
        (MemoryError(), "resource", "not enough memory; use fewer slots"),
    ],
)
def test_each_error_has_its_code(error: Exception, code: str, says: str) -> None:
    with pytest.raises(EngineError) as raised, native_errors():
        raise error
    assert raised.value.code == code
    assert str(raised.value).startswith(says)
    assert raised.value.__cause__ is None


def test_defects_of_ours_pass_as_they_are() -> None:
    with pytest.raises(KeyError), native_errors():
        raise KeyError("a defect")
    with native_errors():
        pass
