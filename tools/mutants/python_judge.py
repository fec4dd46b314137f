# SPDX-License-Identifier: Apache-2.0
"""Replaces the functions of an imported Python module by changed ones in a forked process, and runs the module's tests there."""

import contextlib
import gc
import importlib
import io
import os
import signal
import sys
import time
from collections import deque
from pathlib import Path
from types import CodeType, FunctionType

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHORTEST_S = 20
LONGER = 10  # times as long as without a change: it does not end
UNBOUNDED_S = 3600.0
OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header"]


def codes_of(code: CodeType) -> list[CodeType]:
    """Return the code objects of all functions inside a code object, in their order."""
    found = []
    for each in code.co_consts:
        if isinstance(each, CodeType):
            found += [each, *codes_of(each)]
    return found


class PythonJudge:
    """Runs the tests of a module of rashpa: those of its name, and given ones. For changes that survive, it runs `whole`, tests of complete runs."""

    def __init__(self, file: Path, tests: list[str], whole: list[str]) -> None:
        self.file_ = file
        folder = file.parent.relative_to(ROOT / "python" / "rashpa").parts
        near = ROOT / "python" / "tests" / folder[0] / f"test_{file.stem}.py"
        runs = [ROOT / test for test in whole]
        unit = [path for path in dict.fromkeys([near, *(ROOT / test for test in tests)]) if path.exists()]
        self.tiers_ = [[str(path) for path in tier] for tier in ([path for path in unit if path not in runs], runs)]
        if not any(self.tiers_):
            raise SystemExit(f"{file}: no tests; name them in sources.toml")
        os.chdir(ROOT)
        importlib.import_module(".".join(file.relative_to(ROOT / "python").with_suffix("").parts))
        # As pytest's own would be: modules that have been here are not imported again, and files are not written.
        sys.dont_write_bytecode = True
        self.limits_ = [self.limit(tier) for tier in self.tiers_]

    def limit(self, tests: list[str]) -> float:
        """Measure the tests without a change, and return the seconds after which they count as hanging."""
        began = time.monotonic()
        if (fate := self.asked(tests, self.file_.read_text(), UNBOUNDED_S)) != "survived":
            raise SystemExit(f"{self.file_}: {fate} without a change; first mend its tests")
        return max(SHORTEST_S, LONGER * (time.monotonic() - began))

    def fate(self, text: str) -> str:
        """Return the fate of a changed text: `killed`, `hung`, `survived`, or `not compiled`."""
        fate = "survived"
        for number, tests in enumerate(self.tiers_):
            fate = self.asked(tests, text, self.limits_[number])
            if fate == "hung":
                # By itself, or because the machine has more to do: then the tests take longer without a change, too.
                limit, self.limits_[number] = self.limits_[number], self.limit(tests)
                if self.limits_[number] > limit:
                    fate = self.asked(tests, text, self.limits_[number])
            if fate != "survived":
                break
        return fate

    def put(self, text: str) -> None:
        """Replace the code of the module's functions by that of the text."""
        wanted: dict[str, deque[CodeType]] = {}
        for code in codes_of(compile(text, str(self.file_), "exec")):
            wanted.setdefault(code.co_qualname, deque()).append(code)
        there = [
            each
            for each in gc.get_objects()
            if isinstance(each, FunctionType) and each.__code__.co_filename == str(self.file_)
        ]
        for function in sorted(there, key=lambda each: each.__code__.co_firstlineno):
            if codes := wanted.get(function.__code__.co_qualname):
                function.__code__ = codes.popleft()

    def asked(self, tests: list[str], text: str, limit_s: float) -> str:
        """Return the fate of a changed text by the given tests."""
        if not tests:
            return "survived"
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            status = 3
            os.setsid()
            with Path(os.devnull).open("w") as nothing:
                os.dup2(nothing.fileno(), 1)
                os.dup2(nothing.fileno(), 2)
                sys.stdout = sys.stderr = io.StringIO()
                try:
                    self.put(text)
                    status = int(pytest.main([*OPTIONS, *tests]))
                except (SyntaxError, ValueError):
                    status = 99
                finally:
                    os._exit(status)
        end = time.monotonic() + limit_s
        fate = "hung"
        while time.monotonic() < end:
            done, status_now = os.waitpid(child, os.WNOHANG)
            if done:
                fate = {0: "survived", 99: "not compiled"}.get(os.waitstatus_to_exitcode(status_now), "killed")
                break
            time.sleep(0.02)
        else:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # all that its tests have left
        return fate
