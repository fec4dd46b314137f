# SPDX-License-Identifier: Apache-2.0
"""Unfinished files of a process that gets a signal to end: no part of them stays, whoever sends the signal."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

MAKES = {
    "one file": "from rashpa.data.parts.staged_files import staged_file as made\nwith made(Path('x.h5')) as path:\n    path.write_bytes(b'half')\n",
    "files of a run": "from rashpa.data.parts.staged_files import staged_files as made\nwith made(Path('x')) as files:\n    files.prefix.with_name('x_data').write_bytes(b'half')\n",
}  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("what", list(MAKES))
def test_what_is_half_made_is_taken_away(tmp_path: Path, what: str, number: signal.Signals) -> None:
    told = f"    os.kill(os.getpid(), {int(number)})\n    signal.pause()\n"
    code = f"import os, signal\nfrom pathlib import Path\n{MAKES[what]}{told}"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert b"KeyboardInterrupt" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_who_has_said_what_a_signal_does_is_obeyed(number: signal.Signals) -> None:
    from rashpa.data.base.ended import ended_in_order

    before = signal.signal(number, signal.SIG_IGN)
    try:
        with ended_in_order():
            assert signal.getsignal(number) is signal.SIG_IGN
        signal.signal(number, signal.SIG_DFL)
        with ended_in_order():
            assert signal.getsignal(number) is not signal.SIG_DFL
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
