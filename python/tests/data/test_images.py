# SPDX-License-Identifier: Apache-2.0
"""Images that fabio cannot read, or never finishes reading, are refused within a bounded time; the answers of its process are not trusted."""

import gzip
import os
import signal
import struct
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import zstandard

pytestmark = pytest.mark.whole

_native = pytest.importorskip("rashpa._native")

import fabio  # noqa: E402

from rashpa.data.files.images import Patience, _checked, _Wanted, read_images  # noqa: E402
from rashpa.data.files.limited_process import Limits, start_limited, why_it_ended  # noqa: E402
from rashpa.data.geometry.geometry import read_mask  # noqa: E402
from rashpa.testing.image_files import edf  # noqa: E402

FRAME = np.arange(48, dtype=np.int32).reshape(6, 8)
SHORT = Patience(seconds=3.0)


def write_cbf(path: Path) -> bytes:
    fabio.cbfimage.CbfImage(data=FRAME).write(str(path))
    return path.read_bytes()


def test_a_file_over_which_its_reader_loops_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fabio.py").write_text("def open(name):\n    while True: pass\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    path = tmp_path / "a.mccd"
    path.write_bytes(b"x")
    before = time.monotonic()
    with pytest.raises(_native.FileError, match=r"a\.mccd: .*(within 3 s|processor time)"):
        read_images([path], SHORT)
    assert time.monotonic() - before < 30


def test_what_a_reader_prints_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fabio.py").write_text(
        "import os, sys\n"
        "def open(name):\n"
        "    print('name rb None'); sys.stdout.flush(); os.write(1, b'{}'); raise ValueError('no such kind')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    path = tmp_path / "a.mccd"
    path.write_bytes(b"x")
    with pytest.raises(_native.FileError, match=r"a\.mccd: no such kind;"):
        read_images([path])


def test_a_tiff_whose_directory_follows_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    fabio.tifimage.TifImage(data=FRAME).write(str(path))
    data = bytearray(path.read_bytes())
    (first,) = struct.unpack_from("<I", data, 4)
    (entries,) = struct.unpack_from("<H", data, first)
    struct.pack_into("<I", data, first + 2 + 12 * entries, first)
    path.write_bytes(data)
    with pytest.raises(_native.FileError, match=r"a\.tif: "):
        read_images([path], SHORT, Limits(file_bytes=1 << 20))


def test_images_that_unpack_to_more_than_the_limit_are_refused(tmp_path: Path) -> None:
    zeros = bytes(64 << 20)
    (tmp_path / "a.cbf.zst").write_bytes(zstandard.compress(zeros))
    with pytest.raises(_native.FileError, match=r"a\.cbf\.zst: .*more than 1048576 bytes"):
        read_images([tmp_path / "a.cbf.zst"], limits=Limits(file_bytes=1 << 20))
    fabio.edfimage.EdfImage(data=np.zeros((1024, 1024), np.int32)).write(str(tmp_path / "b.edf"))
    (tmp_path / "b.edf.gz").write_bytes(gzip.compress((tmp_path / "b.edf").read_bytes()))
    with pytest.raises(_native.FileError, match=r"b\.edf\.gz: .*more than 1048576 bytes"):
        read_images([tmp_path / "b.edf.gz"], limits=Limits(file_bytes=1 << 20))


def test_each_file_has_its_own_time_and_the_good_ones_are_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fabio.py").write_text("def open(name):\n    while True: pass\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for number in range(3):
        (tmp_path / f"{number}.edf").write_bytes(edf(FRAME + number, kind="SignedInteger"))
    names = [tmp_path / f"{number}.edf" for number in (2, 0, 1, 0)]
    np.testing.assert_array_equal(read_images(names), np.stack([FRAME + number for number in (2, 0, 1, 0)]))
    slow = tmp_path / "slow.mccd"
    slow.write_bytes(bytes(200))
    patience = Patience(seconds=0.0, bytes_a_second=50.0)
    assert patience.of(names[0].stat().st_size) > 3 * patience.of(200), "good ones have time to come"
    with pytest.raises(_native.FileError, match=r"slow\.mccd: .*within 4 s"):
        read_images([*names, slow], patience)


@pytest.mark.parametrize(
    "line",
    [
        b"no JSON",
        b"[]",
        b'{"frames": 1}',
        b'{"frames": 1, "shape": [6], "dtype": "int32"}',
        b'{"frames": 0, "shape": [6, 8], "dtype": "int32"}',
        b'{"frames": 1, "shape": [6, 99999999], "dtype": "int32"}',
        b'{"frames": 1, "shape": [6, 8], "dtype": "object"}',
        b'{"error": "of another kind"}',
    ],
)
def test_what_the_process_says_is_checked(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"a\.cbf: "):
        _checked(_Wanted("a.cbf"), line)


def test_a_process_ends_at_its_limits_and_why_is_said(tmp_path: Path) -> None:
    limits = Limits(seconds=1)
    (tmp_path / "busy.py").write_text("while True: pass")
    (tmp_path / "crash.py").write_text(f"import os; os.kill(os.getpid(), {int(signal.SIGSEGV)})")
    (tmp_path / "large.py").write_text("if __name__ == '__main__': bytearray(1 << 40)")
    said = {}
    for module in ("busy", "crash", "large"):
        null = os.open(os.devnull, os.O_WRONLY)
        with start_limited(
            module, [], limits, stdout=null, stderr=null, environment={"PYTHONPATH": str(tmp_path)}
        ) as process:
            said[module] = why_it_ended(process.wait(60), limits)
        os.close(null)
    assert "1 s of processor time" in said["busy"]
    assert "SIGSEGV" in said["crash"]
    assert "status 1" in said["large"]


def test_without_fabio_what_brings_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.msk"
    path.write_bytes(b"never read")
    monkeypatch.setitem(sys.modules, "fabio", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    why = r"a\.msk: images of this kind are read by fabio, which is not installed; pip install 'rashpa\[images\]'"
    with pytest.raises(_native.FileError, match=f"^dataset: .*{why}"):
        read_images([path])
    with pytest.raises(ValueError, match=f"^mask: .*{why}"):
        read_mask("mask", str(path), (2, 2))
