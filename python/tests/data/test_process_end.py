# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys

import pytest

from rashpa.data.base import process_end
from rashpa.testing.waiting import GUARD_S

# a process with a thread, an exit function, unflushed output, and an object that says when it is freed
PROGRAM = f"""\
import atexit, sys, threading
from {process_end.__name__} import end_process
class Kept:
    def __del__(self, write=sys.stdout.write): write("freed ")
kept = Kept()
atexit.register(print, "at exit", end=" ")
threading.Thread(target=lambda: (threading.main_thread().join(), print("thread", end=" "))).start()
print("not flushed", end=" ")
"""


def ended(last: str, *options: str) -> tuple[int, str, str]:
    words = [sys.executable, *options, "-c", PROGRAM + last]
    done = subprocess.run(words, capture_output=True, text=True, timeout=GUARD_S, check=False)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


@pytest.mark.parametrize(("code", "returned"), [("", 0), ("0", 0), ("3", 3), ("-1", 255)])
def test_threads_and_exit_functions_end_and_objects_are_left(code: str, returned: int) -> None:
    assert ended(f"end_process(SystemExit({code}))") == (returned, "not flushed thread at exit", "")


def test_an_end_with_a_message_is_left_to_the_interpreter() -> None:
    assert ended("end_process(SystemExit('no such file'))") == (1, "not flushed thread at exit freed", "no such file")


@pytest.mark.parametrize("examined", ["sys.setprofile(lambda *_: None)", "sys.settrace(lambda *_: None)"])
def test_a_process_that_is_examined_ends_in_the_ordinary_way(examined: str) -> None:
    code, said, _ = ended(f"{examined}\nend_process(SystemExit(3))")
    assert (code, said.split()[-1]) == (3, "freed")


def test_a_developer_sees_the_warnings_of_the_interpreters_end() -> None:
    code, said, _ = ended("end_process(SystemExit(3))", "-X", "dev")
    assert (code, said.split()[-1]) == (3, "freed")
