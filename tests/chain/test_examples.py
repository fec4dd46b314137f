# SPDX-License-Identifier: Apache-2.0
"""Runs the examples as a user does, with the command, real processes, sockets and files."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the bitshuffle filter)
import numpy as np
import pytest
import zstandard
from numpy.typing import NDArray

from rashpa.data.stored.combined.combined import masters_of
from rashpa.node.engine.native_engine import NativeFactory
from rashpa.testing.waiting import GUARD_S

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
M049 = ROOT.parent / "shared" / "data" / "jungfrau_m049"
COMMAND = [sys.executable, "-m", "rashpa.cli.entry", "run"]
PLAYED = 20  # of the detector's frames; a tenth is dark
ENDS_WITHIN_S = 60  # of the 500 s and more that its frames would take; on loaded machines the report alone takes 15


def run(file: Path, folder: Path) -> tuple[int, str, dict[str, Any]]:
    """Return exit code, output and report of one run, with `folder` as working directory."""
    done = subprocess.run(
        [*COMMAND, str(file), "--output", str(folder / "report"), "--no-page"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
    )
    output = done.stdout + done.stderr
    report = folder / "report" / "report.json"
    assert report.is_file(), output
    return done.returncode, output, json.loads(report.read_text())


def edited(folder: Path, name: str, **values: str) -> Path:
    """Return a copy of an example with new values of some keys, at their first place, and with fewer frames that repeat more often, because making
    frames takes most of a run."""
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    text = re.sub(r"(?m)(^\[dataset\][^[]*?^frames = )\d+", rf"\g<1>{PLAYED}", text)
    for key, value in values.items():
        text, count = re.subn(rf"(?m)^{key} = \S+", f"{key} = {value}", text, count=1)
        assert count == 1, key
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def unpacked(file: Path, dtype: type[np.generic]) -> NDArray[Any]:
    with file.open("rb") as source:
        return np.frombuffer(zstandard.ZstdDecompressor().stream_reader(source).read(), dtype).reshape(512, 1024)


def test_first_light_balances_its_books_and_keeps_the_hits(tmp_path: Path) -> None:
    code, output, report = run(
        edited(tmp_path, "01_first_light.toml", frames="240", rate_hz="0.0", output='"."'), tmp_path
    )
    assert code == 0, output
    books = report["books"]
    assert books["balanced"]
    assert books["expected"] == books["complete"] == 240 + 48
    assert books["accepted"] == books["written"] > 0
    assert books["vetoed"] > 0
    assert report["injected"]["unexplained"] == 0
    log = (tmp_path / "report" / "nodes.log").read_text(encoding="utf-8")
    assert re.search(
        r"^receiver: \S+Z info +\[run 1, buffer full\] receiver: stopped: 240 images expected", log, re.MULTILINE
    )
    assert re.search(r"^emulator: \S+Z info +\[run 1\] emulator: started$", log, re.MULTILINE)
    with h5py.File(tmp_path / "first_light_full_master.h5") as file:
        stored = file["/entry/data/data"]
        frames = file["/entry/data/frame_number"][:]
        bright = file["/entry/rashpa/bright_pixels"][:]
        decision = file["/entry/rashpa/decision"][:]
        assert len(stored) == len(frames) == int((decision == 1).sum())
        assert (bright[frames] >= 40).all()
        assert (np.asarray(stored[0])[512:548] == np.iinfo(np.int16).min).all(), "the gap is masked, not 0"


def check_against_the_processor(file: Path, folder: Path, report: dict[str, Any]) -> None:
    """Compare with the same run on processor cores: the books, the numbers of every image, and the pixels must agree."""
    other = folder / "processor.toml"
    text = re.sub(r'unit = "(cuda|opencl)"', 'unit = "cpu"', file.read_text(encoding="utf-8"))
    other.write_text(text.replace('output = "."', 'output = "cpu"'), encoding="utf-8")
    code, output, processor = run(other, folder)
    assert code == 0, output
    assert all(buffer["unit"].find("NVIDIA") < 0 for buffer in processor["buffers"])
    assert processor["books"] == report["books"]
    masters = sorted(path for path in folder.glob("*_master.h5") if not masters_of(path))
    assert masters
    for master in masters:
        with h5py.File(master) as device, h5py.File(folder / "cpu" / master.name) as cores:
            names = [f"/entry/rashpa/{name}" for name in (*device["/entry/rashpa"].attrs["columns"], "decision")]
            stored = ("data", "frame_number", "index", "intensity", "frame_ptr")
            names += [f"/entry/data/{name}" for name in stored if name in device["/entry/data"]]
            for name in names:
                np.testing.assert_array_equal(device[name][:], cores[name][:], err_msg=f"{master.name} {name}")


def test_a_gpu_gives_the_books_of_the_processor_and_a_machine_without_one_is_told(tmp_path: Path) -> None:
    file = edited(tmp_path, "05_gpu.toml", frames="240", rate_hz="0.0", output='"."')
    units = {unit.name: unit for unit in NativeFactory("receiver").capabilities("here").units}
    if units["cuda"].usable:
        code, output, report = run(file, tmp_path)
        assert code == 0, output
        assert report["books"]["balanced"]
        assert report["books"]["complete"] == 240 + 48
        assert "NVIDIA" in report["buffers"][0]["unit"]
        check_against_the_processor(file, tmp_path, report)
        return
    done = subprocess.run([*COMMAND, str(file)], cwd=tmp_path, capture_output=True, text=True, timeout=GUARD_S)
    assert done.returncode != 0
    said = " ".join((done.stdout + done.stderr).split())
    assert "buffer" in said
    assert f"cuda cannot be used: {units['cuda'].what}; what it can use: cpu" in said


def cuda_devices() -> int:
    """Return the number of CUDA devices that a receiver can use here."""
    return sum(device.unit == "cuda" for device in NativeFactory("receiver").capabilities("here").devices)


def refusal(file: Path) -> str:
    """Return the words on one line with which a run is refused, in the folder of its file."""
    done = subprocess.run([*COMMAND, str(file)], cwd=file.parent, capture_output=True, text=True, timeout=GUARD_S)
    assert done.returncode != 0
    return " ".join((done.stdout + done.stderr).split())


def assert_same_by_host(file: Path, name: str, ours: str, by_host: str) -> None:
    """Check that run `name` of the file has stored what it stores with the line `by_host` in place of `ours`."""
    host = file.with_name("host.toml")
    text = file.read_text(encoding="utf-8").replace(ours, by_host)
    host.write_text(text.replace(f'name = "{name}"', 'name = "host"'), encoding="utf-8")
    assert run(host, file.parent)[0] == 0
    masters = (file.with_name(f"{one}_full_master.h5") for one in (name, "host"))
    with contextlib.ExitStack() as stack:
        found, truth = (stack.enter_context(h5py.File(master)) for master in masters)
        for array in ("data/data", "data/frame_number", "rashpa/decision"):
            np.testing.assert_array_equal(found[f"/entry/{array}"][:], truth[f"/entry/{array}"][:], err_msg=array)


def test_images_in_memory_of_a_gpu_become_those_of_host_memory(tmp_path: Path) -> None:
    """Check that a machine without a GPU reports it."""
    other = min(1, cuda_devices() - 1)
    file = edited(
        tmp_path, "14_device_memory.toml", frames="240", rate_hz="0.0", output='"."', device=str(max(0, other))
    )
    if other < 0:
        assert "cuda cannot be used" in refusal(file)
        return
    code, output, report = run(file, tmp_path)
    assert code == 0, output
    books = report["books"]
    assert books["balanced"]
    assert books["complete"] == 240
    assert books["accepted"] == books["written"] > 0
    assert f"in memory of CUDA device {other}" in report["memory"]
    assert_same_by_host(file, "device_memory", 'memory = "device"', 'memory = "huge"')


def test_packets_that_a_gpu_gathers_become_the_images_of_host_memory(tmp_path: Path) -> None:
    """Check that a machine without a GPU reports it."""
    file = edited(tmp_path, "21_gathered.toml", output='"."')
    if cuda_devices() == 0:
        assert "cuda cannot be used" in refusal(file)
        return
    code, output, report = run(file, tmp_path)
    assert code == 0, output
    assert report["books"]["balanced"]
    assert report["injected"]["unexplained"] == 0
    assert "gathers packets" in report["memory"]
    assert_same_by_host(file, "gathered", 'memory = "device"', 'memory = "huge"')


def test_stacks_that_begin_by_words_give_the_results_of_the_hosts_trigger(tmp_path: Path) -> None:
    """Check that a machine without a GPU reports it."""
    file = edited(tmp_path, "19_word.toml", frames="240", rate_hz="0.0", output='"."')
    if cuda_devices() == 0:
        assert "cuda cannot be used" in refusal(file)
        return
    code, output, report = run(file, tmp_path)
    assert code == 0, output
    assert report["books"]["complete"] == 240
    assert report["books"]["accepted"] == report["books"]["written"] > 0
    assert "trigger word" in report["buffers"][0]["unit"]
    assert_same_by_host(file, "word", 'trigger = "word"', 'trigger = "graph"')


def test_words_over_an_rnic_are_planned_and_a_machine_without_the_devices_is_told(tmp_path: Path) -> None:
    file = edited(tmp_path, "22_verbs_word.toml", frames="60", rate_hz="0.0", output='"."')
    planned = subprocess.run(
        [*COMMAND[:-1], "plan", str(file)], cwd=tmp_path, capture_output=True, text=True, timeout=GUARD_S
    )
    assert planned.returncode == 0, planned.stdout + planned.stderr
    if cuda_devices() > 0:
        pytest.skip("whether it runs depends on the RNIC of this machine")
    said = refusal(file)
    assert "cuda cannot be used" in said or "verbs" in said


def test_an_opencl_device_gives_the_books_of_the_processor(tmp_path: Path) -> None:
    """Run the GPU's example on any OpenCL device of this machine, chosen by a part of its name."""
    unit = {unit.name: unit for unit in NativeFactory("receiver").capabilities("here").units}["opencl"]
    if not unit.usable:
        pytest.skip(f"no OpenCL here: {unit.what}")
    name = re.sub(r"^0: ", "", unit.what.split(" (")[0])
    file = edited(
        tmp_path,
        "05_gpu.toml",
        frames="240",
        rate_hz="0.0",
        output='"."',
        unit='"opencl"',
        device=f'"{name[:40].upper()}"',
    )
    code, output, report = run(file, tmp_path)
    assert code == 0, output
    assert report["books"]["balanced"]
    assert report["books"]["complete"] == 240 + 48
    assert name in report["buffers"][0]["unit"]
    assert "3 stacks in flight" in report["buffers"][0]["unit"]
    check_against_the_processor(file, tmp_path, report)


