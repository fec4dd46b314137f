# SPDX-License-Identifier: Apache-2.0
"""Tests every reader of hand-written text (PONI, CrystFEL geometries, run files) with every kind of damage: the text is read correctly, or one error
names file and remedy. Nothing hangs, and nothing shows a traceback."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

_native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from tests.files.test_hostile_hdf5 import PLACES, SaidError, command, within_limits  # noqa: E402

from rashpa.control.plan.run_plan import load_plan  # noqa: E402
from rashpa.control.runfile.run_file_reader import RunFileError  # noqa: E402
from rashpa.data.geometry.given import GivenError, Image, given_arrays  # noqa: E402
from rashpa.data.kernels.pipeline import Pipeline  # noqa: E402

HEIGHT, WIDTH = 24, 36
PONI = """# made by hand
poni_version: 2
Detector: Detector
Detector_config: {"pixel1": 7.5e-05, "pixel2": 7.5e-05, "max_shape": [24, 36]}
Distance: 0.1
Poni1: 0.0009
Poni2: 0.00135
Rot1: 0.0
Rot2: 0.0
Rot3: 0.0
Wavelength: 1e-10
"""
GEOMETRY = """; made by hand
photon_energy = 12400
clen = 0.1
res = 13333.3
p0/min_fs = 0
p0/max_fs = 35
p0/min_ss = 0
p0/max_ss = 23
p0/corner_x = -18
p0/corner_y = -12
p0/fs = +1.0x +0.0y
p0/ss = +0.0x +1.0y
"""
RUN = """# made by hand
[run]
name = "r"
frames = 2
[detector]
width = 36
height = 24
[dataset]
kind = "pattern"
width = 36
height = 24
[[buffer]]
name = "b"
[[buffer.sink]]
kind = "null"
"""
WITH_GEOMETRY = RUN.replace("[dataset]", 'geometry = "x.geom"\n[dataset]')
OURS = (GivenError, RunFileError, SaidError, _native.NativeError)
IMAGE = Image(HEIGHT, WIDTH)


@dataclass(frozen=True)
class Reader:
    """Describes a reader. `file`: the file's name; `text`: a valid text; `comment`: the beginning of a comment."""

    file: str
    text: str
    comment: str
    read: Callable[[], object]


def of_kernel(kernel: str, key: str, file: str) -> Callable[[], object]:
    return lambda: given_arrays(kernel, {key: file}, IMAGE)


def with_geometry() -> None:
    Path("g.toml").write_text(WITH_GEOMETRY, encoding="utf-8")
    plan = load_plan(Path("g.toml"))
    assert (plan.file.detector.beam_center_x, plan.file.detector.beam_center_y) == (18.0, 12.0)


def processed() -> None:
    np.save("f.npy", np.ones((2, HEIGHT, WIDTH), np.uint16))
    command("process", "f.npy", "-p", "x.toml", "-o", "out", "-q")


def pipeline() -> None:
    Pipeline(
        [{"name": "azimuthal", "poni": "x.poni", "bins": 10, "radial_unit": "2th_deg"}], (HEIGHT, WIDTH), np.uint16
    )


