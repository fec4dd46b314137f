# SPDX-License-Identifier: Apache-2.0
"""Wrong inputs of users: each is refused before anything starts, with its place and a remedy, and leaves no files behind."""

from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from typer.testing import CliRunner

from rashpa.cli.main import app
from rashpa.control.runfile.run_file import RunFile
from rashpa.data.base.value_words import PATTERNS

pytestmark = pytest.mark.whole

RUN = """\
[run]
name = "wrong"
frames = 20
[detector]
width = 64
height = 32
rate_hz = 100.0
[dataset]
kind = "pattern"
width = 64
height = 32
[receiver]
port = 0
[[buffer]]
name = "full"
slots = 40
[[buffer.sink]]
kind = "hdf5"
[faults]
seed = 1
"""
FILES = 'kind = "files"\nfiles = [["{}"]]\nwidth = 64\nheight = 32\n'
PATTERN = 'kind = "pattern"\nwidth = 64\nheight = 32\n'
PHOTONS = '[[buffer.kernel]]\nname = "jungfrau"\n[faults]'

# what stands in the file, what a person writes in its place, and what the answer has in it
WRONG = [
    ("frames = 20", 'frames = "20"', ("run.toml:3: run.frames: ", 'it is "20"', "write it without quotes")),
    ("frames = 20", "frames = 10000000000000", ("run.toml:3: run.frames: ", "at most 1099511627776")),
    ("frames = 20", "frames = 20.5", ("run.toml:3: run.frames: ", "whole number", "it is 20.5")),
    ("frames = 20", "", ("run.toml:1: run.frames: this key is needed",)),
    ("rate_hz = 100.0", "rate_hz = inf", ("run.toml:7: detector.rate_hz: ", "finite number")),
    ("rate_hz = 100.0", 'rate_hz = "100"', ("run.toml:7: detector.rate_hz: ", "write it without quotes")),
    ('name = "wrong"', 'name = "a/b"', ("run.toml:2: run.name: ", '"a/b"', "1 to 64 letters, digits, _ . or -")),
    ('name = "full"', 'name = "1st"', ("run.toml:15: buffer[0].name: ", "a letter, and then")),
    ("slots = 40", "region = [0, 0, 8]", ("run.toml:16: buffer[0].region: 3 entries", "x, y, width, height")),
    ("slots = 40", "region = [0, 0, 8, 8, 8]", ("run.toml:16: buffer[0].region: 5 entries given; at most 4",)),
    ("slots = 40", "region = [0, 0, 8, 8.5]", ("run.toml:16: buffer[0].region[3]: ", "whole number")),
    ("[faults]", "[run]", ("run.toml:19: not TOML: Cannot declare [run] twice", "a table stands once")),
    ("seed = 1", "seed = 1\nseed = 2", ("run.toml:21: not TOML: Cannot overwrite", "keep one")),
    ("seed = 1", "seed = [1,", ("run.toml:20: not TOML: ",)),
    ("seed = 1", "drop = 1.5", ("run.toml:20: faults.drop: ", "at most 1")),
    (
        "seed = 1",
        "drop = 0.6\nreorder = 0.5",
        ("run.toml:21: faults.reorder: drop, reorder add up to 1.1; ", "at most 1"),
    ),
    ("port = 0", 'address = "far"', ("run.toml:13: receiver.address: ", "such as 127.0.0.1")),
    (
        "port = 0",
        'address = "::1"',
        ("run.toml:13: receiver.address: emulator sends from 127.0.0.1", "of one IP version"),
    ),
    ("port = 0", "threads = 3", ("run.toml:13: receiver.threads: 3 threads for 1 DTPs at receiver", "at most 1")),
    (
        "port = 0",
        "[link.roce]\nwindow_bytes = 100",
        ("run.toml:14: link.roce.window_bytes: 100 bytes", "or 0 for none"),
    ),
    (
        "port = 0",
        '[link.roce]\ntransport = "ud"\npacketisation = "first_middle_last"',
        ("run.toml:15: link.roce.packetisation: ", 'transport ud a message is one packet: "only"'),
    ),
    (
        "port = 0",
        '[link]\ndestination = "verbs"\n[link.verbs]\ntransport = "ud"',
        ("run.toml:16: link.verbs.transport: ud has no RDMA WRITE", '"uc" or "rc"'),
    ),
    (
        "port = 0",
        '[link]\nkind = "verbs"\n[link.verbs]\npaging = "on_demand"',
        ("run.toml:16: link.verbs.paging: on_demand; a page", 'transport = "rc", or "pinned"'),
    ),
    (
        "port = 0",
        '[link]\nkind = "verbs"\nflow = "paced"\n[link.verbs]\noperation = "read"',
        (
            "run.toml:17: link.verbs.operation: read; transport uc has no RDMA READ",
            'counts in its credits what it has read: flow = "credits", or "write"',
        ),
    ),
    (
        "port = 0",
        '[link]\nsource = "verbs"\n[link.verbs]\noperation = "read"\ntransport = "rc"\n[link.roce]\ntransport = "rc"',
        ("run.toml:16: link.verbs.operation: read; verbs → roce offers nothing to read",),
    ),
    (
        "port = 0",
        '[link.verbs]\noperation = "fetch_add"',
        ("link.verbs.operation: images of a module come from one emulator", 'it must be "write" or "read"'),
    ),
    (
        "port = 0",
        '[link.verbs]\ntransport = "raw"',
        ("link.verbs.transport: a queue of raw Ethernet frames", "Soft-RoCE has none; ", '"rc"'),
    ),
    (
        "port = 0",
        'port = 0\nmemory = "managed"',
        ("receiver.memory: CUDA neither exports managed memory", 'it must be "pageable", "huge" or "device"'),
    ),
    (
        "port = 0",
        'port = 0\naddress = "239.1.1.1"',
        ('receiver.address: "239.1.1.1" is an address of many', "the address of one interface"),
    ),
    (
        "port = 0",
        'port = 5000\n[link]\nsource = "verbs"',
        ("run.toml:13: receiver.port: 5000; an RNIC sends to UDP port 4791",),
    ),
    ("[faults]", PHOTONS, ("run.toml:20: buffer[0].kernel[0].name: kernel jungfrau needs pedestal and gain",)),
    (
        "[faults]",
        PHOTONS.replace("[faults]", "") + 'photon_energy_kev = "12"\n[faults]',
        ("run.toml:21: buffer[0].kernel[0].photon_energy_kev: ", "without quotes"),
    ),
    (PATTERN, FILES.format("absent.bin"), ("run.toml:10: dataset.files: ", "absent.bin does not exist")),
    (
        PATTERN,
        FILES.format("short.bin"),
        ("run.toml:10: dataset.files: ", "5000 bytes, which are no whole frames of 4096 bytes", "set header_bytes"),
    ),
    (
        PATTERN,
        'kind = "files"\nfiles = [["short.bin"]]\n',
        ("run.toml:10: dataset.files: ", "has no header", "set width, height and pixel of [dataset]"),
    ),
    (PATTERN, 'kind = "directory"\npath = "."\n', ("run.toml:10: dataset.path: ", "rashpa dataset make")),
    (
        'name = "wrong"',
        'name = "wrong"\noutput = "short.bin"',
        ("run.toml:3: run.output: ", "is a file", "choose another"),
    ),
    (
        'name = "wrong"',
        'name = "old"\noutput = "there"',
        ("run.toml:2: run.name: ", "old_full_master.h5 exists", 'run.existing = "replace"'),
    ),
    ("[faults]", '[nodes]\nreceiver = "far:80"\n[faults]', ("run.toml:20: nodes.receiver: ", "https://host:4781")),
    ("[faults]", '[[emulator]]\nname = "a"\nmodules = []\n[faults]', ("run.toml:21: emulator[0].modules: 0 entries",)),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.bin").write_bytes(bytes(5000))
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "old_full_master.h5").touch()
    return tmp_path


