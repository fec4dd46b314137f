# SPDX-License-Identifier: Apache-2.0
"""Tests every command that reads runs on every kind of run: it reads all images, or gives the true reason why not."""

import os
import re
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

import rashpa
from rashpa.cli.files.combine import combine_run
from rashpa.cli.main import app
from rashpa.data.datasets.dataset_spec import StoredSpec
from rashpa.data.datasets.replay import load_replay
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored.combined.combined import combine, parts_of
from rashpa.testing.warm_nodes import WarmNodes

pytestmark = pytest.mark.whole

FRAMES, LONG, HEIGHT, WIDTH = 20, 300, 32, 64
RUN = """\
[run]
name = "{name}"
frames = {frames}
output = "{folder}/{name}"
{run}
[detector]
width = 64
height = 32
rate_hz = {rate}
[dataset]
kind = "files"
files = [["{folder}/frames.npy"]]
{nodes}
{buffers}
"""
BUFFER = """
[[buffer]]
name = "{name}"
slots = 8
stack = 4
keep_darks = true
deadline_ms = 20000
{more}
sink = [{{ kind = "{sink}" }}]
"""
PEAKS = '{ name = "peakfinder8", threshold = 50, min_snr = 3.0, min_pixels = 2 }'
NONE = '{ name = "veto", keep = "n_peaks > 1000", reason = "few" }'
ONE = "[receiver]\nport = 0"
GROUP = """
[[receiver]]
name = "a"
port = 0
[[receiver]]
name = "b"
port = 0
[[group]]
name = "farm"
receivers = ["a", "b"]
"""
PIPELINE = RUN.format(
    name="p",
    frames=FRAMES,
    folder=".",
    run="",
    rate=0,
    nodes=ONE,
    buffers=BUFFER.format(name="again", more="", sink="hdf5"),
)
# the file that a person gives
KINDS = {
    "plain": "plain/plain_full_master.h5",
    "buffers": "buffers/buffers_master.h5",
    "group": "group/group_master.h5",
    "combined": "combined.h5",
    "series": "series/series_full_s0002_master.h5",
    "dead": "dead/dead_master.h5",
    "member": "dead/dead_full_b_master.h5",
    "empty": "empty/empty_full_master.h5",
    "raw": "raw/raw_full_raw_master.h5",
}
SEVERAL = r"leads to several buffers: full \(buffers_full_master\.h5\), half \(buffers_half_master\.h5\); give the file of one"
LACKS = r"it lacks the images of dead_full_b_master\.h5: .*`rashpa repair [^`]*dead_full_b`"
UNFINISHED = r"its receiver ended before it could complete the file.*`rashpa repair [^`]*dead_full_b`"
NO_IMAGE = "holds no image"
IS_NXMX = "it is NXmx, as the sink hdf5 writes it; there is nothing to convert"
LEADS_NXMX = "which are NXmx; there is nothing to convert"
NO_PEAKS = "no kernel of this run has made a table of peaks"
RAW = "its images are in raw files; rashpa convert makes NXmx of them first"
# what each makes of it: a number of images, or what is said
TABLE: dict[str, dict[str, int | str]] = {
    "open": {"plain": 20, "buffers": 30, "group": 20, "combined": 20, "series": 8, "dead": LACKS, "member": UNFINISHED, "empty": 0, "raw": 20},
    "inspect": {"plain": 20, "buffers": 30, "group": 20, "combined": 20, "series": 8, "dead": LACKS, "member": UNFINISHED, "empty": 20, "raw": 20},
    "picture": {"plain": 20, "buffers": SEVERAL, "group": 20, "combined": 20, "series": 8, "dead": LACKS, "member": UNFINISHED, "empty": "holds no image to draw", "raw": 20},
    "peaks": {"plain": 20, "buffers": SEVERAL, "group": 20, "combined": 20, "series": 8, "dead": LACKS, "member": UNFINISHED, "empty": 0, "raw": NO_PEAKS},
    "convert": {"plain": IS_NXMX, "buffers": LEADS_NXMX, "group": LEADS_NXMX, "combined": LEADS_NXMX, "series": IS_NXMX, "dead": LEADS_NXMX, "member": "rashpa repair completes", "empty": IS_NXMX, "raw": 20},
    "process": {"plain": 20, "buffers": SEVERAL, "group": 20, "combined": 20, "series": 8, "dead": LACKS, "member": UNFINISHED, "empty": NO_IMAGE, "raw": 20},
    "check": {"plain": 20, "buffers": 30, "group": 20, "combined": 20, "series": 8, "dead": "is left out", "member": "`rashpa repair` does", "empty": 0, "raw": "`rashpa convert` makes NXmx"},
    "replay": {"plain": 20, "buffers": SEVERAL, "group": 20, "combined": 20, "series": 8, "dead": LACKS, "member": UNFINISHED, "empty": NO_IMAGE, "raw": 20},
    "combine": {"plain": 20, "buffers": 30, "group": 20, "combined": 20, "series": 8, "dead": LACKS, "member": UNFINISHED, "empty": 20, "raw": RAW},
    "repair": {"plain": "nothing to do", "buffers": "which are complete", "group": "which are complete", "combined": "which are complete", "series": "nothing to do", "dead": r"repair those.*`rashpa repair \S*dead_full_b", "empty": "nothing to do", "raw": "nothing to do"},
}  # fmt: skip


