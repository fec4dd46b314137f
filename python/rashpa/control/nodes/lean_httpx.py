# SPDX-License-Identifier: Apache-2.0
"""Imports httpx without its command-line tool, which would import Click, Pygments and a part of Rich: a fifth of a run's imports before its nodes
start."""

import sys
from typing import Any

_COMMAND = "httpx._main"
_modules: dict[str, Any] = sys.modules
_modules.setdefault(_COMMAND, None)  # httpx takes that for a command that is not installed
import httpx  # noqa: E402

if _modules[_COMMAND] is None:
    del _modules[_COMMAND]

__all__ = ["httpx"]