READERS = {
    "azimuthal poni": Reader("x.poni", PONI, "#", pipeline),
    "peakfinder8 poni": Reader("x.poni", PONI, "#", of_kernel("peakfinder8", "poni", "x.poni")),
    "peakfinder poni": Reader("x.poni", PONI, "#", of_kernel("peakfinder", "poni", "x.poni")),
    "sparsify poni": Reader("x.poni", PONI, "#", of_kernel("sparsify", "poni", "x.poni")),
    "peakfinder8 geometry": Reader("x.geom", GEOMETRY, ";", of_kernel("peakfinder8", "geometry", "x.geom")),
    "sparsify geometry": Reader("x.geom", GEOMETRY, ";", of_kernel("sparsify", "geometry", "x.geom")),
    "detector.geometry": Reader("x.geom", GEOMETRY, ";", with_geometry),
    "plan": Reader("x.toml", RUN, "#", lambda: command("plan", "x.toml")),
    "run": Reader("x.toml", RUN, "#", lambda: command("run", "x.toml", "--check")),
    "process": Reader("x.toml", RUN, "#", processed),
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


HARMLESS: dict[str, Callable[[Reader], bytes]] = {
    "as it is": lambda reader: reader.text.encode(),
    "a mark of UTF-8": lambda reader: b"\xef\xbb\xbf" + reader.text.encode(),
    "lines as on Windows": lambda reader: reader.text.replace("\n", "\r\n").encode(),
    "a comment in UTF-8": lambda reader: f"{reader.comment} von Müller, 日本\n{reader.text}".encode(),
    "ends without a line's end": lambda reader: reader.text.rstrip("\n").encode(),
}
WRONG: dict[str, Callable[[Reader], bytes]] = {
    "a comment in Latin-1": lambda reader: f"{reader.comment} Müller\n".encode("latin-1") + reader.text.encode(),
    "NUL in it": lambda reader: reader.text.encode()[:40] + b"\0" + reader.text.encode()[40:],
    "NUL behind it": lambda reader: reader.text.encode() + bytes(512),
    "UTF-16": lambda reader: reader.text.encode("utf-16"),
    "UTF-16 without a mark": lambda reader: reader.text.encode("utf-16-le"),
    "huge": lambda reader: reader.text.encode() + f"{reader.comment} x\n".encode() * (2 << 20),
    "cut": lambda reader: reader.text.encode()[: len(reader.text) * 2 // 3],
    "noise": lambda _reader: np.random.default_rng(1).bytes(500),
    "another format": lambda _reader: b'{"distance": 0.1}',
}


@pytest.mark.parametrize("kind", list(HARMLESS))
@pytest.mark.parametrize("name", list(READERS))
def test_text_is_read_as_editors_write_it(name: str, kind: str) -> None:
    reader = READERS[name]
    Path(reader.file).write_bytes(HARMLESS[kind](reader))
    with within_limits():
        reader.read()


@pytest.mark.parametrize("kind", [*WRONG, *PLACES])
@pytest.mark.parametrize("name", list(READERS))
def test_what_is_no_such_text_is_refused_by_name(name: str, kind: str) -> None:
    reader = READERS[name]
    path = Path(reader.file)
    if kind in WRONG:
        path.write_bytes(WRONG[kind](reader))
    elif kind == "a folder":
        os.mkdir(path)  # noqa: PTH102
    else:
        PLACES[kind](path)
    with pytest.raises(OURS) as caught, within_limits():
        reader.read()
    said = str(caught.value)
    assert reader.file in said
    assert ";" in said or "not TOML" in said or "is needed" in said, f"no remedy: {said}"


VALUES = {
    "Distance: 0.1": ["Distance: nan", "Distance: 1e999", "Distance: -0.1", "Distance: 0", "Distance: 0,1", "Distance:", "Distance: 100 mm"],
    "Poni1: 0.0009": ["", "Poni1: x", "Poni1: nan"],
    "Rot3: 0.0": ["", "Rot3: inf"],
    "Wavelength: 1e-10": ["Wavelength: 1.0", "Wavelength: -1e-10", "Wavelength: nan"],
    '"pixel1": 7.5e-05': ['"pixel1": -7.5e-05', '"pixel1": 0', '"pixel1": null', '"pixel1": "x"'],
}  # fmt: skip


@pytest.mark.parametrize(("good", "wrong"), [(good, wrong) for good, many in VALUES.items() for wrong in many])
@pytest.mark.parametrize("kernel", ["azimuthal", "peakfinder8"])
def test_a_poni_with_a_value_that_cannot_be_is_refused(kernel: str, good: str, wrong: str) -> None:
    assert good in PONI
    Path("x.poni").write_text(PONI.replace(good, wrong), encoding="utf-8")
    of_kernel: dict[str, dict[str, Any]] = {
        "azimuthal": {"bins": 10, "radial_unit": "q_A^-1"},
        "peakfinder8": {"threshold": 5.0, "min_snr": 5.0},
    }
    with pytest.raises(_native.ConfigError, match=r"x\.poni.*;"):
        Pipeline([{"name": kernel, "poni": "x.poni", **of_kernel[kernel]}], (HEIGHT, WIDTH), np.uint16)