def said_by(*arguments: str) -> str:
    """Return the output of a run that refuses its input."""
    result = CliRunner().invoke(app, ["run", *arguments])
    assert result.exit_code == 2, result.output
    assert "rashpa run: " in result.stderr
    return result.stderr


@pytest.mark.parametrize(("old", "new", "says"), WRONG, ids=[f"{number}" for number in range(len(WRONG))])
def test_a_wrong_input_is_refused_with_its_place_and_what_to_try_and_leaves_nothing(
    folder: Path, old: str, new: str, says: tuple[str, ...]
) -> None:
    assert RUN.count(old) == 1
    (folder / "run.toml").write_text(RUN.replace(old, new))
    before = sorted(folder.rglob("*"))
    for words in ((), ("--check",)):  # what needs no node is found without one
        said = said_by("run.toml", "--output", "report", *words)
        for part in says:
            assert part in said
        assert "^" not in said.replace("2^", ""), "no regular expression is shown to people"
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(("report", "says"), [("short.bin", "is a file, not a folder"), ("short.bin/x", "is a file")])
def test_a_report_that_cannot_be_written_is_refused_first(folder: Path, report: str, says: str) -> None:
    (folder / "run.toml").write_text(RUN)
    said = said_by("run.toml", "--output", report)
    assert f"--output {report}: " in said
    assert says in said
    assert "Errno" not in said
    assert "choose another folder" in said


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("frames.bin.zst", b"(\xb5/\xfd" + bytes(range(60)), "copy the file again"),
        ("frames.npy", bytes(4096), "save it with numpy.save, or say what it is with dataset.format"),
    ],
    ids=["zstd", "npy"],
)
def test_a_damaged_file_is_named_with_what_to_try_and_leaves_no_folder(
    folder: Path, name: str, data: bytes, says: str
) -> None:
    pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    (folder / name).write_bytes(data)
    (folder / "run.toml").write_text(RUN.replace(PATTERN, FILES.format(name)))
    before = sorted(folder.rglob("*"))
    said = said_by("run.toml", "-q", "--output", "report/deep")
    assert name in said
    assert says in said
    assert "balance" not in said, "there are no books of what never began"
    assert sorted(folder.rglob("*")) == before


