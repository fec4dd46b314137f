# SPDX-License-Identifier: Apache-2.0
"""Foreign kernels in whole runs of native engines: their results agree with NumPy, and their faults are reported."""

import asyncio
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rashpa.control.books.outcome import Outcome
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.data.stored.reader import open_run
from rashpa.node.state.node import Node

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.node.engine.folders import Folders
from rashpa.node.engine.native_engine import NativeFactory
from rashpa.testing.in_process import run_in_process
from rashpa.testing.waiting import eventually

pytestmark = pytest.mark.whole

ROOT = Path(__file__).parents[3]
HEADER = ROOT / "src" / "rashpa" / "kernel" / "outside"
FRAMES, HEIGHT, WIDTH = 24, 32, 64
RUN = """\
[run]
name = "outside"
frames = 24
output = "{output}"
[detector]
width = 64
height = 32
pixel = "uint16"
[dataset]
kind = "files"
files = [["{folder}/frames.npy"]]
pixel = "uint16"
[receiver]
port = 0
memory = "pageable"
[[buffer]]
name = "main"
slots = 40
threads = 2
deadline_ms = 5000
{settings}
[[buffer.kernel]]
{kernel}
[[buffer.sink]]
kind = "hdf5"
{sink}
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the example, compiled as its page says."""
    file = tmp_path_factory.mktemp("plugin") / "local_maxima.so"
    source = ROOT / "examples" / "kernels" / "local_maxima" / "local_maxima.c"
    command = ["cc", "-std=c11", "-O3", "-shared", "-fPIC", f"-I{HEADER}", str(source), "-o", str(file)]
    subprocess.run(command, check=True, timeout=120)
    return file


def images() -> NDArray[np.uint16]:
    """Return images [frame][row][column]: noise, and peaks in every second frame."""
    random = np.random.default_rng(3)
    found = random.integers(0, 6, (FRAMES, HEIGHT, WIDTH)).astype(np.uint16)
    for frame in range(0, FRAMES, 2):
        for _ in range(20):
            found[frame, random.integers(HEIGHT), random.integers(WIDTH)] = random.integers(10, 60)
    found[:, 5, ::9] = 65535  # masked, as a detector delivers it
    return found


def run(
    folder: Path, kernel: str, settings: str = "", sink: str = "", allowed: bool = True, output: str = ""
) -> Outcome:
    np.save(folder / "frames.npy", images())
    path = folder / "run.toml"
    output = output or f"{folder}/out"
    path.write_text(RUN.format(folder=folder, kernel=kernel, settings=settings, sink=sink, output=output))
    nodes = nodes_of(folder if allowed else None)
    return run_in_process(load_plan(path), nodes)


def nodes_of(kernels: Path | None) -> dict[str, Node]:
    everywhere = [Path("/")]
    folders = Folders(everywhere, everywhere, kernels)
    return {role: Node(role, role, NativeFactory(role, folders=folders)) for role in ("emulator", "receiver")}


def python_kernel(text: str) -> str:
    return f"from rashpa.data.kernels.kernel import Column, kernel\nimport numpy as np\nimport time\n{text}"


def local_maxima(image: NDArray[np.uint16], threshold: int) -> list[tuple[int, int, int]]:
    """Return x, y and value of pixels larger than the neighbours before them and not smaller than those after them; masked neighbours do not count."""
    values = np.full((HEIGHT + 2, WIDTH + 2), -1, np.int64)
    values[1:-1, 1:-1] = np.where(image == 65535, -1, image.astype(np.int64))
    centre = values[1:-1, 1:-1]
    largest = centre >= threshold
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            other = values[1 + dy : HEIGHT + 1 + dy, 1 + dx : WIDTH + 1 + dx]
            if (dy, dx) < (0, 0):
                largest &= centre > other
            elif (dy, dx) > (0, 0):
                largest &= centre >= other
    return [(int(x), int(y), int(image[y, x])) for y, x in np.argwhere(largest)]


def errored(outcome: Outcome) -> tuple[int, str]:
    status = outcome.buffers[0]
    return status.books.errored, status.first_errored.text if status.first_errored else ""