def test_two_processes_that_share_memory_give_the_same_images_as_over_packets(tmp_path: Path) -> None:
    code, output, report = run(edited(tmp_path, "04_pcie.toml", frames="240", rate_hz="0.0", output='"."'), tmp_path)
    assert code == 0, output
    books = report["books"]
    assert books["balanced"]
    assert books["expected"] == books["complete"] == 240 + 48
    assert books["accepted"] == books["written"] > 0
    assert report["proof"] == {"verify": "all", "of": "CRC32C of every image", "crc_mismatches": 0}
    assert report["icrc"]["check"] == "none"
    assert report["memory"].startswith("shared-")
    roce = tmp_path / "roce.toml"
    text = (tmp_path / "04_pcie.toml").read_text(encoding="utf-8")
    roce.write_text(
        text.replace('kind = "pcie"', 'kind = "roce"')
        .replace("[receiver]\n", "[receiver]\nport = 0\n")
        .replace('name = "pcie"', 'name = "roce"'),
        encoding="utf-8",
    )
    assert run(roce, tmp_path)[0] == 0
    with h5py.File(tmp_path / "pcie_full_master.h5") as pcie, h5py.File(tmp_path / "roce_full_master.h5") as other:
        for name in ("/entry/data/data", "/entry/data/frame_number", "/entry/rashpa/bright_pixels"):
            np.testing.assert_array_equal(pcie[name][:], other[name][:], err_msg=name)


