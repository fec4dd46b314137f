# SPDX-License-Identifier: Apache-2.0
"""Tests every entry point that reads HDF5 with every kind of hostile file. It names the wrong file, ends with the right code, reads nothing outside
the folder, takes bounded memory, does not wait, and leaves nothing behind."""

import contextlib
import functools
import os
import resource
import shutil
import signal
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import pytest
import zstandard

pytestmark = pytest.mark.whole  # some hundred files, many of them read by processes of their own
_native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from tests.files.twelve_images import FRAMES, HEIGHT, IMAGES, WIDTH, pipeline  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from rashpa.cli.main import app  # noqa: E402
from rashpa.data.base.bad_file import BadFileError  # noqa: E402
from rashpa.data.datasets.calibration_file import read_facts  # noqa: E402
from rashpa.data.datasets.dark_runs import dark_frames  # noqa: E402
from rashpa.data.datasets.dataset_spec import StoredSpec  # noqa: E402
from rashpa.data.datasets.replay import load_replay  # noqa: E402
from rashpa.data.files.array_file import read_array_file  # noqa: E402
from rashpa.data.stored.live import open_live  # noqa: E402
from rashpa.data.stored.reader import open_run  # noqa: E402
from rashpa.node.offline.process import Job, Recording, process_recording  # noqa: E402

DATA = "entry/data/data"
SECRET = b"the secret of somebody else, "
LIMIT_S = 60
"""More than any of these takes, also on a machine that does much else."""
BOMB = 256 << 20
LARGEST = 160 << 20
"""Of memory that this process may take for one of these files, which declare a few kilobytes."""
OURS = (BadFileError, _native.NativeError, OSError)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a good run without kernels."""
    folder = tmp_path_factory.mktemp("made")
    np.save(folder / "f.npy", FRAMES)
    (folder / "p.toml").write_text(pipeline("hdf5", IMAGES, "", keep_darks=True), encoding="utf-8")
    done = process_recording(Job(folder / "p.toml", "", folder, Recording("run", (folder / "f.npy",))))
    assert done.good, done
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of that folder, in which commands run; beside it is a foreign folder."""
    work = tmp_path / "work"
    shutil.copytree(made, work)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret.raw").write_bytes(SECRET * (FRAMES.nbytes // len(SECRET) + 1))
    with h5py.File(elsewhere / "secret.h5", "w") as file:
        file.create_dataset(DATA, data=FRAMES, chunks=(1, HEIGHT, WIDTH))
    monkeypatch.chdir(work)
    return work


# ---- what may be wrong with the images of a file ----------------------------------------------------------------------------------------


def images_of(path: Path, make: Callable[[h5py.File], object]) -> None:
    """Replace the images of a file by others with the same attributes."""
    with h5py.File(path, "r+") as file:
        attributes = dict(file[DATA].attrs) if DATA in file else {}
        del file[DATA]
        make(file)
        if isinstance(file.get(DATA, getlink=True), h5py.HardLink):
            file[DATA].attrs.update(attributes)


def a_virtual(file: h5py.File, source: str) -> None:
    layout = h5py.VirtualLayout(FRAMES.shape, FRAMES.dtype)
    layout[...] = h5py.VirtualSource(source, DATA, FRAMES.shape)
    file.create_virtual_dataset(DATA, layout)


def a_link(file: h5py.File, target: Any) -> None:
    file[DATA] = target


def a_link_to_a_link(file: h5py.File) -> None:
    a_link(file, h5py.SoftLink("/away/data"))
    file["away"] = h5py.ExternalLink("../elsewhere/secret.h5", "/entry/data")


def external(file: h5py.File, name: str) -> None:
    file.create_dataset(DATA, FRAMES.shape, FRAMES.dtype, external=[(name, 0, FRAMES.nbytes)])


def unwritten(file: h5py.File) -> None:
    file.create_dataset(DATA, FRAMES.shape, FRAMES.dtype, chunks=(1, HEIGHT, WIDTH), **hdf5plugin.Bitshuffle())


def of_type(file: h5py.File, dtype: Any) -> None:
    file.create_dataset(DATA, FRAMES.shape, dtype, chunks=(1, HEIGHT, WIDTH))[...] = np.zeros((), dtype)


def huge(file: h5py.File) -> None:
    shape = (IMAGES, 1 << 20, 1 << 20)
    file.create_dataset(DATA, shape, "u2", chunks=(1, 1 << 10, 1 << 10), **hdf5plugin.Bitshuffle())


def bomb(file: h5py.File, chunk: bytes, **options: Any) -> None:
    data = file.create_dataset(DATA, FRAMES.shape, FRAMES.dtype, chunks=(1, HEIGHT, WIDTH), **options)
    for image in range(IMAGES):
        data.id.write_direct_chunk((image, 0, 0), chunk)


