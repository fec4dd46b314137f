# SPDX-License-Identifier: Apache-2.0
"""Tests runs stored by the sink raw: converted, killed, and played again."""

import os
import re
import signal
import struct
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the bitshuffle filter)
import numpy as np
import pytest

_native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.cli.report.report import report_of  # noqa: E402
from rashpa.data.making.convert import convert_run  # noqa: E402
from rashpa.data.making.repair import repair_run  # noqa: E402
from rashpa.data.parts.run_parts import StoredRunError  # noqa: E402
from rashpa.data.stored.reader import open_run  # noqa: E402
from rashpa.testing.run_file import run_file  # noqa: E402
from rashpa.testing.waiting import eventually  # noqa: E402
from rashpa.testing.warm_nodes import WarmNodes  # noqa: E402

RASHPA = [sys.executable, "-m", "rashpa.cli.entry"]


def run_text(name: str, frames: int, folder: Path, rate: float) -> str:
    return run_file(
        run={"name": name, "frames": frames, "output": folder},
        detector={
            "name": "JUNGFRAU",
            "width": 1024,
            "height": 512,
            "rate_hz": rate,
            "module": [{"x": 0, "y": 0}, {"x": 0, "y": 512}],
        },
        dataset=None,
        buffer=None,
    )


SIMULATED = """
[dataset]
kind = "jungfrau"
frames = 20
dark_every = 5
hit_fraction = 0.5
"""
PHOTONS = """
[[buffer]]
name = "full"
slots = 20
stack = 5
deadline_ms = 20000
[[buffer.kernel]]
name = "jungfrau"
[[buffer.kernel]]
name = "bragg_count"
threshold = 15
min_pixels = 40
[[buffer.kernel]]
name = "peakfinder8"
"""
PLAIN = """
[[buffer]]
name = "full"
slots = 20
stack = 5
deadline_ms = 20000
"""


def write(folder: Path, name: str, body: str, frames: int, rate: float = 0.0) -> Path:
    file = folder / f"{name}.toml"
    file.write_text(run_text(name=name, frames=frames, folder=folder, rate=rate) + body, encoding="utf-8")
    return file


def datasets(file: h5py.File) -> dict[str, Any]:
    """Return all values below /entry by path, with links into other files followed."""
    found: dict[str, Any] = {}

    def walk(group: h5py.Group, path: str) -> None:
        for name in group:
            one = group[name]
            if isinstance(one, h5py.Group):
                walk(one, f"{path}/{name}")
            else:
                found[f"{path}/{name}"] = one[()]

    walk(file["entry"], "")
    return found


def without_file_numbers(found: dict[str, Any]) -> dict[str, Any]:
    """Return the values without the times, which differ between two files."""
    return {path: value for path, value in found.items() if not path.startswith(("/start_time", "/end_time"))}


def assert_lasted(master: Path) -> None:
    """Check that the time between start and end fits the number of images."""
    with h5py.File(master) as file:
        start, end = (datetime.fromisoformat(file[f"entry/{name}"][()].decode()) for name in ("start_time", "end_time"))
        times = file["entry/rashpa/timestamp_ns"][()]
        taken = times[times > 0]
        assert (end - start).total_seconds() == pytest.approx(float(taken.max() - taken.min()) * 1e-9, abs=0.002)


