# SPDX-License-Identifier: Apache-2.0
"""Tests commands on folders as a power failure may leave them (`rashpa_power_failure --keep`): `inspect` and `check` report that the run is
unfinished, `repair` completes it, and other programs read only right pixels."""

import re
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from typer.testing import CliRunner

from rashpa.cli.main import app
from rashpa.data.stored.reader import open_run

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(ROOT.glob("build/*/tests/simulation/rashpa_power_failure"))
ACCEPTED = 1
SHAPE = re.compile(r"seed \d+: (\w+), (\d+) × (\d+) pixels")
SPECIAL = ("in series", "on a disk", "killed", "converted", "over an earlier", "of unknown end")


def image(seed: int, frame: int, pixels: int) -> NDArray[np.uint16]:
    """Return the image that `StoredRun::image` makes."""
    numbers = np.random.RandomState(frame * 31 + seed)._bit_generator.random_raw(pixels)
    return np.where(numbers % 3 == 0, 1 + (numbers >> 8) % 5000, 1).astype(np.uint16)


def said(*words: str) -> tuple[int, str]:
    """Run a rashpa command; return its exit code and its output."""
    result = CliRunner().invoke(app, list(words))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


@pytest.mark.skipif(not PROGRAMS, reason="rashpa_power_failure is not built")
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_commands_name_a_run_whose_power_has_failed_and_repair_it(tmp_path: Path, form: str) -> None:
    def play(seed: int, *words: str) -> str:
        return subprocess.run([PROGRAMS[-1], "--seed", str(seed), *words], capture_output=True, text=True).stdout

    for seed in range(1, 100):  # the first run of this form in which nothing else happens
        trace = play(seed, "--cut", "0", "--trace")
        found = SHAPE.search(trace)
        assert found
        if found[1] == form and not any(words in trace.partition("\n")[0] for words in SPECIAL):
            break
    else:
        pytest.fail(f"no seed draws a plain run of {form} images")
    pixels = int(found[2]) * int(found[3])
    puts = [int(line.split()[0]) for line in trace.splitlines() if "a stack was put" in line]
    folder = tmp_path / "disk"
    play(seed, "--cut", str(puts[-1] + 1), "--keep", str(folder))
    master = folder / "run_master.h5"
    for command in ("inspect", "check"):
        code, text = said(command, str(master))
        assert code != 0, text
        assert "run_master" in text
    code, text = said("repair", str(master))
    assert code in {0, 3}, text
    with h5py.File(master) as file:
        decisions = file["entry/rashpa/decision"][:]
        frames = file["entry/rashpa/frame_number"][:]
    accepted = frames[decisions == ACCEPTED]
    code, text = said("inspect", str(master))
    if code == 2:  # the power has left nothing of a data file
        assert "run_data_000001" in text
        assert len(accepted) == 0
        return
    assert code in {0, 3}, text
    with open_run(master) as run:
        for frame in accepted:
            at = int(np.flatnonzero(run.frame_numbers == frame)[0])
            shown = run.sparse(at)[1] if form == "sparse" else np.ma.getdata(run.image(at))
            assert np.array_equal(np.ravel(shown), image(seed, int(frame), pixels)), (form, frame)