def lz4_bomb() -> bytes:
    """Return a bitshuffle chunk that declares a huge size."""
    return BOMB.to_bytes(8, "big") + (8192).to_bytes(4, "big") + bytes(4096)


def wrong_checksum(file: h5py.File) -> None:
    data = file.create_dataset(DATA, FRAMES.shape, FRAMES.dtype, chunks=(1, HEIGHT, WIDTH), fletcher32=True)
    for image, pixels in enumerate(FRAMES):
        data.id.write_direct_chunk((image, 0, 0), pixels.tobytes() + b"\1\2\3\4")


def broken_chunks(file: h5py.File) -> None:
    bomb(file, b"\xff" * 64, **hdf5plugin.Bitshuffle())


def unknown_filter(file: h5py.File) -> None:
    """Write chunks of a filter that is not known here."""
    space = h5py.h5s.create_simple(FRAMES.shape)
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    made.set_chunk((1, HEIGHT, WIDTH))
    made.set_filter(40_000, h5py.h5z.FLAG_OPTIONAL, ())
    links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
    links.set_create_intermediate_group(True)
    data = h5py.h5d.create(file.id, DATA.encode(), h5py.h5t.STD_U16LE, space, made, links)
    for image, pixels in enumerate(FRAMES):
        data.write_direct_chunk((image, 0, 0), pixels.tobytes())


def broken_szip(file: h5py.File, chunk: bytes) -> None:
    bomb(file, chunk, compression="szip", compression_opts=("nn", 8))


# Bombs that take a second to make: once for all commands that read them.


@functools.cache
def deflate_bomb() -> bytes:
    return zlib.compress(bytes(BOMB))


@functools.cache
def zstd_bomb() -> bytes:
    return zstandard.ZstdCompressor().compress(bytes(BOMB))


IMAGES_OF: dict[str, Callable[[h5py.File], object]] = {
    "a virtual source is absent": lambda file: a_virtual(file, "gone.h5"),
    "an external file is absent": lambda file: external(file, "gone.raw"),
    "a linked file is absent": lambda file: a_link(file, h5py.ExternalLink("gone.h5", DATA)),
    "chunks were never written": unwritten,
    "a virtual source lies elsewhere": lambda file: a_virtual(file, "../elsewhere/secret.h5"),
    "a link leads elsewhere": lambda file: a_link(file, h5py.ExternalLink("../elsewhere/secret.h5", DATA)),
    "a soft link leads to a link elsewhere": a_link_to_a_link,
    "external storage lies elsewhere": lambda file: external(file, "../elsewhere/secret.raw"),
    "external storage is of the system": lambda file: external(file, "/etc/passwd"),
    "a soft link leads to itself": lambda file: a_link(file, h5py.SoftLink(f"/{DATA}")),
    "a link leads to itself": lambda file: a_link(file, h5py.ExternalLink(Path(file.filename).name, DATA)),
    "a virtual dataset of itself": lambda file: a_virtual(file, "."),
    "float64": lambda file: of_type(file, "f8"),
    "complex": lambda file: of_type(file, "c8"),
    "a compound": lambda file: of_type(file, np.dtype([("a", "u2"), ("b", "u2")])),
    "text": lambda file: of_type(file, "S4"),
    "one axis": lambda file: file.create_dataset(DATA, data=np.zeros(IMAGES, "u2")),
    "a huge shape": huge,
    "a group": lambda file: file.create_group(DATA),
    "a bomb of deflate": lambda file: bomb(file, deflate_bomb(), compression="gzip"),
    "a bomb of bitshuffle-lz4": lambda file: bomb(file, lz4_bomb(), **hdf5plugin.Bitshuffle()),
    "a bomb of bitshuffle-zstd": lambda file: bomb(file, lz4_bomb(), **hdf5plugin.Bitshuffle(cname="zstd")),
    "a bomb of zstd": lambda file: bomb(file, zstd_bomb(), **hdf5plugin.Zstd()),
    "a bomb of lz4": lambda file: bomb(
        file, BOMB.to_bytes(8, "big") + (1 << 20).to_bytes(4, "big") + bytes(512), **hdf5plugin.LZ4()
    ),
    "a bomb of blosc": lambda file: bomb(
        file, bytes([2, 1, 1, 2]) + BOMB.to_bytes(4, "little") + bytes(512), **hdf5plugin.Blosc()
    ),
    "a bomb of szip": lambda file: broken_szip(file, BOMB.to_bytes(4, "little") + bytes(512)),
    "chunks of szip that end early": lambda file: broken_szip(file, b"\1"),
    "an unknown filter": unknown_filter,
    "wrong checksums": wrong_checksum,
    "broken chunks": broken_chunks,
}


