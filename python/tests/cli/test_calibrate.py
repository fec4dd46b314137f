# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("rashpa._native")

import rashpa.kernel
from rashpa.cli.files.calibrate import app
from rashpa.data.datasets.calibration import load_calibration
from rashpa.data.datasets.calibration_file import read_facts, read_map
from rashpa.data.datasets.calibration_spec import CalibrationSpec
from rashpa.data.datasets.pedestal import CODES

RUNNER = CliRunner()
LEVEL = (2400, 13500, 14000)


def recordings(folder: Path, height: int = 8, width: int = 16, frames: int = 30) -> list[str]:
    """Write one file for each gain; return the arguments that name them."""
    random = np.random.default_rng(5)
    named = []
    for gain, level in enumerate(LEVEL):
        words = np.rint(random.normal(level, 20, (frames, height, width))).astype(np.uint16)
        np.save(folder / f"g{gain}.npy", words | np.uint16(CODES[gain] << 14))
        named += [f"--g{gain}", str(folder / f"g{gain}.npy")]
    return named


def test_recordings_of_three_gains_make_a_file(tmp_path: Path) -> None:
    files = recordings(tmp_path)
    output = tmp_path / "c.h5"
    done = RUNNER.invoke(app, ["pedestal", str(output), *files, "--detector", "JF", "--serial", "M049"])
    assert done.exit_code == 0, done.output
    assert "module 0 G1: 30 frames, pedestal 135" in done.output
    facts = read_facts(output)
    assert (facts.detector, facts.modules, dict(facts.serials)) == ("JF", (0,), {0: "M049"})
    assert "g2.npy" in facts.source
    pedestal = read_map(output, 0, "pedestal", (3, 8, 16))
    assert pedestal is not None
    assert np.abs(pedestal - np.array(LEVEL)[:, None, None]).max() < 25
    more = RUNNER.invoke(app, ["pedestal", str(output), *files, "--detector", "JF", "--module", "1", "--add"])
    assert more.exit_code == 0, more.output
    assert read_facts(output).modules == (0, 1)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"--g0": "g1.npy"}, "of the pixels are not in G0"),
        ({"--g1": "none.npy"}, "none.npy"),
        ({"--g1": "none_master.h5"}, "none_master.h5"),
        ({"--least-frames": "31"}, "at least 31 of each gain are needed, and G0 ("),
        ({"--least-frames": "33"}, "g2.npy) has 30 and lacks 3; record more, or set --least-frames"),
        ({"--g1": "few.npy"}, "at least 20 of each gain are needed, and G1 ("),
        ({"--g1": "few.npy"}, "few.npy) has 6 and lacks 14; record more"),
        ({"--g0": "still.npy"}, "every pixel would be masked (128 in G0, 0 in G1, 0 in G2 of 128)"),
        ({"--serial": ["M049", "M050"]}, "--serial: is given 2 times, and the frames have 1 module(s)"),
        ({"--gain": ["a.npy", "b.npy"]}, "--gain: is given 2 times, and the frames have 1 module(s)"),
    ],
)
def test_what_is_wrong_is_said_and_no_file_is_made(
    tmp_path: Path, change: dict[str, str | list[str]], why: str
) -> None:
    files = recordings(tmp_path)
    np.save(tmp_path / "still.npy", np.full((30, 8, 16), LEVEL[0], np.uint16))  # of a detector that does not count
    np.save(tmp_path / "few.npy", np.load(tmp_path / "g1.npy")[:6])
    for key, value in change.items():
        if key in files and isinstance(value, str):
            files[files.index(key) + 1] = str(tmp_path / value)
        else:
            files += [part for one in ([value] if isinstance(value, str) else value) for part in (key, one)]
    done = RUNNER.invoke(app, ["pedestal", str(tmp_path / "c.h5"), *files])
    assert done.exit_code == 2
    assert why in " ".join(done.output.split())
    assert not (tmp_path / "c.h5").exists()


def test_g0_alone_makes_a_file_that_masks_what_switches(tmp_path: Path) -> None:
    files = recordings(tmp_path)
    done = RUNNER.invoke(app, ["pedestal", "--output", str(tmp_path / "c.h5"), *files[:2]])
    assert done.exit_code == 0, done.output
    assert "no calibration of G1, G2; a pixel that switches to it is masked" in done.stderr
    pedestal = read_map(tmp_path / "c.h5", 0, "pedestal", (3, 8, 16))
    assert pedestal is not None
    assert np.isfinite(pedestal[0]).all()
    assert np.isnan(pedestal[1:]).all()
    np.save(tmp_path / "gain.npy", np.full((3, 8, 16), 40, np.float32))
    spec = CalibrationSpec(pedestal=[str(tmp_path / "c.h5")], gain=[str(tmp_path / "gain.npy")])
    (maps,) = load_calibration(spec, 8, 16)
    raw = np.full((8, 16), LEVEL[0] + 1000, np.uint16)
    raw[0, :3] = (1 << 14) + 13000, (3 << 14) + 13500, LEVEL[0]
    photons = rashpa.kernel.jungfrau(raw, maps, photon_energy_kev=12.5).pixels.reshape(8, 16)
    assert photons[1:].min() == photons[1:].max() == 2
    assert photons[0, :3].tolist() == [-32768, -32768, 0]
