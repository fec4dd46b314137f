# SPDX-License-Identifier: Apache-2.0
"""Opens masters, a file that links to several buffers, and the file of a group with the programs that people use: each shows the images of that very
file. The reason for a missing image is given for each image."""

import importlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest

_native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from tests.files.twelve_images import FRAMES, IMAGES, pipeline  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

import rashpa  # noqa: E402
from rashpa.cli.main import app  # noqa: E402
from rashpa.data.parts.run_parts import StoredRunError  # noqa: E402
from rashpa.data.stored.combined.combined import combine  # noqa: E402
from rashpa.data.stored.joined_run import JoinedRun  # noqa: E402
from rashpa.node.offline.process import Job, Recording, process_recording  # noqa: E402

OTHER = (FRAMES + np.uint16(1)).astype(np.uint16)
JOINED = np.stack([FRAMES, OTHER], axis=1).reshape(-1, *FRAMES.shape[1:])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return two runs that claim to be one, as two receivers write them, and the file that links to both."""
    folder = tmp_path_factory.mktemp("made")
    for name, frames in (("a", FRAMES), ("b", OTHER)):
        (folder / name).mkdir()
        np.save(folder / name / "f.npy", frames)
        file = folder / name / "p.toml"
        file.write_text(pipeline("hdf5", 5, "", keep_darks=True), encoding="utf-8")
        assert process_recording(Job(file, "", folder / name, Recording("run", (folder / name / "f.npy",)))).good
        with h5py.File(folder / name / "run_b_master.h5", "r+") as master:
            said = master["entry/rashpa"]
            said.attrs["run_id"], said.attrs["receiver"] = "one", name
            for place in ("data", "rashpa"):
                master[f"entry/{place}/frame_number"][...] = 2 * np.arange(IMAGES) + (name == "b")
    masters = [folder / name / "run_b_master.h5" for name in "ab"]
    combine({"entry": masters}, folder / "group_master.h5")
    combine({"left": masters[:1], "right": masters[1:]}, folder / "leading_master.h5")
    return folder


def by_h5py(path: str) -> Any:
    with h5py.File(path) as file:
        return file["entry/data/data"][()]


def by_detector(path: str) -> Any:
    """Return the images at the detector's path."""
    with h5py.File(path) as file:
        return file["entry/instrument/detector/pixel"][()]


def by_fabio(path: str) -> Any:
    with importlib.import_module("fabio").open(path) as image:
        return [image.get_frame(number).data for number in range(image.nframes)]


def by_pyfai(path: str) -> Any:
    """Return the images as pyFAI-average reads them."""
    return by_fabio(path)


def by_silx(path: str) -> Any:
    return importlib.import_module("silx.io.utils").get_data(f"silx:{path}?/entry/data/data")


def by_silx_view(path: str) -> Any:
    importlib.import_module("silx.io")
    nxdata = importlib.import_module("silx.io.nxdata")
    with importlib.import_module("silx.io").open(path) as file:
        return nxdata.get_default(file).signal[()]


def by_nxmx(path: str) -> Any:
    with h5py.File(path) as file:
        (first, *_) = importlib.import_module("nxmx").NXmx(file).entries
        return first.data[0]["data"][()]


def by_hdfmap(path: str) -> Any:
    hdfmap = pytest.importorskip("hdfmap")
    found = hdfmap.create_nexus_map(path, default_entry_only=True)  # its names are those of one entry
    with h5py.File(path) as file:
        return file[found.get_image_path()][()]


READERS: dict[str, Callable[[str], Any]] = {
    "h5py": by_h5py,
    "h5py, detector": by_detector,
    "fabio": by_fabio,
    "pyFAI": by_pyfai,
    "silx": by_silx,
    "silx view": by_silx_view,
    "nxmx": by_nxmx,
    "hdfmap": by_hdfmap,
}
FILES = {"a/run_b_master.h5": FRAMES, "group_master.h5": JOINED, "leading_master.h5": FRAMES}


@pytest.mark.parametrize("file", list(FILES))
@pytest.mark.parametrize("name", list(READERS))
def test_images_are_those_of_the_file(folder: Path, name: str, file: str) -> None:
    found = READERS[name](str(folder / file))
    assert len(found) == len(FILES[file])
    np.testing.assert_array_equal(np.asarray(found), FILES[file])


def test_every_entry_of_the_leading_file_is_one_that_programs_find(folder: Path) -> None:
    with h5py.File(folder / "leading_master.h5") as file:
        assert [name for name in file if file[name].attrs.get("NX_class") == "NXentry"] == ["left", "right"]
        for name, frames in (("left", FRAMES), ("right", OTHER), ("entry", FRAMES)):
            assert file[name].name == f"/{name}", "a link of its own name"
            np.testing.assert_array_equal(file[f"{name}/data/data"][()], frames)