# ---- what reads images ------------------------------------------------------------------------------------------------------------------


class SaidError(Exception):
    """Reports a command that has refused, or has named missing images."""


def command(*words: str) -> None:
    done = CliRunner().invoke(app, list(words))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert "Traceback" not in done.output
    assert SECRET.decode() not in done.output
    if done.exit_code != 0:
        assert done.exit_code in (2, 3), done.output
        raise SaidError(done.stderr)


def opened() -> None:
    with open_run("run_b_master.h5") as run:
        for index in range(len(run)):
            np.testing.assert_array_equal(run.image(index), FRAMES[index])


def replayed(path: str) -> None:
    spec = StoredSpec(kind="stored", path=path, width=WIDTH, height=HEIGHT)
    dataset = load_replay(spec).dataset
    for number in range(dataset.frames):
        np.testing.assert_array_equal(dataset.frame(0, number), FRAMES[number])


def mapped(path: str) -> None:
    found = read_array_file(f"{path}:/{DATA}", np.dtype("<u2"), FRAMES.shape)
    np.testing.assert_array_equal(found, FRAMES)


def darks(path: str) -> None:
    found = dark_frames([Path(path)])
    assert found.books.closed
    if not found.books.whole:
        raise SaidError("; ".join(found.books.troubles))
    np.testing.assert_array_equal(found.modules[0], FRAMES)


@dataclass(frozen=True)
class Reader:
    """Describes a reader. `reads`: the file with hostile images; `pixels`: True when it reads pixels and not only their description."""

    read: Callable[[], None]
    reads: str = "run_b_data_000001.h5"
    pixels: bool = True


FOREIGN = "x.h5"
READERS = {
    "open": Reader(opened),
    "replay": Reader(lambda: replayed("run_b_master.h5")),
    "replay foreign": Reader(lambda: replayed(FOREIGN), FOREIGN),
    "process": Reader(lambda: command("process", "run_b_master.h5", "-p", "p.toml", "-o", "out", "-q")),
    "process foreign": Reader(lambda: command("process", FOREIGN, "-p", "p.toml", "-o", "out", "-q"), FOREIGN),
    "inspect": Reader(lambda: command("inspect", "run_b_master.h5"), pixels=False),
    "inspect --output": Reader(lambda: command("inspect", "run_b_master.h5", "--output", "made.png", "--image", "3")),
    "combine": Reader(lambda: command("combine", "run_b_master.h5", "-o", "made.h5"), pixels=False),
    "repair": Reader(lambda: command("repair", "run_b_master.h5"), pixels=False),
    "map": Reader(lambda: mapped(FOREIGN), FOREIGN),
    "darks": Reader(lambda: darks("run_b_master.h5")),
    "darks foreign": Reader(lambda: darks(FOREIGN), FOREIGN),
}
NO_HARM = {("map", "float64")}  # numbers of this type may be a map
OF_PIXELS = ("bomb", "wrong checksums", "broken chunks", "szip", "filter", "complex", "float64", "compound", "text")
"""Damages that are seen by who reads pixels."""


@contextlib.contextmanager
def within_limits() -> Iterator[None]:
    def late(_signal: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"it took more than {LIMIT_S} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LIMIT_S)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    taken = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most) << 10
    assert taken < LARGEST, f"it took {taken >> 20} MiB"


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.name.startswith(".")]


@pytest.mark.parametrize("name", list(READERS))
def test_good_images_are_read(folder: Path, name: str) -> None:
    reader = READERS[name]
    if reader.reads == FOREIGN:
        shutil.copy(folder.parent / "elsewhere/secret.h5", FOREIGN)
    with within_limits():
        reader.read()
    assert hidden(folder) == []


STORED: dict[str, dict[str, Any]] = {
    "szip, nearest neighbours": {"compression": "szip", "compression_opts": ("nn", 8)},
    "szip, entropy": {"compression": "szip", "compression_opts": ("ec", 16)},
    "szip behind shuffle": {"compression": "szip", "shuffle": True},
    "deflate behind shuffle": {"compression": "gzip", "shuffle": True},
    "lzf": {"compression": "lzf"},
    "scale-offset": {"scaleoffset": 0},
    "checksums": {"fletcher32": True},
    "bitshuffle-zstd": dict(hdf5plugin.Bitshuffle(cname="zstd")),
    "blosc2": dict(hdf5plugin.Blosc2()),
    "big-endian": {"dtype": ">u2"},
}


