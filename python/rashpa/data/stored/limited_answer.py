# SPDX-License-Identifier: Apache-2.0
"""Runs a module in a limited process and returns its answer: the result of native code on foreign files, as a JSON document."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rashpa import _native
from rashpa.data.base.bad_file import is_own, no_memory
from rashpa.data.files.limited_process import Limits, is_own_end, private_output, start_limited, why_it_ended
from rashpa.data.parts.run_parts import StoredRunError

_LONGEST_TEXT = 2000


def answer_of(module: str, asked: list[str | int], limits: Limits, seconds: float, run: Path) -> dict[str, Any]:
    """Return the answer of `module` to `asked`, within `seconds`. Raise StoredRunError that begins with the run; raise MemoryError when a lack of
    memory, and not the run, may be the cause."""
    process = start_limited(module, [json.dumps(asked)], limits, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with process:
        try:
            out, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            raise StoredRunError(
                f"{run}: it was not done within {seconds:.0f} s; check its storage, and whether the run is damaged"
            ) from None
        except BaseException:
            process.kill()
            raise
    try:
        said = dict(json.loads(out))
    except (ValueError, TypeError):
        kind = MemoryError if is_own_end(process.returncode, limits) else StoredRunError
        raise kind(f"{run}: {why_it_ended(process.returncode, limits)}") from None
    if "no_memory" in said:
        raise MemoryError(f"{run}: {said['no_memory']}")
    return said


def give_answer(made: Callable[[list[Any]], dict[str, Any]]) -> None:
    """Answer the request, in the limited process, with a document or with the reason of a failure."""
    answer = private_output()
    try:
        said = made(json.loads(sys.argv[1]))
    except MemoryError as error:
        said = {"no_memory": no_memory(error)}
    except (_native.NativeError, OSError, LookupError, RuntimeError, ValueError, TypeError) as error:
        said = {"no_memory" if is_own(error) else "error": str(error)[:_LONGEST_TEXT] or type(error).__name__}
    answer.write(json.dumps(said).encode() + b"\n")
    answer.close()
