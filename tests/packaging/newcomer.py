# SPDX-License-Identifier: Apache-2.0
"""Follows the tutorial from the wheel in build/wheel/dist to a live image in a browser: it types the tutorial's commands in a new folder, and
measures the time.

Usage: python -m tests.packaging.newcomer [--json FILE]. Exit status 1 when it takes longer than the tutorial says. Pip gets packages from this
machine's configured index, with the versions of requirements/run.lock.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

from playwright.sync_api import sync_playwright
from tests.browser.conftest import CHROMIUM, OPTIONS
from tests.browser.dashboard_site import View

ROOT = Path(__file__).resolve().parents[2]
MOST_S = 180.0
SECTION = "## Install and watch"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def main() -> int:
    """Return the exit status."""
    install, file, dashboard = _blocks()
    if sys.version_info >= (3, 12):
        install = install.replace("cp311", "abi3")  # as the tutorial says
    with tempfile.TemporaryDirectory(prefix="newcomer-") as name:
        folder = Path(name)
        for wheel in (ROOT / "build" / "wheel" / "dist").glob("rashpa-*.whl"):
            shutil.copy(wheel, folder)
        locked = re.findall(r"^[A-Za-z0-9_.-]+==[^ ]+", (ROOT / "requirements/run.lock").read_text(), re.MULTILINE)
        (folder / "constraints.txt").write_text("\n".join(locked))
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("RASHPA", "PYTHON"))}
        environment |= {"PIP_CONSTRAINT": str(folder / "constraints.txt"), "PYTHONUNBUFFERED": "1"}
        began = time.monotonic()
        subprocess.run(["bash", "-ec", install], cwd=folder, env=environment, check=True)
        installed_s = time.monotonic() - began
        (folder / "first.toml").write_text(file)
        script = f". rashpa/bin/activate\nexec {dashboard}"
        server = subprocess.Popen(
            ["bash", "-c", script], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
        )
        try:
            seen_s = _until_seen(server, began)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(60)
    print(f"newcomer: installed after {installed_s:.0f} s, a live image after {seen_s:.0f} s")
    if "--json" in sys.argv:
        figures = {"installed_s": round(installed_s, 1), "live_image_s": round(seen_s, 1)}
        Path(sys.argv[sys.argv.index("--json") + 1]).write_text(json.dumps(figures) + "\n")
    return int(seen_s > MOST_S)


def _blocks() -> tuple[str, str, str]:
    """Return the tutorial's texts: the installation, the run file, and the commands after it."""
    text = (ROOT / "docs" / "tutorials" / "from_a_wheel.md").read_text(encoding="utf-8")
    part = text[text.index(SECTION) :].partition("\n## ")[0]
    (_, install), (_, file), (_, dashboard) = _FENCE.findall(part)
    return install, file, dashboard


def _until_seen(server: "subprocess.Popen[str]", began: float) -> float:
    """Open the page, start the run, and wait for its image and its end; return the seconds."""
    assert server.stdout is not None
    url = server.stdout.readline().removeprefix("dashboard: ").strip()
    token = server.stdout.readline().removeprefix("token for orders: ").strip()
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        view = View(browser, SimpleNamespace(url=url), MOST_S)  # type: ignore[arg-type]
        view.unlock(token)
        view.start()
        view.until(lambda: re.search(r"frame [\d,]+, image", view.text("image_facts")) is not None)
        seen_s = time.monotonic() - began
        view.end("Stop…")
        browser.close()
    return seen_s


if __name__ == "__main__":
    sys.exit(main())