@pytest.mark.parametrize("kind", list(STORED))
@pytest.mark.parametrize("name", list(READERS))
def test_images_are_read_however_they_are_stored(folder: Path, name: str, kind: str) -> None:
    reader = READERS[name]
    if reader.reads == FOREIGN:
        shutil.copy(folder.parent / "elsewhere/secret.h5", FOREIGN)
    elif kind == "big-endian":
        pytest.skip("our own sink writes no such file")
    images_of(
        Path(reader.reads),
        lambda file: file.create_dataset(DATA, data=FRAMES, chunks=(1, HEIGHT, WIDTH), **STORED[kind]),
    )
    with within_limits():
        reader.read()


@pytest.mark.parametrize("damage", list(IMAGES_OF))
@pytest.mark.parametrize("name", list(READERS))
def test_hostile_images_are_said_by_file(folder: Path, name: str, damage: str) -> None:
    reader = READERS[name]
    if reader.reads == FOREIGN:
        shutil.copy(folder.parent / "elsewhere/secret.h5", FOREIGN)
    images_of(Path(reader.reads), IMAGES_OF[damage])
    if (not reader.pixels and any(word in damage for word in OF_PIXELS)) or (name, damage) in NO_HARM:
        with contextlib.suppress(*OURS, SaidError, AssertionError if name == "map" else SaidError), within_limits():
            reader.read()
    else:
        with pytest.raises((*OURS, SaidError)) as caught, within_limits():
            reader.read()
        said = str(caught.value)
        stem = Path(reader.reads).stem.removesuffix("_000001")
        assert any(word in said for word in (stem, "run_b_", "gone", "secret", "passwd")), said
        assert ";" in said or "missing" in said, said
    assert hidden(folder) == []


# ---- what may have the place of a file --------------------------------------------------------------------------------------------------


def not_utf8(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\xfd" * 100)


PLACES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda _path: None,
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "an empty file": Path.touch,
    "noise": not_utf8,
    "a socket": lambda path: os.mknod(path, 0o140644),
}
NAMED: dict[str, Callable[[str], object]] = {
    "open": lambda path: open_run(path).close(),
    "replay": replayed,
    "process": lambda path: command("process", path, "-p", "p.toml", "-o", "out", "-q"),
    "inspect": lambda path: command("inspect", path),
    "peaks": lambda path: command("peaks", path),
    "combine": lambda path: command("combine", path, "-o", "made.h5"),
    "convert": lambda path: command("convert", path, "made"),
    "repair": lambda path: command("repair", path),
    "calibrate": lambda path: command(
        "calibrate", "pedestal", "made.h5", "--g0", path, "--g1", path, "--g2", path, "--least-frames", "2"
    ),
    "calibration file": lambda path: read_facts(Path(path)),
    "map": mapped,
    "darks": darks,
    "dataset info": lambda path: command("dataset", "info", path),
    "live": lambda path: next(open_live(path, timeout_s=1.0)),
}


@pytest.mark.parametrize("place", list(PLACES))
@pytest.mark.parametrize("name", list(NAMED))
def test_what_is_no_such_file_is_refused_by_name(folder: Path, name: str, place: str) -> None:
    path = Path("hostile_master.h5")
    PLACES[place](path)
    before = sorted(one.name for one in folder.iterdir())
    with pytest.raises((*OURS, SaidError, TimeoutError)) as caught, within_limits():
        NAMED[name](path.name)
    assert "hostile_master" in str(caught.value)
    assert sorted(one.name for one in folder.iterdir()) == before


NAMES = ("100%_x", "a[1]_x", "UPPER_x", "sp ace_x", "%d%s_x", "é_x", "~_x")
NOT_UTF8 = os.fsdecode(b"lat\xefn_x")


def copied(folder: Path, name: str) -> str:
    """Return the master of a copy in a folder of this name."""
    (folder / name).mkdir()
    for path in folder.glob("run_b_*"):
        shutil.copy(path, folder / name)
    return f"{name}/run_b_master.h5"


@pytest.mark.parametrize("name", NAMES)
def test_names_are_taken_as_they_are(folder: Path, name: str) -> None:
    master = copied(folder, name)
    command("inspect", master)
    command("process", master, "-p", "p.toml", "-o", f"{name}/out", "-q")
    command("combine", master, "-o", f"{name}/made.h5")
    command("repair", master)
    with h5py.File(f"{name}/made.h5") as file:
        np.testing.assert_array_equal(file["entry/data/data"][3], FRAMES[3])
    replayed(master)


def test_a_name_that_is_no_text_is_read_and_refused_where_native_code_writes(folder: Path) -> None:
    master = copied(folder, NOT_UTF8)
    command("inspect", master)
    for words in (("process", master, "-p", "p.toml", "-o", f"{NOT_UTF8}/out", "-q"), ("repair", master)):
        with pytest.raises(SaidError, match="is not in UTF-8; rename it"):
            command(*words)
    with pytest.raises(SaidError, match="is not in UTF-8; rename it"):
        command("convert", "run_b_master.h5", f"{NOT_UTF8}/made")
