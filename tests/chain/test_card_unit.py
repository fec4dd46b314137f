# SPDX-License-Identifier: Apache-2.0
"""Tests runs in which a simulated card processes the pipeline, as a user starts them: from an emulator in software or on another card, to NXmx."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the bitshuffle filter)
import numpy as np
import pytest
from numpy.typing import NDArray

from rashpa.control.nodes.native_program import native_program
from rashpa.data.stored.reader import Run, open_run
from rashpa.node.engine.simulated_card import SimulatedCard
from rashpa.testing.waiting import eventually

EXAMPLE = Path(__file__).parents[2] / "examples" / "12_card_unit.toml"
LISTS = EXAMPLE.with_name("13_card_lists.toml")
M049 = EXAMPLE.parents[2] / "shared" / "data" / "jungfrau_m049"
COMMAND = [sys.executable, "-m", "rashpa.cli.entry", "run"]
SENDER = re.compile(r'engine = "fpga"\ncard = "sim".*\n')
UNIT = re.compile(r'unit = "fpga"\ncard = "sim".*\n')
COLUMNS = ("masked_pixels", "saturated_pixels", "bright_pixels")

pytestmark = pytest.mark.skipif(
    native_program("rashpa_card") is None, reason="no simulated card: Verilator was not there when rashpa was built"
)


def played(folder: Path, text: str, name: str, code: int = 0) -> tuple[str, dict[str, Any]]:
    """Carry out a run with its files in `folder`/`name`; return output and report."""
    file = folder / f"{name}.toml"
    file.write_text(re.sub(r'(?m)^output = "out.*', f'output = "{name}"', text), encoding="utf-8")
    report = folder / f"{name}_report"
    done = subprocess.run(
        [*COMMAND, str(file), "--output", str(report), "--no-page"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=400,
    )
    output = done.stdout + done.stderr
    assert done.returncode == code, output
    return output, json.loads((report / "report.json").read_text())


def stored(folder: Path, name: str) -> dict[str, NDArray[Any]]:
    """Return the pixels of accepted images, and the numbers of all images."""
    (master,) = (folder / name).glob("*_master.h5")
    with h5py.File(master) as file:
        found = {column: np.asarray(file[f"/entry/rashpa/{column}"]) for column in COLUMNS}
        return found | {name: np.asarray(file[f"/entry/data/{name}"]) for name in ("data", "frame_number")}


def lists_of(folder: Path, name: str) -> Run:
    (master,) = (folder / name).glob("*_master.h5")
    return open_run(master)


def expect_same(folder: Path, one: str, other: str) -> None:
    first, second = stored(folder, one), stored(folder, other)
    assert len(first["data"]) > 0
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name], err_msg=name)


def example() -> str:
    return EXAMPLE.read_text(encoding="utf-8")


def buffer_of(report: dict[str, Any]) -> dict[str, Any]:
    (buffer,) = report["buffers"]
    return dict(buffer)


def test_through_two_cards_pixels_counts_and_decisions_are_those_of_the_processor(tmp_path: Path) -> None:
    _, report = played(tmp_path, example(), "cards")
    books = report["books"]
    assert books["balanced"]
    assert books["complete"] == books["expected"] == 60
    assert books["errored"] == 0
    assert 0 < books["accepted"] < 54, "some hits; six of sixty frames are dark"
    buffer = buffer_of(report)
    assert "card" in buffer["unit"], buffer["unit"]
    assert buffer["vetoes"]["too_few"] > 0
    assert report["emulators"][0]["engine"] == "fpga"
    _, plain = played(tmp_path, UNIT.sub("", SENDER.sub("", example())), "processor")
    assert plain["books"] == books
    assert buffer_of(plain)["vetoes"] == buffer["vetoes"]
    expect_same(tmp_path, "cards", "processor")


@pytest.mark.parametrize(("capacity", "code"), [(1.0, 0), (0.3, 3)])
def test_lists_made_on_a_card_are_those_of_the_processor(tmp_path: Path, capacity: float, code: int) -> None:
    """Check that both mark images as errored when these have more pixels than a list can hold."""
    text = LISTS.read_text(encoding="utf-8").replace("capacity = 1.0", f"capacity = {capacity}")
    _, card = played(tmp_path, text, "card", code)
    _, plain = played(tmp_path, UNIT.sub("", text), "processor", code)
    assert "card" in buffer_of(card)["unit"]
    assert card["books"] == plain["books"]
    assert card["books"]["balanced"]
    assert (card["books"]["errored"] > 0) == (code != 0)
    assert buffer_of(card)["vetoes"] == buffer_of(plain)["vetoes"]
    with lists_of(tmp_path, "card") as one, lists_of(tmp_path, "processor") as other:
        assert one.form == other.form == "sparse"
        assert len(one) == len(other) == card["books"]["accepted"]
        for image in range(len(one)):
            for found, wanted in zip(one.sparse(image), other.sparse(image), strict=True):
                assert len(found) > 0
                np.testing.assert_array_equal(found, wanted)


@pytest.mark.skipif(not M049.is_dir(), reason="the recorded frames are not on this machine")
def test_recorded_frames_of_a_module_are_converted_on_a_card_as_by_the_processor(tmp_path: Path) -> None:
    text = (
        (EXAMPLE.parent / "03_recorded_jungfrau.toml")
        .read_text(encoding="utf-8")
        .replace("../../shared/data/jungfrau_m049", str(M049))
    )
    head, photons = text.split("[[buffer]]", 1)[0], text[text.index("[[buffer]]                  # photons") :]
    text = head + photons.split("[[buffer.sink]]")[0] + '[[buffer.sink]]\nkind = "hdf5"\n'
    on_card = text.replace("[[buffer]]", '[[buffer]]\nunit = "fpga"\ncard = "sim"\ndeadline_ms = 60000\n', 1)
    assert 'name = "csr"' not in on_card
    _, report = played(tmp_path, on_card, "card")
    assert report["books"]["complete"] == 10
    assert report["books"]["errored"] == 0
    played(tmp_path, text, "processor")
    masters = [next((tmp_path / name).glob("*_master.h5")) for name in ("card", "processor")]
    with h5py.File(masters[0]) as one, h5py.File(masters[1]) as other:
        np.testing.assert_array_equal(one["/entry/data/data"][:], other["/entry/data/data"][:])


def test_a_card_that_somebody_has_started_serves_run_after_run(tmp_path: Path) -> None:
    card = SimulatedCard("--unit", "--memory", "64M")
    try:
        text = SENDER.sub("", example()).replace('card = "sim"', f'card = "{card.directory}"')
        for name in ("first", "second"):
            _, report = played(tmp_path, text, name)
            assert str(card.directory) in buffer_of(report)["unit"]
            assert report["books"]["errored"] == 0
    finally:
        card.close()
    expect_same(tmp_path, "first", "second")


def test_a_card_that_dies_costs_no_count_and_the_run_says_what_happened(tmp_path: Path) -> None:
    card = SimulatedCard("--unit", "--memory", "64M")
    text = SENDER.sub("", example()).replace('card = "sim"', f'card = "{card.directory}"')
    text = text.replace("frames = 60", "frames = 2000").replace("[detector]\n", "[detector]\nrate_hz = 200\n")

    def kill() -> None:
        eventually(lambda: list((tmp_path / "killed").glob("*.h5")), 100.0)  # its frames take ten seconds more
        os.kill(card._process.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    began = time.monotonic()
    try:
        output, report = played(tmp_path, text, "killed", 3)  # some images are errored
    finally:
        killer.join()
        card.close()
    assert time.monotonic() - began < 120
    books = report["books"]
    assert books["balanced"]
    assert books["errored"] > 0
    assert "check that it runs" in buffer_of(report)["unit_error"], buffer_of(report)["unit_error"]
    assert not report["run"]["good"]
    assert "card" in output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--memory", "1M"), "take smaller stacks"),
        ((), "that of a processing unit of ours"),
    ],
)
def test_a_card_that_cannot_do_it_is_refused_before_the_run(
    tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    card = SimulatedCard(*(("--unit", *options) if options else ()))  # without --unit it is a sender
    text = SENDER.sub("", example()).replace('card = "sim"', f'card = "{card.directory}"')
    file = tmp_path / "refused.toml"
    file.write_text(text, encoding="utf-8")
    try:
        done = subprocess.run([*COMMAND, str(file)], cwd=tmp_path, capture_output=True, text=True, timeout=200)
    finally:
        card.close()
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr + done.stdout


def test_conformance_on_a_simulated_card(tmp_path: Path) -> None:
    file = tmp_path / "fpga.json"
    done = subprocess.run(
        [sys.executable, "-m", "rashpa.cli.entry", "conformance", "--unit", "fpga", "--output", str(file)],
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    vectors = json.loads(file.read_text())["vectors"]
    identical = {one["name"] for one in vectors if one["result"] == "identical"}
    assert identical == {
        "photons_uint16",
        "counted_on_the_way_uint16",
        "marked_on_the_way_uint16",
        "counted_and_marked_on_the_way_uint16",
        "marked_without_room_uint16",
    }
    assert {one["result"] for one in vectors} <= {"identical", "no version"}