def frames() -> NDArray[np.uint16]:
    made = np.random.default_rng(1).poisson(2, (FRAMES, HEIGHT, WIDTH)).astype(np.uint16)
    for n in range(FRAMES):
        made[n, 5 + n % 8 : 8 + n % 8, 10 + n : 13 + n] = 300 + n
    return made


def written(folder: Path, name: str, *buffers: str, run: str = "", nodes: str = ONE, rate: int = 0) -> Path:
    path = folder / f"{name}.toml"
    count = LONG if rate else FRAMES
    path.write_text(
        RUN.format(name=name, folder=folder, frames=count, run=run, nodes=nodes, rate=rate, buffers="".join(buffers))
    )
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the folder with a run of every kind."""
    folder = tmp_path_factory.mktemp("kinds")
    np.save(folder / "frames.npy", frames())
    kernels = f"kernel = [{PEAKS}]"
    full = BUFFER.format(name="full", more=kernels, sink="hdf5")
    half = BUFFER.format(name="half", more=f"every = 2\n{kernels}", sink="hdf5")
    dealt = BUFFER.format(name="full", more=f'group = "farm"\n{kernels}', sink="hdf5")
    (folder / "pipeline.toml").write_text(PIPELINE)
    with WarmNodes(folder) as nodes:
        for path in (
            written(folder, "plain", full),
            written(folder, "buffers", full, half),
            written(folder, "group", dealt, nodes=GROUP),
            written(folder, "series", full, run="series_frames = 8"),
            written(folder, "empty", BUFFER.format(name="full", more=f"kernel = [{PEAKS}, {NONE}]", sink="hdf5")),
            written(folder, "raw", BUFFER.format(name="full", more="", sink="raw")),
        ):
            combine_run(nodes.good_run(path))
        killed = threading.Timer(0.7, os.kill, (nodes.processes[-1], signal.SIGKILL))
        killed.start()
        outcome = nodes.run(written(folder, "dead", dealt, nodes=GROUP, rate=150))
        killed.join()
        assert "b" in outcome.lost
        combine_run(outcome)
    with chdir(folder):
        plain = Path(KINDS["plain"])
        combine(parts_of([plain]), Path("combined.h5"))
        (folder / "made").mkdir()
        yield folder


def asked(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(words))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout + done.stderr


def made_by(command: str, kind: str, file: str) -> int | str:
    """Return the number of images that a command has read, or its error text."""
    out = f"made/{command}_{kind}"
    words = {
        "inspect": (file, "--json"),
        "picture": (file, "--output", f"{out}.png"),
        "peaks": (file, "--output", f"{out}.cxi"),
        "convert": (file, out),
        "process": (file, "-p", "pipeline.toml", "-o", out, "--json"),
        "check": (file, "--json"),
        "combine": (file, "-o", f"{out}.h5"),
        "repair": (file,),
    }[command]
    code, said = asked("inspect" if command == "picture" else command, *words)
    if command == "repair":
        return said
    if code:
        return said
    assert code == 0
    if command in ("inspect", "process", "combine"):
        return int(re.findall(r'"made": (\d+)|: (\d+) of \d+ images', said)[-1][0] or re.findall(r"(\d+) of", said)[-1])
    if command == "check":
        return int(re.findall(r'"images": (\d+)', said)[-1])
    if command == "peaks":
        with h5py.File(f"{out}.cxi") as file_:
            counts = file_["entry_1/result_1/nPeaks"][()]
            assert (counts > 0).all()
            return len(counts)
    if command == "convert":
        return len(rashpa.open(f"{out}_master.h5"))
    assert Path(f"{out}.png").stat().st_size > 1000
    return sum(map(len, opened(file).values()))


def opened(file: str) -> dict[str, Any]:
    found = rashpa.open(file)
    return found if isinstance(found, dict) else {"": found}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", [name for name in TABLE if name not in ("open", "replay")])
def test_a_command_reads_all_or_says_why_not(folder: Path, command: str, kind: str) -> None:
    if kind not in TABLE[command]:
        return  # it would mend what others look at
    before = sorted((folder / "made").rglob("*"))
    said, wanted = made_by(command, kind, KINDS[kind]), TABLE[command][kind]
    if isinstance(wanted, int):
        assert said == wanted
        return
    assert isinstance(said, str)
    assert re.search(wanted, said), said
    assert sorted((folder / "made").rglob("*")) == before, "nothing is written"


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_opened_with_all_images_under_their_numbers(folder: Path, kind: str) -> None:
    wanted = TABLE["open"][kind]
    whole = frames()
    if isinstance(wanted, str):
        with pytest.raises((StoredRunError, UserWarning), match=wanted), warnings.catch_warnings():
            warnings.simplefilter("error")
            rashpa.open(KINDS[kind])
        return
    runs = opened(KINDS[kind])
    assert sum(map(len, runs.values())) == wanted
    for run in runs.values():
        for number, pixels in run.images():
            np.testing.assert_array_equal(pixels, whole[number])
        run.close()
    assert folder.is_dir()


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_played_again_or_says_why_not(folder: Path, kind: str) -> None:
    spec = StoredSpec(kind="stored", path=str(folder / KINDS[kind]))
    wanted = TABLE["replay"][kind]
    if isinstance(wanted, int):
        dataset = load_replay(spec).dataset
        assert dataset.frames == wanted
        first = 8 if kind == "series" else 0
        for number in range(wanted):
            np.testing.assert_array_equal(dataset.frame(0, number), frames()[first + number])
        return
    with pytest.raises(Exception, match=wanted):
        load_replay(spec)


def test_pictures_and_folders_show_what_is_there(folder: Path) -> None:
    code, said = asked("inspect", "dead")
    assert (code, "dead_full_a_master.h5" in said) == (3, True)
    assert re.search(UNFINISHED, said)
    code, said = asked("inspect", KINDS["group"], "--image", "20", "--output", "made/none.png")
    assert code == 2
    assert "it holds 20 (counted from 0)" in said
    assert not (folder / "made/none.png").exists()


def test_who_is_repaired_is_led_to_again(folder: Path) -> None:
    """Repair a run and check that the combined file links to it again. This test runs last, because it changes the run that others read."""
    assert asked("repair", KINDS["member"])[0] in (0, 3)
    joined = rashpa.open(KINDS["dead"])
    assert len(joined) == len(set(joined.frame_numbers.tolist()))
    for number, pixels in joined.images():
        np.testing.assert_array_equal(pixels, frames()[number % FRAMES])
    joined.close()
    assert folder.is_dir()
