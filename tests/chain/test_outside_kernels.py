# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of foreign kernels as their pages say, with real compilers, processes and files."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

from rashpa.data.stored.reader import Run, open_run
from rashpa.testing.typed_run import good_run

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "kernels"
RASHPA = [sys.executable, "-m", "rashpa.cli.entry"]


def copied(folder: Path, name: str) -> Path:
    """Return a copy of the example with fewer frames, without a rate, and with its output beside it."""
    for file in (EXAMPLES / name).iterdir():
        if file.suffix != ".so":
            shutil.copy(file, folder)
    run_file = folder / f"{name}.toml"
    text = run_file.read_text(encoding="utf-8")
    for key, value in {"frames": "60", "output": f'"{folder}/out"', "rate_hz": "0.0"}.items():
        text, count = re.subn(rf"(?m)^{key} = \S+", f"{key} = {value}", text, count=1)
        assert count == 1, key
    run_file.write_text(text, encoding="utf-8")
    return run_file


def rashpa(*arguments: str, folder: Path) -> tuple[int, str]:
    done = subprocess.run([*RASHPA, *arguments], cwd=folder, capture_output=True, text=True, timeout=240)
    return done.returncode, done.stdout + done.stderr


def compile_as_documented(folder: Path) -> None:
    """Run the compile command of the page, with this folder in place of the example's."""
    page = (EXAMPLES / "local_maxima" / "README.md").read_text(encoding="utf-8")
    command = next(line for line in page.splitlines() if line.startswith("cc "))
    target = "-o examples/kernels/local_maxima/local_maxima.so"
    assert command.endswith(target)
    command = f"{command.removesuffix(target)}-o {folder}/local_maxima.so"
    subprocess.run(command.split(), cwd=ROOT, check=True, timeout=120)
    for other in ("docs/how-to/add_a_kernel.md", "examples/kernels/local_maxima/local_maxima.toml"):
        assert command.partition(" -o ")[0] in (ROOT / other).read_text(encoding="utf-8")


def test_the_plugin_of_the_examples_stores_the_peaks_that_numpy_finds(tmp_path: Path) -> None:
    file = copied(tmp_path, "local_maxima")
    code, output = rashpa("run", str(file), folder=tmp_path)
    assert code == 2
    assert "there is no local_maxima.so in" in " ".join(output.split())
    assert not (tmp_path / "out").exists()
    compile_as_documented(tmp_path)
    _, report = good_run(file.read_text(), tmp_path)
    assert report["books"]["balanced"]
    assert "local_maxima (plugin local_maxima.so)" in report["buffers"][0]["unit"]
    with open_run(tmp_path / "out" / "local_maxima_main_master.h5") as run:
        assert len(run) > 10
        assert "too_few_maxima" in run.veto_reasons
        for place in range(len(run)):
            check_peaks(run, place)
        counted = run.tables.counted("maxima")
        assert (counted[run.frame_numbers] >= 5).all()
    code, output = rashpa("inspect", str(tmp_path / "out" / "local_maxima_main_master.h5"), folder=tmp_path)
    assert code == 0, output
    assert re.search(r"table local_maxima\s+\d+ rows of x, y, value", output)


def check_peaks(run: Run, place: int) -> None:
    """Check the peaks of a stored image, with the threshold of the example."""
    image = run.image(place)
    height, width = image.shape
    padded = np.full((height + 2, width + 2), np.iinfo(np.int32).min, np.int32)
    padded[1:-1, 1:-1] = np.where(image == np.iinfo(np.int16).min, padded[0, 0], image)
    largest = padded[1:-1, 1:-1] >= 8
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            other = padded[1 + dy : height + 1 + dy, 1 + dx : width + 1 + dx]
            if (dy, dx) != (0, 0):
                largest &= image > other if (dy, dx) < (0, 0) else image >= other
    y, x = np.nonzero(largest)
    table = run.table("local_maxima", place)
    np.testing.assert_array_equal(table["x"], x)
    np.testing.assert_array_equal(table["y"], y)
    np.testing.assert_array_equal(table["value"], image[y, x])


def test_the_python_function_of_the_examples_finds_what_numpy_finds(tmp_path: Path) -> None:
    file = copied(tmp_path, "hits")
    _, report = good_run(file.read_text(), tmp_path)
    assert report["books"]["balanced"]
    assert "spots (python hits:spots, slow: one thread)" in report["buffers"][0]["unit"]
    with open_run(tmp_path / "out" / "hits_main_master.h5") as run:
        assert len(run) > 10
        assert run.summary().vetoes["too_few_bright"] > 0
        for place, frame in enumerate(run.frame_numbers):
            image = run.image(place)
            y, x = np.nonzero(image >= 8)
            assert x.size >= 30
            scalars = {name: column[int(frame)] for name, column in run.tables.scalars.items()}
            assert scalars["bright"] == x.size
            assert scalars["centre_x"] == np.average(x, weights=image[y, x].astype(np.float64))
            assert scalars["centre_y"] == np.average(y, weights=image[y, x].astype(np.float64))
        assert dict(run.facts.kernels)["python"]["function"] == "hits:spots"


def test_a_receiver_that_was_started_by_hand_loads_code_only_from_the_folder_that_it_was_given(tmp_path: Path) -> None:
    file = copied(tmp_path, "hits")
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    shutil.move(tmp_path / "hits.py", allowed / "hits.py")
    token = {**os.environ, "RASHPA_TOKEN": "a-token-of-this-test-0123456789"}
    for option, good in (((), False), (("--kernels", str(allowed)), True)):
        command = [sys.executable, "-m", "rashpa.cli.entry", "receiver", "--port", "0", "--write", str(tmp_path)]
        with subprocess.Popen([*command, *option], stdout=subprocess.PIPE, text=True, env=token) as node:
            try:
                assert node.stdout is not None
                url = json.loads(node.stdout.readline())["url"]
                running = tmp_path / "running.toml"
                running.write_text(f'{file.read_text()}\n[nodes]\nreceiver = "{url}"\n')
                done = subprocess.run(
                    [*RASHPA, "run", str(running)], cwd=tmp_path, capture_output=True, text=True, timeout=240, env=token
                )
            finally:
                node.terminate()
        said = " ".join((done.stdout + done.stderr).split())
        if good:
            assert done.returncode == 0, said
        else:
            assert done.returncode == 2, said
            assert (
                "runs no code from outside; start it with `rashpa receiver --kernels FOLDER`, where hits.py lies"
                in said
            )
