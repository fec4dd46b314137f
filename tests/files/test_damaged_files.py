# SPDX-License-Identifier: Apache-2.0
"""Tests every file reader with damaged files: it reads them, or an error of rashpa names the wrong file. It never shows a traceback, hangs, or takes
more memory than allowed."""

import json
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

_native = pytest.importorskip("rashpa._native")

import fabio  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from rashpa.cli.main import app  # noqa: E402
from rashpa.control.plan.run_plan import load_plan  # noqa: E402
from rashpa.control.runfile.run_file_reader import RunFileError  # noqa: E402
from rashpa.data.datasets.calibration import load_map  # noqa: E402
from rashpa.data.datasets.dataset_spec import PatternSpec  # noqa: E402
from rashpa.data.datasets.datasets import dataset_from_spec, load_dataset  # noqa: E402
from rashpa.data.files.images import Patience, read_images  # noqa: E402
from rashpa.sim import make_dataset  # noqa: E402
from rashpa.testing.stored_run import make_run  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
FRAMES = np.arange(1, 1 + 2 * 4 * 6, dtype=np.uint16).reshape(2, 4, 6)
MAP = np.linspace(0, 1, 4 * 6, dtype=np.float32).reshape(4, 6)
OURS = (_native.NativeError, RunFileError)


class RefusedError(Exception):
    """Reports a command that ended with exit status 2 and a reason."""


def _frames(path: Path) -> None:
    dataset_from_spec({"kind": "files", "files": [[path.name]], "width": 6, "height": 4}, path.parent)


def _map(path: Path) -> None:
    load_map(str(path), np.dtype("<f4"), MAP.shape)


def _archive(path: Path) -> None:
    load_map(f"{path}:gain", np.dtype("<f4"), MAP.shape)


def _images(path: Path) -> None:
    read_images([path])


def _images_soon(path: Path) -> None:
    """Read images with a time limit, because some damaged files take any time that they are given."""
    read_images([path], Patience(seconds=3.0))


def _command(*arguments: str) -> Callable[[Path], None]:
    def call(path: Path) -> None:
        result = CliRunner().invoke(app, [text.format(path) for text in arguments])
        if result.exit_code == 2:
            assert result.stderr.strip()
            raise RefusedError(result.stderr)
        assert result.exit_code == 0, (result.exception, result.output)

    return call


def _npz(path: Path) -> None:
    np.savez_compressed(path, gain=MAP, other=np.zeros(3))


