# SPDX-License-Identifier: Apache-2.0
"""Tests the checks themselves: a good run is spoilt in one place at a time, and the checks must report it each time."""

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from tests.chaos.draw import draw
from tests.chaos.execute import carry_through, make_stage
from tests.chaos.facts import Facts
from tests.chaos.frames import coverage, raw_image
from tests.chaos.pairs import Shown, wrong
from tests.chaos.plan import Disturbance, Faults, Plan
from tests.chaos.processes import end_all
from tests.chaos.run import check

FRAMES = 120


def plain_plan(kernel: str) -> Plan:
    """Return the first drawn plan with this kernel, one local receiver, no disturbance, and lost lines."""
    plans = (draw(5, number, "none") for number in range(1000))
    found = next(
        plan
        for plan in plans
        if plan.link == "roce"
        and plan.transport == "uc"
        and plan.buffers[0].kernel == kernel
        and plan.buffers[0].every == 1
        and 40 <= plan.buffers[0].height <= 150  # of its lines some are lost, and not in every image
        and plan.pixel in ("uint16", "int32")
    )
    buffer = dataclasses.replace(found.buffers[0], partial="keep", keep_darks=True, receiver=0, min_bright=1)
    return dataclasses.replace(
        found,
        nodes="local",
        receivers=1,
        buffers=(buffer,),
        frames=FRAMES,
        rate_hz=0.0,
        flow="credits",
        on_full="pause",
        fixed_port=False,
        link_threads=1,
        faults=Faults(seed=3, drop=0.005),
        disturbance=Disturbance(),
    )


@pytest.fixture(scope="module", params=["raw", "photons", "kev", "veto", "csr"])
def good(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Facts]:
    """Return a run in which the checks find no fault."""
    plan = plain_plan(request.param)
    stage = make_stage(plan, tmp_path_factory.mktemp("good") / "run")
    facts = carry_through(stage, plan, "refuse", 1)
    assert end_all(stage.mark) == []
    problems, stored = check(plan, facts)
    assert problems == []
    assert stored["b0"].count > 0
    return plan, facts


def master(folder: Path) -> Path:
    return folder / "data" / "chaos_b0_master.h5"


def flip_a_pixel(folder: Path) -> None:
    with h5py.File(master(folder), "r+") as file:
        if "frame_ptr" in file["/entry/data"]:
            intensity = file["/entry/data/intensity"]
            intensity[len(intensity) // 2] += 3
            return
        completeness, place = (file["/entry/rashpa"][name][()] for name in ("completeness", "stored_index"))
        wanted = int(place[np.flatnonzero((completeness == 1) & (place >= 0))[0]])
        mask = file["/entry/instrument/detector/pixel_mask"][()]
    for path in sorted((folder / "data").glob("*_data_*.h5")):
        with h5py.File(path, "r+") as file:
            images = file["/entry/data/data"]
            if wanted < len(images):
                row, column = np.argwhere(mask == 0)[-1]
                images[wanted, row, column] = images[wanted, row, column] // 2 + 11
                return
            wanted -= len(images)


def change_a_table(name: str, value: int) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        with h5py.File(master(folder), "r+") as file:
            table = file["/entry/rashpa"][name]
            place = file["/entry/rashpa/stored_index"][()]
            row = int(np.flatnonzero(place >= 0)[-1])
            table[row] = value if table[row] != value else value + 1

    return change


def change_a_report(*path: str | int, by: int = 1) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        file = folder / "report" / "report.json"
        report = json.loads(file.read_text(encoding="utf-8"))
        part = report
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] += by
        file.write_text(json.dumps(report), encoding="utf-8")

    return change


def remove_a_data_file(folder: Path) -> None:
    found = sorted((folder / "data").glob("*_data_*.h5"))
    (found[0] if found else master(folder)).unlink()


