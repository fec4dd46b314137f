# SPDX-License-Identifier: Apache-2.0
"""Keep small files that this version writes in tests/releases/VERSION, for tests of later versions: `python tools/release/keep_files.py`.

One run stores six images of 48 x 32 pixels as HDF5 (all of them, lists of bright pixels, sums) and as raw files. Its report, its run file and one
telegram of each kind are stored, too.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]
IMAGES, HEIGHT, WIDTH = 6, 32, 48
RUN = f"""\
# SPDX-License-Identifier: Apache-2.0
[run]
name = "kept"
frames = {IMAGES}
output = "out"
[detector]
width = {WIDTH}
height = {HEIGHT}
energy_kev = 12.4
[[detector.module]]
x = 0
y = 0
[dataset]
kind = "files"
files = [["frames.npy"]]
[receiver]
port = 0
[[buffer]]
name = "full"
slots = 6
stack = 3
deadline_ms = 20000
kernel = [{{ name = "bragg_count", threshold = 100, min_pixels = 1, max_pixels = 10000 }}, {{ name = "accumulate" }}]
sink = [{{ kind = "hdf5" }}]
[[buffer]]
name = "lists"
slots = 6
stack = 2
deadline_ms = 20000
kernel = [{{ name = "csr", threshold = 100, capacity = 0.5 }}]
sink = [{{ kind = "hdf5" }}]
[[buffer]]
name = "raw"
slots = 6
stack = 3
deadline_ms = 20000
sink = [{{ kind = "raw" }}]
"""


def frames() -> NDArray[np.uint16]:
    """Return the images of the run; tests/releases/test_releases.py computes them independently, and compares."""
    return np.random.default_rng(30).integers(0, 120, (IMAGES, HEIGHT, WIDTH)).astype(np.uint16)


def main() -> None:
    """Make the files in a new folder. Exit with an error when it exists."""
    version = subprocess.run(
        [ROOT / "tools/release/version.sh"], capture_output=True, text=True, check=True
    ).stdout.strip()
    place = ROOT / "tests/releases" / version
    if place.exists():
        sys.exit(f"{place}: files of this version are kept already; remove the folder to make them again")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "frames.npy", frames())
        (folder / "run.toml").write_text(RUN)
        words = ["run", "run.toml", "--quiet", "--output", "report", "--no-page"]
        subprocess.run([sys.executable, "-m", "rashpa.cli.entry", *words], cwd=folder, check=True)
        place.mkdir()
        shutil.copytree(folder / "out", place / "out", ignore=shutil.ignore_patterns("*.lock", ".*"))
        shutil.copy(folder / "report/report.json", place)
        shutil.copy(folder / "run.toml", place)
    shutil.copytree(ROOT / "schema/golden", place / "telegrams", ignore=shutil.ignore_patterns("*.py", "*.json"))


if __name__ == "__main__":
    main()