@pytest.fixture
def hidden(folder: Path) -> Iterator[Callable[[str], None]]:
    """Yield a function that hides files of `folder` until the end of a test."""
    names: list[Path] = []

    def hide(name: str) -> None:
        path = folder / name
        path.rename(path.with_name(f"{path.name}.hidden"))
        names.append(path)

    yield hide
    for path in names:
        path.with_name(f"{path.name}.hidden").rename(path)


def states(run: Any, rows: Sequence[int]) -> set[str]:
    absent = run.absent()
    words = ("master gone", "data file gone", "receiver ended early", "data file cut")
    return {word for row in rows for word in words if word in absent.get(row, "")}


def test_a_master_that_is_gone_is_said_of_each_of_its_images(folder: Path, hidden: Callable[[str], None]) -> None:
    hidden("b/run_b_master.h5")
    with rashpa.open(folder / "group_master.h5") as run:
        assert isinstance(run, JoinedRun)
        assert len(run) == 2 * IMAGES
        assert sorted(run.absent()) == list(range(1, 2 * IMAGES, 2))
        assert states(run, range(1, 2 * IMAGES, 2)) == {"master gone"}
        for index in range(0, 2 * IMAGES, 2):
            np.testing.assert_array_equal(run.image(index), JOINED[index])
            with pytest.raises(StoredRunError, match=r"master gone: .*b/run_b_master\.h5; put it there"):
                run.image(index + 1)
    parts = rashpa.open(folder / "leading_master.h5")
    np.testing.assert_array_equal(parts["left"].image(3), FRAMES[3])
    with pytest.raises(StoredRunError, match=r"master gone: .*b/run_b_master\.h5; put it there"):
        parts["right"]
    with pytest.raises(KeyError):
        parts["middle"]
    hidden("a/run_b_master.h5")
    for name in ("group", "leading"):
        with pytest.raises(StoredRunError, match="master gone"):
            rashpa.open(folder / f"{name}_master.h5")


def test_a_data_file_that_is_gone_is_said_of_each_of_its_images(folder: Path, hidden: Callable[[str], None]) -> None:
    hidden("b/run_b_data_000002.h5")
    gone = [2 * number + 1 for number in range(5, 10)]
    with rashpa.open(folder / "group_master.h5") as run:
        assert sorted(run.absent()) == gone
        assert states(run, gone) == {"data file gone"}
        with pytest.raises(StoredRunError, match=r"run_b_data_000002\.h5"):
            run.image(gone[0])
    with rashpa.open(folder / "b/run_b_master.h5") as one:
        assert states(one, range(5, 10)) == {"data file gone"}


def test_images_that_were_never_written_are_told_apart(folder: Path, hidden: Callable[[str], None]) -> None:
    path = folder / "b/run_b_data_000003.h5"
    whole = path.read_bytes()
    hidden("b/run_b_data_000003.h5")
    path.write_bytes(whole)
    with h5py.File(path, "r+") as file:
        attributes, shape = dict(file["entry/data/data"].attrs), file["entry/data/data"].shape
        del file["entry/data/data"]
        file.create_dataset("entry/data/data", shape, "u2", chunks=(1, *shape[1:])).attrs.update(attributes)
    with rashpa.open(folder / "b/run_b_master.h5") as one:
        assert states(one, (10, 11)) == {"receiver ended early"}
    path.unlink()


@pytest.mark.parametrize("file", ["group", "leading"])
@pytest.mark.parametrize("gone", ["a", "b"])
def test_inspect_shows_what_is_left_beside_a_master_that_is_gone(
    folder: Path, hidden: Callable[[str], None], file: str, gone: str
) -> None:
    hidden(f"{gone}/run_b_master.h5")
    path, left = folder / f"{file}_master.h5", "b" if gone == "a" else "a"
    done = CliRunner().invoke(app, ["inspect", str(path), "--json"])
    assert done.exit_code == 3, done.output
    said = json.loads(done.stdout)
    assert [run["file"] for run in said["runs"]] == [str(folder / left / "run_b_master.h5")]
    missing = IMAGES if file == "group" else 0  # a file counts images of entries that have several masters alone
    counts = [said["books"][name] for name in ("expected", "made", "missing")]
    assert counts == [IMAGES + missing, IMAGES, missing]
    assert said["books"]["troubles"] == [said["problem"]]
    assert f"{gone}/run_b_master.h5: " in said["problem"]
    for_people = CliRunner().invoke(app, ["inspect", str(path)])
    assert for_people.exit_code == 3
    assert "images stored" in for_people.stdout
    assert said["problem"] in for_people.stderr
    hidden(f"{left}/run_b_master.h5")
    done = CliRunner().invoke(app, ["inspect", str(path)])
    assert done.exit_code == 2, "nothing is left"