def stray_loss(folder: Path) -> None:
    """Move the first run of lost lines by one line in the tables."""
    with h5py.File(master(folder), "r+") as file:
        lost = file["/entry/rashpa/lost_runs"]
        first = int(lost["first_line"][0])
        lost["first_line"][0] = first - 1 if first else 1


SABOTAGE: dict[str, Callable[[Path], None]] = {
    "one pixel": flip_a_pixel,
    "completeness of a row": change_a_table("completeness", 3),
    "decision of a row": change_a_table("decision", 3),
    "place of an image": change_a_table("stored_index", 0),
    "frame number of a row": change_a_table("frame_number", 2),
    "a data file": remove_a_data_file,
    "lost lines": stray_loss,
    "written in the report's total": change_a_report("books", "written"),
    "written in the report's buffer": change_a_report("buffers", 0, "books", "written", by=-1),
    "complete in the report's buffer": change_a_report("buffers", 0, "books", "complete"),
    "missing images that nobody expected": change_a_report("books", "expected"),
    "unexplained images of a good run": change_a_report("injected", "unexplained"),
    "a negative number": change_a_report("books", "vetoed", by=-10_000),
}


@pytest.mark.parametrize("what", SABOTAGE)
def test_one_thing_that_is_wrong_is_found(good: tuple[Plan, Facts], tmp_path: Path, what: str) -> None:
    plan, facts = good
    folder = tmp_path / "spoilt"
    shutil.copytree(facts.folder, folder)
    SABOTAGE[what](folder)
    problems, _ = check(plan, dataclasses.replace(facts, folder=folder, output=folder / "data"))
    assert problems, f"{what} was changed, and nothing was found"


@pytest.mark.parametrize(("status", "said"), [(1, "exit status 1"), (3, "exit status 3"), (130, "exit status 130")])
def test_another_exit_status_than_the_true_one_is_found(good: tuple[Plan, Facts], status: int, said: str) -> None:
    plan, facts = good
    problems, _ = check(plan, dataclasses.replace(facts, exit=status))
    assert any(said in problem for problem in problems)


def test_another_number_in_the_terminal_is_found(good: tuple[Plan, Facts]) -> None:
    plan, facts = good
    said = "\n".join(
        line.replace("│", "│ 1", 2) if line.startswith("│ written") else line for line in facts.said.splitlines()
    )
    assert said != facts.said
    problems, _ = check(plan, dataclasses.replace(facts, said=said))
    assert problems


def shown_pair() -> tuple[Shown, tuple[Plan, Plan]]:
    """Return the images of the second of two runs, as a reader shows them."""
    second = next(plan for plan in (draw(5, number, "pairs") for number in range(1000)) if plan.pixel == "uint16")
    second = dataclasses.replace(second, dataset_frames=7)
    first = dataclasses.replace(second, number=second.number + 1_000_003)
    buffer = second.buffers[0]
    images = np.stack([raw_image(second, buffer, frame) for frame in range(20)])
    valid = np.broadcast_to(coverage(buffer) >= 0, images.shape)
    return Shown("a file", buffer, np.arange(20), images, valid), (first, second)


def test_an_image_of_another_frame_or_run_is_seen() -> None:
    shown, plans = shown_pair()
    assert not wrong(shown, plans)
    moved = dataclasses.replace(shown, frames=shown.frames + 1)
    assert "frame 1 is of no run" in wrong(moved, plans)[0]
    images = shown.images.copy()
    images[7] = raw_image(plans[0], shown.buffer, 7)
    assert wrong(dataclasses.replace(shown, images=images), plans)[0].endswith(
        "frame 7 is of another run than those before"
    )
    images[7] = 0
    assert "frame 7 is of no run" in wrong(dataclasses.replace(shown, images=images), plans)[0]
    twice = dataclasses.replace(shown, frames=np.where(shown.frames == 19, 12, shown.frames))
    assert wrong(twice, plans)[0] == "a file: frames are shown twice"