@pytest.mark.parametrize("on_full", ["", 'on_full = "drop"'], ids=["from_slots", "from_copies"])
def test_a_plugin_finds_what_numpy_finds(tmp_path: Path, plugin: Path, on_full: str) -> None:
    (tmp_path / plugin.name).write_bytes(plugin.read_bytes())
    kernel = 'name = "plugin"\nfile = "local_maxima.so"\nparameters = { threshold = 10, min_maxima = 1 }'
    outcome = run(tmp_path, kernel, sink=on_full)
    assert outcome.good, outcome.problem or outcome.reasons
    status = outcome.buffers[0]
    assert {count.name: count.value for count in status.counts if count.group == "veto"}["too_few_maxima"] == 12
    assert status.unit == "2 threads: local_maxima (plugin local_maxima.so)"
    with open_run(tmp_path / "out" / "outside_main_master.h5") as stored:
        wanted = [local_maxima(image, 10) for image in images()]
        assert stored.tables.scalars["maxima"].tolist() == [len(found) for found in wanted]
        assert stored.frame_numbers.tolist() == list(range(0, FRAMES, 2))
        facts = stored.table_facts["local_maxima"]
        assert (facts.columns, facts.capacity) == (("x", "y", "value"), 2000)
        assert facts.rows == sum(map(len, wanted)) > 100
        for place, frame in enumerate(stored.frame_numbers):
            table = stored.table("local_maxima", place)
            assert list(zip(*(table[name].tolist() for name in facts.columns), strict=True)) == wanted[int(frame)]
            np.testing.assert_array_equal(stored.image(place), images()[int(frame)])
        name, parameters = stored.facts.kernels[0]
        assert (name, parameters["file"], len(parameters["sha256"])) == ("plugin", "local_maxima.so", 64)
        with pytest.raises(KeyError, match="has no table peaks; there are local_maxima"):
            stored.table("peaks", 0)


def test_a_table_lies_beside_lists_as_it_does_beside_images(tmp_path: Path, plugin: Path) -> None:
    (tmp_path / plugin.name).write_bytes(plugin.read_bytes())
    kernel = 'name = "plugin"\nfile = "local_maxima.so"\nparameters = { threshold = 10 }'
    outcome = run(tmp_path, f'{kernel}\n[[buffer.kernel]]\nname = "csr"\nthreshold = 5\ncapacity = 1.0')
    assert outcome.good, outcome.problem or outcome.reasons
    with open_run(tmp_path / "out" / "outside_main_master.h5") as stored:
        assert (stored.form, len(stored)) == ("sparse", FRAMES)
        for place, image in enumerate(images()):
            table = stored.table("local_maxima", place)
            assert list(zip(*(table[name].tolist() for name in ["x", "y", "value"]), strict=True)) == local_maxima(
                image, 10
            )
            index, _ = stored.sparse(place)
            np.testing.assert_array_equal(index, np.flatnonzero((image >= 5) & (image != 65535)))


def test_an_image_with_more_rows_than_there_is_room_for_is_errored_and_says_so(tmp_path: Path, plugin: Path) -> None:
    (tmp_path / plugin.name).write_bytes(plugin.read_bytes())
    kernel = 'name = "plugin"\nfile = "local_maxima.so"\nparameters = { threshold = 10, max_rows = 3 }'
    outcome = run(tmp_path, kernel)
    number, text = errored(outcome)
    assert number == 12
    assert "its table holds 3; set a larger max_rows" in text
    assert outcome.buffers[0].books.accepted == 12, "the others go on"
    assert not outcome.good