def test_a_dataset_folder_is_compared_with_the_detector_before_it_is_read(folder: Path) -> None:
    pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    from rashpa.data.datasets.datasets import dataset_from_spec, save_dataset

    spec = {"kind": "pattern", "width": 32, "height": 32, "frames": 2}
    save_dataset(dataset_from_spec(spec, folder), folder / "set")
    (folder / "run.toml").write_text(RUN.replace(PATTERN, 'kind = "directory"\npath = "set"\n'))
    said = said_by("run.toml", "--check")
    assert (
        "run.toml:10: dataset.path: the dataset has 1 modules of 32 × 32 pixels uint16, [detector] says 1 modules of 64"
        in said
    )


def test_a_node_that_is_not_there_is_named_with_what_to_try(folder: Path) -> None:
    (folder / "run.toml").write_text(RUN + '[nodes]\nreceiver = "http://127.0.0.1:9"\n')
    result = CliRunner().invoke(app, ["run", "run.toml", "-q", "--output", "report"])
    assert result.exit_code == 1
    assert "receiver at http://127.0.0.1:9 cannot be reached" in result.stderr
    assert "`rashpa receiver`" in result.stderr
    assert 'node = "local"' in result.stderr


def patterns_of(model: type[BaseModel]) -> set[str]:
    """Return the patterns of all texts below a model."""
    found: set[str] = set()

    def look(annotation: Any, metadata: tuple[Any, ...]) -> None:
        found.update(meta.pattern for meta in metadata if getattr(meta, "pattern", None))
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            found.update(patterns_of(annotation))
        for part in get_args(annotation):
            look(part, getattr(part, "__metadata__", ()))

    for field in model.model_fields.values():
        look(field.annotation, tuple(field.metadata))
    return found


def test_every_pattern_of_the_run_file_has_words() -> None:
    found = patterns_of(RunFile)
    assert len(found) > 2
    assert found <= set(PATTERNS)