@pytest.mark.parametrize("link", ["roce", "pcie"])
def test_two_receivers_take_their_parts_of_one_detector(tmp_path: Path, link: str) -> None:
    file = edited(tmp_path, "06_two_receivers.toml", frames="240", rate_hz="0.0", output='"."')
    if link == "pcie":
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("[dataset]", '[link]\nkind = "pcie"\n\n[dataset]', 1), encoding="utf-8")
    code, output, report = run(file, tmp_path)
    assert code == 0, output
    assert report["injected"]["unexplained"] == 0
    assert {one["name"]: one["buffers"] for one in report["receivers"]} == {
        "storage": ["full"],
        "monitor": ["centre", "raw"],
    }
    assert [one["books"]["complete"] for one in report["receivers"]] == [240, 2 * 24]
    assert all(one["books"]["balanced"] and one["link"]["events"] > 0 for one in report["receivers"])
    assert report["books"]["written"] == sum(one["books"]["written"] for one in report["receivers"])
    for buffer, receiver in (("full", "storage"), ("centre", "monitor")):
        with h5py.File(tmp_path / f"two_{buffer}_master.h5") as master:
            assert master["/entry/rashpa"].attrs["receiver"] == receiver
    flat = " ".join(output.split())
    assert "storage" in flat
    assert "monitor" in flat


