# SPDX-License-Identifier: Apache-2.0
"""Tests runs in which a simulated card plays the DTPs, as a user starts them: books, pixels, the report, and that no process or file is left."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the bitshuffle filter)
import numpy as np
import pytest
from numpy.typing import NDArray

from rashpa.control.nodes.native_program import native_program
from rashpa.node.engine.engine import EngineError
from rashpa.node.engine.simulated_card import SimulatedCard
from rashpa.testing.waiting import eventually

EXAMPLES = Path(__file__).parents[2] / "examples"
M049 = EXAMPLES.parents[1] / "shared" / "data" / "jungfrau_m049"
COMMAND = [sys.executable, "-m", "rashpa.cli.entry", "run"]
ON_CARD = re.compile(r'engine = "fpga"\ncard = "sim".*\n')

pytestmark = pytest.mark.skipif(
    native_program("rashpa_card") is None, reason="no simulated card: Verilator was not there when rashpa was built"
)


def played(folder: Path, text: str, name: str, page: str = "--no-page") -> tuple[str, dict[str, Any]]:
    """Carry out a run that must be good, with its files in `folder`/`name`; return output and report. `page`: the option that decides whether there
    is a report page."""
    file = folder / f"{name}.toml"
    file.write_text(re.sub(r'(?m)^output = "out.*', f'output = "{name}"', text), encoding="utf-8")
    report = folder / f"{name}_report"
    done = subprocess.run(
        [*COMMAND, str(file), page, "--output", str(report)], cwd=folder, capture_output=True, text=True, timeout=400
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    return output, json.loads((report / "report.json").read_text())


def images(folder: Path, name: str) -> dict[int, NDArray[Any]]:
    """Return the stored images by frame number."""
    (master,) = (folder / name).glob("*_master.h5")
    with h5py.File(master) as file:
        data, numbers = np.asarray(file["/entry/data/data"]), file["/entry/data/frame_number"][:]
    return dict(zip(numbers.tolist(), data, strict=True))


def example() -> str:
    return (EXAMPLES / "08_card.toml").read_text(encoding="utf-8")


def without_faults(text: str) -> str:
    return re.sub(r"(?m)^(drop|corrupt) = .*", r"\1 = 0.0", text)


def test_the_example_balances_its_books_and_its_faults_are_those_of_the_log(tmp_path: Path) -> None:
    output, report = played(tmp_path, example(), "card", "--page")
    books, injected = report["books"], report["injected"]
    assert books["balanced"]
    assert books["expected"] == 60
    assert books["partial"] + books["missing"] > 0
    assert injected["drop"] > 0
    assert injected["corrupt"] > 0
    assert injected["unexplained"] == 0
    (emulator,) = report["emulators"]
    card = emulator["card"]
    assert emulator["engine"] == "fpga"
    assert card["simulated"]
    assert card["faults"] == injected["drop"] + injected["corrupt"]
    assert report["link"]["icrc_bad"] == injected["corrupt"]
    assert card["images"] == 120
    assert card["cycles"] > card["bytes"] / 64
    assert report["rates"]["payload_gb_per_s"] is None
    assert "GB/s" not in output
    assert f"{card['cycles']:,} cycles" in output
    assert "GB/s" not in (tmp_path / "card_report" / "report.html").read_text().split("</script>")[-1]


def test_pixels_are_those_of_the_software_engine(tmp_path: Path) -> None:
    text = without_faults(example())
    played(tmp_path, text, "card")
    _, report = played(tmp_path, ON_CARD.sub("", text), "software")
    assert report["emulators"][0]["card"] is None
    assert report["rates"]["payload_gb_per_s"] > 0
    by_card, by_software = images(tmp_path, "card"), images(tmp_path, "software")
    assert len(by_card) == 54, "six of sixty frames are dark"
    assert by_card.keys() == by_software.keys()
    for number, image in by_card.items():
        np.testing.assert_array_equal(image, by_software[number], err_msg=f"frame {number}")


@pytest.mark.skipif(not M049.is_dir(), reason="the recorded frames are not on this machine")
def test_recorded_frames_go_through_a_card(tmp_path: Path) -> None:
    text = (
        (EXAMPLES / "03_recorded_jungfrau.toml")
        .read_text(encoding="utf-8")
        .replace("../../shared/data/jungfrau_m049", str(M049))
    )
    text = text[: text.index("[[buffer]]                  # photons")]
    text = text.replace('name = "kev"\n', 'name = "kev"\nregion = [400, 200, 128, 64]\ndeadline_ms = 20000\n')
    card = '[[emulator]]\nname = "detector"\nengine = "fpga"\ncard = "sim"\n\n[[buffer]]'
    _, report = played(tmp_path, text.replace("[[buffer]]", card), "card")
    assert report["books"]["complete"] == 10
    played(tmp_path, text, "software")
    by_card, by_software = images(tmp_path, "card"), images(tmp_path, "software")
    assert list(by_card) == list(range(10))
    for number, image in by_card.items():
        np.testing.assert_array_equal(image, by_software[number], err_msg=f"frame {number}")


def test_a_card_ends_with_its_owner_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    card = SimulatedCard()
    assert card.directory.parent == tmp_path
    assert (card.directory / "xdma0_user").is_file()
    card.close()
    assert not list(tmp_path.iterdir())
    card.close()


def test_a_card_ends_when_its_owner_is_killed(tmp_path: Path) -> None:
    said = (
        "import signal\nfrom rashpa.node.engine.simulated_card import SimulatedCard\ncard = SimulatedCard()\n"
        "print(card.directory, flush=True)\nsignal.pause()\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", said], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    directory = Path(owner.stdout.readline().strip())
    assert (directory / "xdma0_user").is_file()
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    eventually(lambda: not (directory / "xdma0_user").exists())
    assert not (directory / "xdma0_user").exists()
    directory.rmdir()


def test_where_there_is_no_program_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stub = tmp_path / "python"
    stub.write_text("#!/bin/sh\necho 'rashpa card: there is no program rashpa_card; install verilator' >&2\nexit 2\n")
    stub.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stub))
    with pytest.raises(EngineError, match=r"the simulated card did not start: rashpa card: .* install verilator"):
        SimulatedCard()
