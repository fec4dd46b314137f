# SPDX-License-Identifier: Apache-2.0
"""Tests two consecutive runs of one name with killed processes: no reader of their files shows an image under a wrong number, or images of one run
among those of the other."""

import dataclasses
import json
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import h5py
import hdf5plugin  # noqa: F401  registers the filter of images
import numpy as np
from tests.chaos.disturb import RASHPA
from tests.chaos.execute import Stage
from tests.chaos.frames import LOST, Array, coverage, raw_image
from tests.chaos.plan import Buffer, Plan
from tests.chaos.processes import crowding, end_all, node_of, send, wait_until
from tests.chaos.run_file import names_of, write_run_file

_OTHER = 1_000_003  # added to the number of a plan: other pixels
_BEGIN_S, _END_S = 60.0, 60.0
_READ_S = 120.0
_OPEN = """
import json, sys, warnings
import numpy as np
import rashpa
warnings.simplefilter("ignore")
out, *files = sys.argv[1:]
said = []
for place, file in enumerate(files):
    try:
        found = rashpa.open(file)
        for name, run in (found.items() if isinstance(found, dict) else [("entry", found)]):
            gone = {int(run.tables.stored_index[row]) for row in run.absent()}
            there = [index for index in range(len(run)) if index not in gone]
            made = f"{out}/{place}_{name}.npz"
            np.savez(
                made,
                frames=run.frame_numbers[there],
                images=np.array([run.image(index) for index in there]),
                invalid=np.array([run.invalid(index) for index in there]),
            )
            said.append([file, name, made])
    except rashpa.RashpaError as error:
        print(f"{file}: {error}", file=sys.stderr)
print(json.dumps(said))
"""


def play_pair(stage: Stage) -> tuple[list[str], int]:
    """Return the faults, and the number of compared images."""
    plan = stage.plan
    dice = Random(f"pair {plan.seed} {plan.number}")
    first = dataclasses.replace(plan, number=plan.number + _OTHER, frames=int(plan.frames * dice.uniform(0.4, 1.6)) + 1)
    problems: list[str] = []
    for number, one, existing in ((1, first, "refuse"), (2, plan, "replace")):
        killed = number == 2 or dice.random() < 0.5
        problems += _play(stage, one, existing, number, dice if killed else None)
    images = 0
    for what, folder in (("as it was left", stage.output), ("repaired", _repaired(stage))):
        for shown in (*_by_hdf5(folder, plan), *_by_rashpa(stage, folder, plan)):
            images += len(shown.frames)
            problems += [f"{what}: {text}" for text in wrong(shown, (first, plan))]
    return problems, images