def test_receivers_that_are_running_are_named_by_their_urls(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rashpa.cli.entry", "receiver", "--port", "0"]
    pipe = subprocess.PIPE
    nodes = [
        subprocess.Popen([*command, "--name", name, "--with-parent"], cwd=tmp_path, stdin=pipe, stdout=pipe, text=True)
        for name in ("one", "other")
    ]
    try:
        urls = [json.loads(node.stdout.readline())["url"] for node in nodes if node.stdout]
        file = edited(tmp_path, "06_two_receivers.toml", frames="100", rate_hz="0.0", output='"."')
        text = file.read_text(encoding="utf-8")
        for name, url in zip(("storage", "monitor"), urls, strict=True):
            text = text.replace(f'name = "{name}"\n', f'name = "{name}"\nnode = "{url}"\n', 1)
        file.write_text(text, encoding="utf-8")
        for _ in range(2):  # nodes stay up
            code, output, report = run(file, tmp_path)
            assert code == 0, output
            assert [one["node"] for one in report["receivers"]] == urls
            assert {notice["node"] for notice in report["notifications"]} == {"emulator", "one", "other"}
        nodes[1].kill()
        nodes[1].wait()
        done = subprocess.run([*COMMAND, str(file)], cwd=tmp_path, capture_output=True, text=True, timeout=GUARD_S)
        assert done.returncode != 0
        assert f"receiver monitor at {urls[1]} cannot be reached" in " ".join(done.stderr.split())
    finally:
        for node in nodes:
            node.kill()
            node.communicate()


@pytest.mark.slow
def test_the_books_equal_the_log_over_a_hundred_thousand_images_of_faults(tmp_path: Path) -> None:
    code, output, report = run(EXAMPLES / "02_faults.toml", tmp_path)
    assert code == 0, output
    injected = report["injected"]
    assert min(injected[kind] for kind in ("drop", "duplicate", "reorder", "corrupt", "stall", "dead_images")) > 0
    assert report["books"]["expected"] >= 100_000
    assert report["books"]["balanced"]
    assert injected["unexplained"] == 0
    assert report["books"]["partial"] > 0


@pytest.mark.skipif(not M049.is_dir(), reason="needs the recorded frames of ../shared/data/jungfrau_m049")
def test_recorded_frames_come_out_as_the_recorded_conversion(tmp_path: Path) -> None:
    code, output, report = run(EXAMPLES / "03_recorded_jungfrau.toml", tmp_path)
    assert code == 0, output
    assert report["books"]["complete"] == report["books"]["expected"] == 20
    recorded = unpacked(M049 / "mod5_conv0.bin.zst", np.float32)
    raw = unpacked(M049 / "mod5_raw0.bin.zst", np.uint16)
    gain = np.minimum(raw >> 14, 2).astype(np.intp)
    exact = np.take_along_axis(np.load(M049 / "gain_reconstructed.npz")["exact"], gain[None], axis=0)[0]
    exact &= raw != 0xC000  # the overflow has no value
    with h5py.File(tmp_path / "out" / "recorded" / "recorded_kev_master.h5") as file:
        photons = np.asarray(file["/entry/data/data"][0], np.float64) / 12.4
    assert exact.sum() > 500_000
    np.testing.assert_allclose(photons[exact], recorded[exact], rtol=1e-6, atol=0)
    with h5py.File(tmp_path / "out" / "recorded" / "recorded_photons_master.h5") as file:
        counts = np.asarray(file["/entry/data/data"][0])
    clear = exact & (np.abs(recorded - np.floor(recorded) - 0.5) > 1e-3)  # away from halves rounding cannot differ
    np.testing.assert_array_equal(counts[clear], np.rint(recorded[clear]))


def children(process: int) -> dict[str, int]:
    """Return the process ids of the local nodes that a run has started, by the nodes' names."""
    found = {}
    for entry in Path(f"/proc/{process}/task/{process}/children").read_text().split():
        words = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
        for name in ("emulator", "receiver"):
            if name.encode() in words:
                found[words[words.index(b"--name") + 1].decode()] = int(entry)
    return found


def check_the_other_receiver(folder: Path, victim: str, output: str) -> None:
    """Check that the surviving one of two receivers has closed its files and sent its last counters."""
    lines = re.findall(r"first missing image of receiver (\w+)", " ".join(output.split()))
    assert lines[0] == victim, "the lost one first"
    assert sorted(lines) == ["monitor", "storage"]
    report = json.loads((folder / "report" / "report.json").read_text(encoding="utf-8"))
    other = next(one for one in report["receivers"] if one["name"] != victim)
    assert other["books"]["balanced"]
    with h5py.File(folder / ("two_centre_master.h5" if victim == "storage" else "two_full_master.h5")) as file:
        assert file["/entry/rashpa/books/written"][()] == len(file["/entry/data/frame_number"]) > 0


@pytest.mark.parametrize(
    ("example", "victim"),
    [
        ("06_two_receivers", "receiver storage"),
        ("06_two_receivers", "receiver monitor"),
        ("06_two_receivers", "interrupt"),
        ("01_first_light", "emulator"),
        ("01_first_light", "receiver"),
        ("01_first_light", "interrupt"),
        ("04_pcie", "emulator"),
        ("04_pcie", "receiver"),
    ],
)
def test_a_broken_run_ends_soon_names_the_first_missing_image_and_the_next_run_works(
    tmp_path: Path, example: str, victim: str
) -> None:
    file = edited(tmp_path, f"{example}.toml", frames="100000", output='"."')
    two = example == "06_two_receivers"
    receivers = ["receiver storage", "receiver monitor"] if two else ["receiver"]
    complete = 20 + 2 * 2 if two else 24
    data = tmp_path / f"{'two' if two else example[3:]}_full_data_000001.h5"
    process = subprocess.Popen(
        [*COMMAND, str(file), "--output", str(tmp_path / "report"), "--no-page"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        limit = time.monotonic() + 90
        while not (data.exists() and data.stat().st_size > 2_000_000):  # images are being written
            assert time.monotonic() < limit, "the run did not begin"
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.05)  # looks again soon, or at once when there is nothing to wait for any more
                raise AssertionError("the run ended before it wrote images")
        nodes = children(process.pid)
        assert set(nodes) == {"emulator", *receivers}
        if victim == "interrupt":
            process.send_signal(signal.SIGINT)
        else:
            os.kill(nodes[victim], signal.SIGKILL)
        output, _ = process.communicate(timeout=ENDS_WITHIN_S)
    finally:
        process.kill()
    assert process.returncode == (130 if victim == "interrupt" else 1), output
    flat = " ".join(output.split())
    assert re.search(r"first missing image( of receiver \w+)?: (.*image )?\d+", flat), output
    if victim != "interrupt":
        assert victim in flat
        assert "SIGKILL" in flat
        if two:
            check_the_other_receiver(tmp_path, victim.removeprefix("receiver "), output)
    assert not any(Path(f"/proc/{node}").exists() for node in nodes.values()), "no process is left behind"

    code, output, report = run(edited(tmp_path, f"{example}.toml", frames="20", rate_hz="0.0", output='"."'), tmp_path)
    assert code == 0, output
    assert report["books"]["complete"] == complete


def test_a_scan_finds_crystals_and_zooms_where_feedback_says(tmp_path: Path) -> None:
    script = EXAMPLES / "10_scan_then_zoom" / "scan_then_zoom.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], cwd=tmp_path, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr
    zoom = re.search(r"zoom: (\d+) × (\d+) µm at (\d+), (\d+)", done.stdout)
    assert zoom, done.stdout
    width, height, x, y = map(int, zoom.groups())
    assert x <= 32 - 17 < 32 + 17 <= x + width, "the largest crystal is inside"
    assert y <= 80 - 11 < 80 + 11 <= y + height
    assert width * height < 120 * 120 / 4
    assert "fine: 256 points" in done.stdout
    assert (tmp_path / "scan_then_zoom.png").stat().st_size > 10_000