def _image(kind: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        module = {"cbf": fabio.cbfimage.CbfImage, "tif": fabio.tifimage.TifImage, "edf": fabio.edfimage.EdfImage}[kind]
        module(data=FRAMES[0].astype(np.int32)).write(str(path))

    return make


def _packed(array: Any, form: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        plain = path.with_name("plain.npy")
        np.save(plain, array)
        path.write_bytes(zstandard.compress(plain.read_bytes() if form == "npy" else array.tobytes()))

    return make


def _golden_packet(text: bool) -> Callable[[Path], None]:
    vector = json.loads((ROOT / "schema" / "golden" / "roce_packets.json").read_text(encoding="utf-8"))[0]

    def make(path: Path) -> None:
        packet = CliRunner().invoke(app, ["packet", "decode", vector["layer2"]]).stdout
        path.write_text(vector["layer2"] if text else packet)

    return make


@dataclass(frozen=True)
class Reader:
    """Describes one reader. `tries`: the number of damaged files for it, or for `read_damaged`."""

    name: str
    make: Callable[[Path], object]
    read: Callable[[Path], object]
    tries: int = 150
    read_damaged: Callable[[Path], None] | None = None


READERS = [
    Reader("frames.npy", lambda path: np.save(path, FRAMES), _frames),
    Reader("frames.bin", lambda path: FRAMES.tofile(path), _frames),
    Reader("frames.npy.zst", _packed(FRAMES, "npy"), _frames),
    Reader("frames.bin.zst", _packed(FRAMES, "bin"), _frames),
    Reader("map.npy", lambda path: np.save(path, MAP), _map),
    Reader("map.bin", lambda path: MAP.tofile(path), _map),
    Reader("map.npy.zst", _packed(MAP, "npy"), _map),
    Reader("maps.npz", _npz, _archive, 400),
    Reader("run.toml", lambda path: path.write_bytes((ROOT / "examples/02_faults.toml").read_bytes()), load_plan),
    Reader("packet.txt", _golden_packet(text=True), _command("packet", "decode", "--file", "{}"), 50),
    Reader("packet.json", _golden_packet(text=False), _command("packet", "encode", "--file", "{}"), 50),
    # a process each
    Reader("image.cbf", _image("cbf"), _images, 8, _images_soon),
    Reader("image.tif", _image("tif"), _images, 8, _images_soon),
    Reader("image.edf", _image("edf"), _images, 4, _images_soon),
    Reader("run_master.h5", lambda path: make_run(path.parent), _command("inspect", "{}"), 6),
]
BY_NAME = pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)


def damaged(good: bytes, tries: int, seed: int) -> Iterator[bytes]:
    """Yield copies that are cut at many lengths, or with changed bits or bytes, often at the beginning, where headers are."""
    generator = random.Random(seed)
    lengths = {0, 1, *(len(good) * step // (tries // 2) for step in range(tries // 2))}
    yield from (good[:length] for length in sorted(lengths))
    for _ in range(tries // 2):
        wrong = bytearray(good)
        for _ in range(generator.choice((1, 1, 4, 32))):
            at = generator.randrange(generator.choice((min(len(wrong), 64), len(wrong))))
            wrong[at] = generator.choice((wrong[at] ^ 1 << generator.randrange(8), 0, 255, generator.randrange(256)))
        yield bytes(wrong)


@BY_NAME
def test_a_good_file_is_read(reader: Reader, tmp_path: Path) -> None:
    path = tmp_path / reader.name
    reader.make(path)
    reader.read(path)


@BY_NAME
def test_a_damaged_file_is_read_or_refused_by_name(reader: Reader, tmp_path: Path) -> None:
    path = tmp_path / reader.name
    reader.make(path)
    read = reader.read_damaged or reader.read
    refused = 0
    for data in damaged(path.read_bytes(), reader.tries, seed=8):
        path.write_bytes(data)
        try:
            read(path)
        except (*OURS, RefusedError) as error:
            refused += 1
            assert reader.name in str(error) or "packet" in reader.name, error
    assert refused > 0


@contextmanager
def _without_permission(path: Path) -> Iterator[None]:
    """Run the block as a user without rights, because root can read everything."""
    path.chmod(0)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@BY_NAME
def test_what_is_no_file_is_refused_and_never_waited_for(reader: Reader, tmp_path: Path) -> None:
    path = tmp_path / reader.name
    reader.make(path)
    reader.read(path)  # whatever is imported late is there
    with _without_permission(path), pytest.raises((*OURS, RefusedError), match=r"[Pp]ermission"):
        reader.read(path)
    path.unlink()
    with pytest.raises((*OURS, RefusedError), match=r"(?i)no such file"):
        reader.read(path)
    path.mkdir()
    with pytest.raises((*OURS, RefusedError)):
        reader.read(path)
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises((*OURS, RefusedError)):
        reader.read(path)
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises((*OURS, RefusedError)):
        reader.read(path)


def test_a_damaged_dataset_folder_is_read_or_refused(tmp_path: Path) -> None:
    folder = make_dataset(PatternSpec(kind="pattern", modules=1, frames=2, width=6, height=4), tmp_path / "set")
    description = folder / "dataset.json"
    good = description.read_bytes()
    load_dataset(folder)
    refused = 0
    for data in damaged(good, 200, seed=9):
        description.write_bytes(data)
        try:
            load_dataset(folder)
        except OURS as error:
            refused += 1
            assert str(folder) in str(error), error
    assert refused > 100


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("width", -1),
        ("width", 10**30),
        ("height", 1e400),
        ("frames", True),
        ("frame_flags", [2**32, 0]),
        ("frame_flags", [-1, 0]),
        ("pixel", "float64"),
        ("energy_kev", float("nan")),
        ("files", {"module0_raw.npy\0": {"sha256": ""}}),
        ("files", []),
        ("parameters", None),
    ],
)
def test_an_impossible_value_in_a_description_is_refused_by_its_key(tmp_path: Path, key: str, value: Any) -> None:
    folder = make_dataset(PatternSpec(kind="pattern", modules=1, frames=2, width=6, height=4), tmp_path / "set")
    document = json.loads((folder / "dataset.json").read_text())
    document[key] = value
    (folder / "dataset.json").write_text(json.dumps(document))
    with pytest.raises(_native.FileError, match=rf"dataset\.json: .*{key}"):
        load_dataset(folder)


def test_a_deeply_nested_description_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dataset.json").write_text("[" * 100_000)
    with pytest.raises(_native.FileError, match=r"dataset\.json: it is no JSON"):
        load_dataset(tmp_path)