def test_a_python_function_finds_what_numpy_finds(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(
        python_kernel(
            """
@kernel(
    takes=["uint16"],
    columns=[Column("sum", "uint64", "photons"), Column("mean")],
    reasons=["dim"],
    table=[Column("row", "uint32"), Column("total", "float64")],
    table_rows=32,
)
def sums(pixels, *, least: int = 0, factor: float = 1.0):
    "Sums of rows."
    assert not pixels.flags.writeable and pixels.shape == (32, 64)
    good = np.where(pixels == 65535, 0, pixels).astype(np.int64)
    rows = good.sum(axis=1)
    bright = np.flatnonzero(rows > 180)
    return {"sum": good.sum(), "mean": good.mean()}, "dim" if good.sum() < least else None, {"row": bright, "total": rows[bright] * factor}
"""
        )
    )
    least = 5200
    kernel = f'name = "python"\nfunction = "sums:sums"\nparameters = {{ least = {least}, factor = 2.0 }}'
    outcome = run(tmp_path, kernel)
    assert outcome.good, outcome.problem or outcome.reasons
    assert outcome.buffers[0].unit == "2 threads: sums (python sums:sums, slow: one thread)"
    good = np.where(images() == 65535, 0, images()).astype(np.int64)
    sums = good.sum(axis=(1, 2))
    assert 0 < (sums >= least).sum() < FRAMES
    with open_run(tmp_path / "out" / "outside_main_master.h5") as stored:
        assert stored.tables.scalars["sum"].tolist() == sums.tolist()
        assert stored.tables.scalars["mean"].tolist() == good.mean(axis=(1, 2)).tolist()
        assert stored.frame_numbers.tolist() == np.flatnonzero(sums >= least).tolist()
        for place, frame in enumerate(stored.frame_numbers):
            rows = good[int(frame)].sum(axis=1)
            table = stored.table("sums", place)
            assert table["row"].tolist() == np.flatnonzero(rows > 180).tolist()
            assert table["total"].tolist() == (2.0 * rows[rows > 180]).tolist()


def test_what_a_python_function_raises_makes_that_image_errored_and_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(
        python_kernel(
            """
@kernel(takes=["uint16"], columns=[Column("largest", "uint32")])
def odd(pixels):
    largest = pixels[pixels < 65535].max()
    if largest < 10:
        raise ValueError("nothing to see\\nin this image")
    return {"largest": largest}
"""
        )
    )
    outcome = run(tmp_path, 'name = "python"\nfunction = "bad:odd"')
    assert errored(outcome) == (12, "kernel odd: ValueError: nothing to see (bad.py, line 9)")
    assert (outcome.buffers[0].books.accepted, outcome.buffers[0].books.written) == (12, 12)
    assert not outcome.good
    assert any("nothing to see" in reason for reason in outcome.reasons)


@pytest.mark.parametrize("where", ["import", "call"])
def test_output_stays_where_it_is_when_a_function_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.chdir(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    goes = f"import os; os.chdir({str(elsewhere)!r})"
    text = f"""
{goes if where == "import" else ""}
@kernel(takes=["uint16"], profile=[Column("I"), Column("I_errors")], axes=[Axis("q", [1.0, 2.0])])
def f(pixels):
    {goes}
    return {{"I": [pixels[0, 0], 2], "I_errors": np.zeros(2)}}
"""
    (tmp_path / "goes.py").write_text("from rashpa.data.kernels.kernel import Axis\n" + python_kernel(text))
    outcome = run(tmp_path, 'name = "python"\nfunction = "goes:f"', output="out")
    assert outcome.good, outcome.problem or outcome.reasons
    assert not list(elsewhere.iterdir())
    with open_run(tmp_path / "out" / "outside_main_master.h5") as stored:
        assert len(stored) == FRAMES
        assert stored.profile("f")["I"][:, 0].tolist() == images()[:, 0, 0].tolist()


def test_an_exception_that_has_no_words_is_told_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(
        python_kernel(
            """
class Mute(Exception):
    def __str__(self):
        raise RuntimeError("never")

@kernel(takes=["uint16"], columns=[Column("n")])
def f(pixels):
    raise Mute
"""
        )
    )
    assert errored(run(tmp_path, 'name = "python"\nfunction = "bad:f"')) == (
        FRAMES,
        "kernel f: raised what cannot be put into words",
    )


ANSWERS = {
    "None": "TypeError: it must return a dict with n, not None",
    "{'n': 1}, None": "it must return a dict with n, not ({'n': 1}, None)",
    "{'m': 1}": "ValueError: it gives no n",
    "{'n': 1, 'm': 2}": "ValueError: it gives m, which its @kernel does not declare in columns; declare it there, or leave it out",
    "{'n': -1}": "n is -1, which is not uint32",
    "{'n': 1.5}": "n is 1.5, which is not uint32",
    "{'n': 'many'}": "ValueError: n holds what is not uint32",
    "{'n': 3 + 0j}": "ValueError: n holds what is not uint32: complex128",
    "{'n': np.ma.masked}": "ValueError: n has masked values",
    "{'n': 2**40}": "n is 1099511627776, which is not uint32",
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_that_is_not_what_was_declared_is_told(tmp_path: Path, answer: str) -> None:
    text = f"@kernel(takes=['uint16'], columns=[Column('n', 'uint32')])\ndef f(pixels):\n    return ({answer})\n"
    (tmp_path / "bad.py").write_text(python_kernel(text))
    number, said = errored(run(tmp_path, 'name = "python"\nfunction = "bad:f"'))
    assert number == FRAMES
    assert ANSWERS[answer] in said


REFUSED = {
    "": "bad.py has no function f; define it there, with @kernel(…) before it",
    "f = 3": "bad.py has no function f; define it there",
    "@kernel(takes=['uint16'], columns=[Column('n')])\ndef g(pixels): pass": "bad.py has no function f; choose g",
    "def f(pixels): pass": "it does not declare what it makes",
    "raise KeyError('at import')": "cannot be imported: KeyError: 'at import'",
    "def f(": "cannot be imported: SyntaxError",
    "@kernel(takes=['uint16'], columns=[Column('n')])\ndef f(): pass": "it must take the pixels",
    "@kernel(takes=['uint16'], columns=[Column('n')])\ndef f(pixels, more): pass": "parameters by name only",
    "@kernel(takes=['uint16'], columns=[Column('n')])\ndef f(pixels, *, p): pass": "its parameter p must have a default",
    "@kernel(takes=['complex'], columns=[Column('n')])\ndef f(pixels): pass": "no pixels are 'complex'",
    "@kernel(takes=[], columns=[Column('n')])\ndef f(pixels): pass": "it takes no type of pixels",
    "@kernel(takes=['uint16'])\ndef f(pixels): pass": "it makes nothing",
    "@kernel(takes=['uint16'], columns=[Column('N')])\ndef f(pixels): pass": "the name of a column must be a small letter",
    "@kernel(takes=['uint16'], columns=[Column('n', 'int7')])\ndef f(pixels): pass": "column n: it has no type 'int7'; use uint32",
    "@kernel(takes=['uint16'], columns=[Column('n'), Column('n')])\ndef f(pixels): pass": "the column n is there twice",
    "@kernel(takes=['uint16'], table=[Column('n')])\ndef f(pixels): pass": "table_rows: 0 is not an integer from 1",
    "@kernel(takes=['int32'], columns=[Column('n')])\ndef f(pixels): pass": "f needs int32 pixels",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_function_that_is_no_kernel_is_refused_before_the_run(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.py").write_text(python_kernel(text))
    outcome = run(tmp_path, 'name = "python"\nfunction = "bad:f"')
    assert outcome.refused
    assert REFUSED[text] in str(outcome.problem)
    assert not (tmp_path / "out").exists(), "nothing is left of a run that never began"


def test_parameters_that_a_function_does_not_have_are_refused(tmp_path: Path) -> None:
    text = "@kernel(takes=['uint16'], columns=[Column('n')])\ndef f(pixels, *, least: int = 1): pass"
    (tmp_path / "bad.py").write_text(python_kernel(text))
    for parameters, why in {
        "{ most = 1 }": "most: there is no such parameter; choose one of least",
        "{ least = 1.5 }": "least: 1.5 is not of type int",
        "{ least = true }": "least: True is not of type int",
    }.items():
        outcome = run(tmp_path, f'name = "python"\nfunction = "bad:f"\nparameters = {parameters}')
        assert outcome.refused
        assert why in str(outcome.problem)


def test_a_node_that_allows_no_folder_loads_nothing_and_says_how_it_would(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("raise SystemExit('this code ran')")
    outcome = run(tmp_path, 'name = "python"\nfunction = "bad:f"', allowed=False)
    assert outcome.refused
    assert "runs no code from outside; start it with `rashpa receiver --kernels FOLDER`, where bad.py lies" in str(
        outcome.problem
    )


def test_a_plugin_that_is_none_and_parameters_out_of_bounds_are_refused(tmp_path: Path, plugin: Path) -> None:
    (tmp_path / plugin.name).write_bytes(plugin.read_bytes())
    (tmp_path / "text.so").write_text("no plugin")
    for kernel, why in {
        'file = "text.so"': "plugin text.so: cannot be loaded",
        'file = "local_maxima.so"\nparameters = { threshold = 0 }': "threshold: 0 is not an integer from 1 up to",
        'file = "local_maxima.so"\nparameters = { colour = "red" }': "colour: there is no such parameter; choose one of threshold, min_maxima, max_rows",
    }.items():
        outcome = run(tmp_path, f'name = "plugin"\n{kernel}')
        assert outcome.refused
        assert why in str(outcome.problem)


def test_a_check_without_a_node_says_what_is_missing_and_that_cuda_runs_no_code_from_outside(tmp_path: Path) -> None:
    with pytest.raises(
        RunFileError, match=r"run.toml:\d+: buffer\[0\].kernel\[0\]: there is no peaks.so in .*; put it there"
    ):
        run(tmp_path, 'name = "plugin"\nfile = "peaks.so"')
    (tmp_path / "peaks.so").write_text("")
    with pytest.raises(RunFileError, match=r"cuda does not run plugin peaks.so; set unit = \"cpu\""):
        run(tmp_path, 'name = "plugin"\nfile = "peaks.so"', settings='unit = "cuda"')
    with pytest.raises(RunFileError, match=r"it must be the name of a file without its folder"):
        run(tmp_path, 'name = "plugin"\nfile = "../peaks.so"')
    with pytest.raises(RunFileError, match=r"it must be module:function, such as hits:spots"):
        run(tmp_path, 'name = "python"\nfunction = "os.path:join"')


SLOW = """
@kernel(takes=["uint16"], columns=[Column("n", "uint32")])
def f(pixels):
    end = time.monotonic() + 0.2
    n = 0
    while time.monotonic() < end:
        n += 1
    return {"n": n}
"""


@pytest.fixture
def slow_engine(tmp_path: Path) -> Iterator[Any]:
    """Yield a receiver whose kernel takes 0.2 s for an image, with images waiting in it, and the emulator that sent them."""
    from rashpa.control.orders.plan_telegrams import destination_telegram, source_telegram
    from rashpa.control.telegrams.telegram import Arm

    (tmp_path / "slow.py").write_text(python_kernel(SLOW))
    np.save(tmp_path / "frames.npy", images())
    path = tmp_path / "run.toml"
    path.write_text(
        RUN.format(
            folder=tmp_path,
            kernel='name = "python"\nfunction = "slow:f"',
            settings="",
            sink="",
            output=tmp_path / "out",
        )
    )
    plan = load_plan(path)
    everywhere = [Path("/")]
    folders = Folders(everywhere, everywhere, tmp_path)
    receiver = NativeFactory("receiver", folders=folders).make(destination_telegram(plan, plan.receivers[0]))
    made = receiver.configured("receiver")
    ids = [dtp.id for buffer in plan.buffers for dtp in buffer.dtps]
    ends = dict(zip(ids, zip(made.endpoints, made.placements, strict=True), strict=True))
    emulator = NativeFactory("emulator").make(source_telegram(plan, plan.emulators[0], ends))
    receiver.arm(Arm(endpoints=emulator.configured("emulator").endpoints))
    receiver.start()
    emulator.start()
    eventually(lambda: receiver.status().buffers[0].books.complete >= 10)  # type: ignore[union-attr]
    yield receiver
    emulator.abort()


def test_the_node_answers_while_a_python_function_computes_and_ends_when_told(slow_engine: Any) -> None:
    longest = 0.0
    for _ in range(20):
        before = time.monotonic()
        slow_engine.status()
        longest = max(longest, time.monotonic() - before)
    assert longest < 0.15, "the interpreter's lock is given up between steps of the function, every 5 ms"
    before = time.monotonic()
    slow_engine.abort()
    # what is begun is finished: a stack of ten images
    assert time.monotonic() - before < 10


def test_an_engine_that_is_let_go_of_while_a_function_computes_does_not_stand_still(slow_engine: Any) -> None:
    before = time.monotonic()
    del slow_engine._engine
    assert time.monotonic() - before < 10


def test_the_control_plane_of_a_node_goes_on(slow_engine: Any) -> None:
    async def beats() -> float:
        longest = 0.0
        for _ in range(50):
            before = time.monotonic()
            await asyncio.sleep(0.001)  # wait: how late it returns is measured
            longest = max(longest, time.monotonic() - before)
        return longest

    assert asyncio.run(beats()) < 0.15
    slow_engine.abort()


def test_a_function_for_devices_is_refused_by_the_processor_and_one_for_the_processor_by_devices(
    tmp_path: Path,
) -> None:
    (tmp_path / "both.py").write_text(
        python_kernel(
            """
@kernel(takes=["uint16"], columns=[Column("a")], on_device=True)
def device(images):
    raise AssertionError("never called")

@kernel(takes=["uint16"], columns=[Column("a")], table=[Column("b")], table_rows=3, on_device=True)
def tables(images):
    raise AssertionError("never called")
"""
        )
    )
    refused = run(tmp_path, 'name = "python"\nfunction = "both:device"')
    assert "unit cpu has no version of the kernel device; choose another unit" in str(refused.problem)
    refused = run(tmp_path, 'name = "python"\nfunction = "both:tables"')
    assert "a function on a device makes neither tables nor profiles" in str(refused.problem)