def _play(stage: Stage, plan: Plan, existing: str, number: int, dice: Random | None) -> list[str]:
    """Carry out one run. With `dice`, one or two of its processes are killed at random moments."""
    file = write_run_file(plan, stage.folder, stage.output, {}, {}, existing, number)
    command = [*stage.prefix, str(RASHPA), "run", str(file), "-q"]
    began_s = time.time()
    with (stage.folder / f"run{number}.log").open("wb") as log:
        run = subprocess.Popen(command, cwd=stage.folder, env=stage.environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        for _ in range(dice.choice((1, 1, 2)) if dice else 0):
            assert dice is not None
            target = dice.choice(("manager", "emulator", *names_of(plan), *names_of(plan)))
            starting, after_s = dice.random() < 0.15, dice.uniform(0.0, 0.8 + plan.duration_s)
            if not starting:
                wait_until(lambda: run.poll() is not None or _begun(stage.output, began_s), _BEGIN_S)
            wait_until(lambda: run.poll() is not None, after_s)
            role = "emulator" if target == "emulator" else "receiver"
            process = run.pid if target == "manager" else node_of(stage.mark, role, target)
            if process is not None and run.poll() is None:
                send(process, signal.SIGKILL)
        if wait_until(lambda: run.poll() is not None, (_END_S + 2 * plan.duration_s) * crowding()):
            return []
        return [f"run {number} does not end"]
    finally:
        run.kill()
        run.wait()
        end_all(stage.mark)


def _begun(output: Path, since_s: float) -> bool:
    """Return True when a receiver has made its file."""
    return any(path.stat().st_mtime > since_s for path in output.glob("*_data_*.h5") if path.exists())


def _repaired(stage: Stage) -> Path:
    """Return a copy of the folder in which `rashpa repair` has completed the files that it can."""
    copy = stage.folder / "repaired"
    shutil.copytree(stage.output, copy)
    for journal in sorted(copy.glob("*_master.journal")):
        master = journal.with_suffix(".h5")
        done = subprocess.run(
            [str(RASHPA), "repair", str(master)], check=False, capture_output=True, text=True, timeout=_READ_S
        )
        with (stage.folder / "repair.log").open("a", encoding="utf-8") as log:
            log.write(f"{master.name}: {done.returncode}\n{done.stdout}{done.stderr}")
    return copy


@dataclasses.dataclass(frozen=True)
class Shown:
    """Holds images of one entry of a file, as a reader shows them. `valid`: the pixels that the reader calls measured."""

    where: str
    buffer: Buffer
    frames: Array
    images: Array
    valid: Array


def _by_hdf5(folder: Path, plan: Plan) -> Iterator[Shown]:
    """Yield the images for programs that only know NXmx."""
    for path in sorted(folder.glob("*_master.h5")):
        try:
            file = h5py.File(path)
        except OSError:
            continue  # it was never closed, and says so
        with file:
            for name in file:
                data = file.get(f"{name}/data")
                numbers = data.get("frame_number") if isinstance(data, h5py.Group) else None
                if data is None or numbers is None or data.get("data") is None:
                    continue
                images = data["data"]
                state = data["state"][()] if "state" in data else np.zeros(len(numbers), np.uint8)
                there = np.flatnonzero(state == 0)
                shown = np.array([images[index] for index in there])
                buffer = _buffer_of(path, name, plan)
                yield Shown(f"{path.name}: {name}", buffer, numbers[()][there], shown, np.ones(shown.shape, np.bool_))


def _by_rashpa(stage: Stage, folder: Path, plan: Plan) -> Iterator[Shown]:
    """Yield the images for programs that open files with `rashpa.open`."""
    files = sorted(map(str, folder.glob("*_master.h5")))
    out = folder / "opened"
    out.mkdir()
    command = [str(RASHPA.with_name("python")), "-c", _OPEN, str(out), *files]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_READ_S, env=stage.environment)
    if done.returncode:
        raise RuntimeError(done.stderr)
    for file, name, made in json.loads(done.stdout.splitlines()[-1]):
        with np.load(made) as kept:
            frames, images, invalid = kept["frames"], kept["images"], kept["invalid"].astype(bool)
        where = f"{Path(file).name}: {name} by rashpa.open"
        yield Shown(where, _buffer_of(Path(file), name, plan), frames, images, ~invalid)
    shutil.rmtree(out)


def _buffer_of(path: Path, entry: str, plan: Plan) -> Buffer:
    """Return the buffer of a file's images, by the names of file and entry."""
    if plan.grouped:
        return plan.buffers[0]
    named = path.name.removeprefix("chaos_").removesuffix("master.h5").rstrip("_")
    known = {buffer.name: buffer for buffer in plan.buffers}
    return known.get(entry, known.get(named, plan.buffers[0]))


def wrong(shown: Shown, plans: tuple[Plan, Plan]) -> list[str]:
    """Return a line for images that belong to no run, or to different runs, and for frames that are shown twice."""
    frames = shown.frames.tolist()
    problems = [] if len(set(frames)) == len(frames) else [f"{shown.where}: frames are shown twice"]
    runs: set[int] = set()
    for frame, image, valid in zip(frames, shown.images, shown.valid, strict=True):
        fits = {number for number, plan in enumerate(plans) if _equals(plan, shown.buffer, frame, image, valid)}
        if not fits:
            problems.append(f"{shown.where}: the image of frame {frame} is of no run")
        runs = runs & fits if runs else fits
        if fits and not runs:
            problems.append(f"{shown.where}: the image of frame {frame} is of another run than those before")
            runs = fits
    return problems[:5]


def _equals(plan: Plan, buffer: Buffer, frame: int, image: Array, valid: Array) -> bool:
    """Return True when all measured pixels are those of the frame; without measured pixels, return True."""
    mark = LOST[plan.pixel]
    lost = np.isnan(image) if plan.pixel == "float32" else image == mark
    measured = valid & ~lost & (coverage(buffer) >= 0)
    return bool((image[measured] == raw_image(plan, buffer, frame)[measured]).all())