def test_what_is_converted_is_what_the_sink_hdf5_of_the_same_run_has_written(
    warm_nodes: WarmNodes, tmp_path: Path
) -> None:
    sinks = '[[buffer.sink]]\nkind = "hdf5"\nimages_per_file = 7\n[[buffer.sink]]\nkind = "raw"\nimages_per_file = 5\n'
    file = write(tmp_path, "both", SIMULATED + PHOTONS + sinks, 60)
    report = report_of(warm_nodes.good_run(file), file)
    assert 5 < report["books"]["written"] < 60
    done = convert_run(tmp_path / "both_full_raw_master.h5", tmp_path / "again", images_per_file=7)
    assert (done.stored, done.lost, done.unknown) == (report["books"]["written"], 0, 0)
    with h5py.File(tmp_path / "both_full_master.h5") as expected, h5py.File(done.master) as found:
        with h5py.File(tmp_path / "both_full_raw_master.h5") as raw_run:
            for name in ("entry/start_time", "entry/end_time"):
                assert found[name][()] == raw_run[name][()], "when it was converted is no matter"
        wanted, got = without_file_numbers(datasets(expected)), without_file_numbers(datasets(found))
        assert wanted.keys() == got.keys()
        assert "/data/data" in wanted
        assert any(path.startswith("/rashpa/tables/peakfinder8/") for path in wanted)
        for path, value in wanted.items():
            np.testing.assert_array_equal(value, got[path], err_msg=path)
        for path in ("entry/rashpa", "entry/rashpa/pipeline/02_bragg_count"):
            assert {k: v.tolist() if hasattr(v, "tolist") else v for k, v in expected[path].attrs.items()} == {
                k: v.tolist() if hasattr(v, "tolist") else v for k, v in found[path].attrs.items()
            }
    with open_run(tmp_path / "both_full_raw_master.h5") as raw, open_run(done.master) as dense:
        assert raw.form == "raw"
        assert len(raw) == len(dense)
        for index in range(len(dense)):
            np.testing.assert_array_equal(raw.image(index), dense.image(index))
        assert raw.summary().books == dense.summary().books
        by_the_book = read_by_the_book(tmp_path / "both_full_raw")
        assert sorted(by_the_book) == dense.frame_numbers.tolist()
        for frame, image in dense.images():
            np.testing.assert_array_equal(by_the_book[frame], image)
    inspected = subprocess.run(
        [*RASHPA, "inspect", str(tmp_path / "both_full_raw_master.h5")], capture_output=True, text=True
    )
    assert inspected.returncode == 0, inspected.stderr
    assert "rashpa convert" in inspected.stdout


def read_by_the_book(prefix: Path) -> dict[int, np.ndarray[Any, Any]]:
    """Return stored images by frame number, read as docs/reference/raw_files.md says, without code of rashpa except the CRC32C."""
    index = Path(f"{prefix}_master.journal").read_bytes()
    assert index[:8] == b"RSHAJNL1"
    width, height, pixel, form, version, crc = struct.unpack_from("<6I", index, 32)
    assert (pixel, form, version, crc) == (3, 2, 2, _native.crc32c(index[:52]))
    (text_bytes,) = struct.unpack_from("<I", index, 56)
    columns = index[60 : 60 + text_bytes].decode().count("column\t")
    at = 60 + text_bytes + 4
    found = {}
    while len(index) - at >= 92 + 8 * columns:
        frame, file, place = struct.unpack_from("<8xQ8xII", index, at)
        (lost,) = struct.unpack_from("<I", index, at + 56)
        offset, length, image_crc = struct.unpack_from("<QQI", index, at + 64 + 8 * columns)
        end = at + 88 + 8 * columns + 12 * lost
        assert struct.unpack_from("<I", index, end)[0] == _native.crc32c(index[at:end])
        at = end + 4
        if file == 0:
            continue
        data = Path(f"{prefix}_data_{file:06}.raw").read_bytes()
        assert data[:8] == b"RSHARAW1"
        said = struct.unpack_from("<6IQQII", data, 8)
        assert said[:6] == (1, 4096, width, height, pixel, file)
        assert said[6] == length == width * height * 2
        assert said[9] == _native.crc32c(data[:52])
        assert offset == 4096 + place * said[7]
        image = data[offset : offset + length]
        assert _native.crc32c(image) == image_crc
        found[frame] = np.frombuffer(image, "<i2").reshape(height, width)
    return found


