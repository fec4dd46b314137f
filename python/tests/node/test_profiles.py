# SPDX-License-Identifier: Apache-2.0
"""Profiles in whole runs of native engines, of the kernel `azimuthal` and of a Python function: in the file and in `rashpa inspect`."""

import hashlib
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from rashpa.cli.main import app
from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.data.stored.reader import open_run
from rashpa.node.state.node import Node

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
pytest.importorskip("pyFAI")

from rashpa.data.kernels.pipeline import Pipeline
from rashpa.node.engine.folders import Folders
from rashpa.node.engine.native_engine import NativeFactory
from rashpa.testing.in_process import run_in_process
from rashpa.testing.run_file import Table, run_file

pytestmark = pytest.mark.whole

FRAMES, HEIGHT, WIDTH = 24, 32, 64
PONI = """PixelSize1: 0.0001
PixelSize2: 0.0001
Distance: 0.01
Poni1: 0.0016
Poni2: 0.0032
Rot1: 0
Rot2: 0
Rot3: 0
Wavelength: 1e-10
"""


def run_text(folder: Path, kernel: Table) -> str:
    return run_file(
        run={"name": "profiles", "frames": 24, "output": f"{folder}/out"},
        detector={"pixel": "uint16"},
        dataset={"kind": "files", "files": [[f"{folder}/frames.npy"]], "pixel": "uint16"},
        receiver={"memory": "pageable"},
        buffer={
            "name": "main",
            "slots": 40,
            "threads": 2,
            "deadline_ms": 5000,
            "kernel": [kernel],
            "sink": [{"kind": "hdf5"}],
        },
    )


def images() -> NDArray[np.uint16]:
    found = np.random.default_rng(3).integers(0, 60, (FRAMES, HEIGHT, WIDTH)).astype(np.uint16)
    found[:, 5, ::9] = 65535
    found[::5] //= 20  # too weak
    return found


def run(folder: Path, kernel: Table, allowed: Path = Path("/")) -> Outcome:
    np.save(folder / "frames.npy", images())
    (folder / "test.poni").write_text(PONI)
    path = folder / "run.toml"
    path.write_text(run_text(folder=folder, kernel=kernel))
    everywhere = [Path("/")]
    nodes = {
        role: Node(role, role, NativeFactory(role, folders=Folders([allowed], everywhere, folder)))
        for role in ("emulator", "receiver")
    }
    return run_in_process(load_plan(path), nodes)


def test_curves_of_stored_images_are_in_the_file(tmp_path: Path) -> None:
    outcome = run(tmp_path, {"name": "azimuthal", "poni": "test.poni", "bins": 30, "min_intensity": 20.0})
    assert outcome.good, outcome.problem or outcome.reasons
    kernel = {"name": "azimuthal", "poni": str(tmp_path / "test.poni"), "bins": 30, "min_intensity": 20.0}
    expected = Pipeline([kernel], (HEIGHT, WIDTH), masked="delivered")(images())
    arrays, axes = expected.profiles["azimuthal"]
    accepted = expected.accepted
    assert 0 < len(accepted) < FRAMES
    master = tmp_path / "out" / "profiles_main_master.h5"
    with open_run(master) as stored:
        assert stored.frame_numbers.tolist() == accepted.tolist()
        facts = stored.profile_facts["azimuthal"]
        assert facts.arrays == {"I": "photons", "I_errors": "photons", "sum_signal": "photons", "norm": ""}
        assert facts.units == {"radial_axis": "1/angstrom"}
        assert np.array_equal(facts.axes["radial_axis"], axes["radial_axis"])
        for place, number in enumerate(accepted):
            curve = stored.profile("azimuthal", place)
            for name, values in arrays.items():
                np.testing.assert_array_equal(curve[name], values[number])
        np.testing.assert_array_equal(stored.profile("azimuthal")["I"], arrays["I"][accepted])
        sha256 = hashlib.sha256((tmp_path / "test.poni").read_bytes()).hexdigest()
        assert stored.facts.kernels[0][1]["poni_sha256"] == sha256
        with pytest.raises(KeyError, match="has no profile other; there are azimuthal"):
            stored.profile("other")
    with h5py.File(master) as file:
        assert file["/entry/azimuthal/definition"][()] == b"NXazint1d"
        assert file["/entry/azimuthal/data"].attrs["signal"] == "I"
        assert list(file["/entry/azimuthal/data"].attrs["axes"]) == ["frame_number", "radial_axis"]
        np.testing.assert_array_equal(file["/entry/azimuthal/data/I"][()], arrays["I"][accepted])
    shown = CliRunner().invoke(app, ["inspect", str(master)])
    assert shown.exit_code == 0
    assert "profile azimuthal" in shown.output


def test_a_python_function_makes_a_profile(tmp_path: Path) -> None:
    (tmp_path / "rows.py").write_text(
        """
from rashpa.data.kernels.kernel import Axis, Column, kernel

@kernel(takes=["uint16"], profile=[Column("mean"), Column("most")], axes=[Axis("row", range(32), unit="pixels")])
def rows(pixels, *, factor: float = 1.0):
    return {"mean": factor * pixels.mean(axis=1), "most": pixels.max(axis=1)}
"""
    )
    outcome = run(tmp_path, {"name": "python", "function": "rows:rows", "parameters": {"factor": 2.0}})
    assert outcome.good, outcome.problem or outcome.reasons
    with open_run(tmp_path / "out" / "profiles_main_master.h5") as stored:
        found = stored.profile("rows")
        np.testing.assert_array_equal(found["mean"], 2.0 * images().mean(axis=2))
        np.testing.assert_array_equal(found["most"], images().max(axis=2))


def test_files_of_kernels_must_be_there_and_lie_where_the_receiver_may_read(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match=r"kernel\[0\].poni: .*absent.poni does not exist"):
        run(tmp_path, {"name": "azimuthal", "poni": "absent.poni"})
    outcome = run(tmp_path, {"name": "azimuthal", "poni": "/etc/hostname"}, allowed=tmp_path)
    assert not outcome.good
    assert "/etc/hostname: this node may read" in str(outcome.problem or outcome.reasons)
    outcome = run(tmp_path, {"name": "azimuthal", "poni": "run.toml"})
    assert not outcome.good
    assert "kernel azimuthal: poni: " in str(outcome.problem or outcome.reasons)
