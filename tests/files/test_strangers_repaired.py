# SPDX-License-Identifier: Apache-2.0
"""Tests foreign runs whose links lead native code elsewhere: `repair` and `convert` neither read nor write outside the folder of the run."""

import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

_native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from tests.files.twelve_images import FRAMES, HEIGHT, PEAKS, WIDTH, pipeline  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from rashpa.cli.main import app  # noqa: E402
from rashpa.data.parts.older_files import JOURNAL, MASTER  # noqa: E402
from rashpa.node.offline.process import Job, Recording, process_recording  # noqa: E402

MASK = "entry/instrument/detector/pixel_mask"
TABLE = "entry/tables/peakfinder8/x"
DATA = "entry/data/data"
FINDER = f"{PEAKS}min_snr = 1.0\nthreshold = 50.0\n"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of good runs."""
    folder = tmp_path_factory.mktemp("stored")
    np.save(folder / "f.npy", FRAMES)
    for name, sink in (("raw", "raw"), ("dense", "hdf5")):
        (folder / f"{name}.toml").write_text(pipeline(sink, 8, FINDER), encoding="utf-8")
        done = process_recording(Job(folder / f"{name}.toml", "", folder, Recording(name, (folder / "f.npy",))))
        assert done.good, done
    return folder


@pytest.fixture
def run(stored: Path, tmp_path: Path) -> Path:
    """Return the prefix of a copy of the raw run, whose receiver was killed: its master has no tables yet."""
    folder = tmp_path / "run"
    folder.mkdir()
    for path in stored.glob("raw_b_raw_*"):
        shutil.copy(path, folder)
    prefix = folder / "raw_b_raw"
    shutil.copy(of(prefix, "_facts.h5"), of(prefix, MASTER))
    return prefix


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Return a foreign file with the paths of such a run."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    with h5py.File(folder / "other.h5", "w") as file:
        file.create_dataset("pixel_mask", (HEIGHT, WIDTH), "u4", data=np.full((HEIGHT, WIDTH), 0x5E, "u4"))
        file.create_group("group")
        file.create_dataset("numbers", data=np.arange(8.0, dtype=np.float32), chunks=(8,), maxshape=(None,))
    (folder / "secret.raw").write_bytes(b"secret" * HEIGHT * WIDTH)
    return folder


def of(prefix: Path, part: str) -> Path:
    return prefix.with_name(prefix.name + part)


def instead(path: str, target: str, place: str) -> Callable[[h5py.File, Path], None]:
    """Return a change that replaces a path by a link into the other file."""

    def made(file: h5py.File, other: Path) -> None:
        del file[place]
        file[place] = h5py.ExternalLink(str(other / path), target)

    return made


def external_mask(file: h5py.File, other: Path) -> None:
    del file[MASK]
    size = HEIGHT * WIDTH * 4
    file.create_dataset(MASK, (HEIGHT, WIDTH), "u4", external=[(str(other / "secret.raw"), 0, size)])


def virtual_mask(file: h5py.File, other: Path) -> None:
    del file[MASK]
    layout = h5py.VirtualLayout((HEIGHT, WIDTH), "u4")
    layout[:] = h5py.VirtualSource(str(other / "other.h5"), "pixel_mask", (HEIGHT, WIDTH))
    file.create_virtual_dataset(MASK, layout)


def soft_over_external(file: h5py.File, other: Path) -> None:
    del file["entry/rashpa"]
    file["away"] = h5py.ExternalLink(str(other / "other.h5"), "/")
    file["entry/rashpa"] = h5py.SoftLink("/away/group")


def large_mask(file: h5py.File, _other: Path) -> None:
    del file[MASK]
    file.create_dataset(MASK, (64 * HEIGHT, WIDTH), "u4", data=np.ones((64 * HEIGHT, WIDTH), "u4"))


def endless_link(file: h5py.File, _other: Path) -> None:
    del file["entry/rashpa"]
    file["entry/rashpa"] = h5py.SoftLink("/entry/rashpa")


MASTERS: dict[str, Callable[[h5py.File, Path], None]] = {
    "link for the tables' group": instead("other.h5", "/group", "entry/rashpa"),
    "link for the entry": instead("other.h5", "/", "entry"),
    "link for the detector": instead("other.h5", "/group", "entry/instrument/detector"),
    "link for the images' group": instead("other.h5", "/group", "entry/data"),
    "soft link over another file": soft_over_external,
    "soft link to itself": endless_link,
}
MASKS = {
    "link": instead("other.h5", "/pixel_mask", MASK),
    "external storage": external_mask,
    "virtual": virtual_mask,
    "of another size": large_mask,
}
COMMANDS = {"repair": ("repair", "{run}"), "convert": ("convert", "{run}", "{made}")}
BY_COMMAND = pytest.mark.parametrize("command", COMMANDS)


def call(command: str, run: Path, *options: str) -> tuple[int, str]:
    words = [word.format(run=run, made=run.parent / "made") for word in COMMANDS[command]]
    done = CliRunner().invoke(app, [*words, *options])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert "Traceback" not in done.stderr
    return done.exit_code, done.stderr


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def nothing_is_left(folder: Path) -> bool:
    return not [path for path in folder.iterdir() if path.name.startswith(".") or "completing" in path.name]


@BY_COMMAND
@pytest.mark.parametrize("case", MASTERS)
def test_a_master_that_leads_elsewhere_is_refused(run: Path, other: Path, case: str, command: str) -> None:
    before = contents(other)
    for part in (MASTER, "_facts.h5"):
        with h5py.File(of(run, part), "r+") as file:
            MASTERS[case](file, other)
    code, said = call(command, run)
    assert code == 2
    assert run.name in said
    assert contents(other) == before
    assert nothing_is_left(run.parent)
    assert not of(run.with_name("made"), MASTER).exists()


@BY_COMMAND
@pytest.mark.parametrize("case", MASKS)
def test_a_mask_that_lies_elsewhere_is_neither_read_nor_written(
    run: Path, other: Path, case: str, command: str
) -> None:
    before = contents(other)
    for part in (MASTER, "_facts.h5"):
        with h5py.File(of(run, part), "r+") as file:
            MASKS[case](file, other)
    code, said = call(command, run)
    assert code in (0, 2, 3)
    assert code == 0 or run.name in said
    assert contents(other) == before
    assert nothing_is_left(run.parent)


@BY_COMMAND
def test_a_table_that_lies_elsewhere_is_not_read(run: Path, other: Path, command: str) -> None:
    before = contents(other)
    with h5py.File(of(run, "_tables.h5"), "r+") as file:
        assert len(file[TABLE]) > 0
        instead("other.h5", "/numbers", TABLE)(file, other)
    code, said = call(command, run)
    assert code in (2, 3)
    assert run.name in said or "made" in said
    assert contents(other) == before


@BY_COMMAND
@pytest.mark.parametrize("part", ["_data_000001.raw", "_tables.h5", "_facts.h5", JOURNAL, MASTER])
def test_a_file_that_lies_elsewhere_needs_to_be_allowed(run: Path, other: Path, part: str, command: str) -> None:
    away = other / of(run, part).name
    shutil.move(of(run, part), away)
    of(run, part).symlink_to(away)
    before = contents(other)
    code, said = call(command, run)
    if part == MASTER and command == "convert":
        assert code == 0  # its own folder is one that may be read
        return
    if part == MASTER:
        return
    assert code == 2
    assert "--follow" in said and of(run, part).name in said
    assert contents(other) == before
    code, said = call(command, run, f"--follow={other}")
    assert code == (2 if part == JOURNAL else 0), said  # a lock belongs to the file that has the name itself


@BY_COMMAND
def test_a_name_that_is_used_meanwhile_is_not_written_through(run: Path, other: Path, command: str) -> None:
    before = contents(other)
    of(run, "_master.h5.completing").symlink_to(other / "other.h5")
    of(run, "_facts.h5").unlink()
    assert call(command, run)[0] == 0
    assert contents(other) == before


def test_a_dense_run_is_repaired_without_following_its_data_files(stored: Path, tmp_path: Path, other: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for path in stored.glob("dense_b_*"):
        shutil.copy(path, folder)
    before = contents(other)
    data = folder / "dense_b_data_000001.h5"
    with h5py.File(data, "r+") as file:
        del file[DATA]
        file[DATA] = h5py.ExternalLink(str(other / "other.h5"), "/pixel_mask")
    code, said = call("repair", folder / "dense_b")
    assert code == 3
    assert "data_000001" in said or "other.h5" in said
    assert contents(other) == before