def receiver_of(manager: int) -> int:
    """Return the process id of the run's receiver."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            parent = re.search(r"^PPid:\t(\d+)$", (entry / "status").read_text(), re.MULTILINE)
        except OSError:
            continue
        if b"receiver" in words and parent is not None and int(parent[1]) == manager:
            return int(entry.name)
    raise LookupError("there is no receiver")


def test_a_run_whose_receiver_is_killed_is_there_up_to_what_was_written(tmp_path: Path) -> None:
    sink = '[[buffer.sink]]\nkind = "raw"\nimages_per_file = 16\n'
    file = write(
        tmp_path, "killed", '[dataset]\nkind = "pattern"\nmodules = 2\nframes = 16\n' + PLAIN + sink, 100000, 50
    )
    process = subprocess.Popen([*RASHPA, "run", str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        third = tmp_path / "killed_full_raw_data_000003.raw"
        eventually(third.exists, 120.0, process=process)
        os.kill(receiver_of(process.pid), signal.SIGKILL)
        process.wait(60)
    finally:
        process.kill()
        process.wait()
    master = tmp_path / "killed_full_raw_master.h5"
    with pytest.raises(StoredRunError, match="rashpa repair"):
        open_run(master)
    done = convert_run(master, tmp_path / "saved")
    assert done.lost == 0
    assert done.stored >= 30, "the files before were full"
    assert done.stored + done.unknown == 100000
    with open_run(done.master) as run_:
        from rashpa.sim import pattern_frame

        for number, image in run_.images():
            parts = [pattern_frame("uint16", module, number % 16, 512, 1024) for module in (0, 1)]
            np.testing.assert_array_equal(image, np.vstack(parts))
    assert_lasted(done.master)
    repaired = repair_run(master)
    assert_lasted(master)
    assert (repaired.stored, repaired.unknown) == (done.stored, done.unknown)
    with open_run(master) as raw:
        assert len(raw) == done.stored
        raw.image(len(raw) - 1)


@pytest.mark.parametrize("kind", ["raw", "hdf5"])
def test_a_stored_run_is_played_again_bit_by_bit(warm_nodes: WarmNodes, tmp_path: Path, kind: str) -> None:
    keep = "keep_darks = true\n"
    warm_nodes.good_run(
        write(tmp_path, "first", SIMULATED + PLAIN + keep + f'[[buffer.sink]]\nkind = "{kind}"\n', 20, 50)
    )
    (master,) = tmp_path.glob("first_full*_master.h5")
    again = (
        f'[dataset]\nkind = "stored"\npath = "{master}"\nspeed = 2\n'
        + PLAIN
        + keep
        + '[[buffer.sink]]\nkind = "hdf5"\n'
    )
    warm_nodes.good_run(write(tmp_path, "second", again, 40))
    with open_run(master) as old, open_run(tmp_path / "second_full_master.h5") as new:
        assert len(old) == 20
        assert len(new) == 40
        for index in range(40):
            np.testing.assert_array_equal(new.image(index), old.image(index % 20))
        np.testing.assert_array_equal(new.tables.flags & 3, np.tile(old.tables.flags & 3, 2))
        took = np.diff(new.tables.timestamp_ns.astype(np.int64)).sum() / 39
        assert took >= 0.9 * 1e9 / 100, "not faster than twice the recorded rate"


def test_frames_that_are_not_stored_are_left_out_and_said(warm_nodes: WarmNodes, tmp_path: Path) -> None:
    from rashpa.data.datasets.dataset_spec import StoredSpec
    from rashpa.data.datasets.replay import load_replay

    warm_nodes.good_run(write(tmp_path, "vetoed", SIMULATED + PHOTONS + '[[buffer.sink]]\nkind = "raw"\n', 40, 50))
    master = tmp_path / "vetoed_full_raw_master.h5"
    replay = load_replay(
        StoredSpec(
            kind="stored",
            path=str(master),
            speed=1,
            width=1024,
            height=512,
            places=[(0, 512), (0, 0)],
            masked="minimum",
        )
    )
    with open_run(master) as stored:
        assert replay.dataset.frames == len(stored) < 40
        assert "left out" in replay.said
        assert replay.times is not None
        taken = stored.tables.timestamp_ns[stored.tables.stored_index >= 0].astype(np.int64)
        np.testing.assert_array_equal(replay.times.due_ns, taken - taken[0])
        for index in range(len(stored)):
            np.testing.assert_array_equal(replay.dataset.frame(0, index), stored.image(index)[512:])
            np.testing.assert_array_equal(replay.dataset.frame(1, index), stored.image(index)[:512])
