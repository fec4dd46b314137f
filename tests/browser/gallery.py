# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of docs/gallery.md from a slower examples/01_first_light.toml: the page of a run in a browser and on a telephone, and the run's
report.

Usage: python -m tests.browser.gallery [FOLDER], by default docs/how-to/pictures. `make gallery` runs it.
"""

import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright
from tests.browser.conftest import CHROMIUM, OPTIONS
from tests.browser.dashboard_site import TOKEN, View

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "01_first_light.toml"
SLOWER = "rate_hz = 200.0", "rate_hz = 30.0"
PATIENCE_S = 180.0


def shot(page: Any, path: Path, height: int) -> None:
    """Take a picture of the top of a page."""
    taken = page.screenshot(
        clip={"x": 0, "y": 0, "width": page.viewport_size["width"], "height": height}, full_page=True
    )
    with Image.open(io.BytesIO(taken)) as picture:
        picture.convert("RGB").save(path, quality=80, method=6)


def main() -> int:
    """Return the exit status."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "how-to" / "pictures").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as play:
        file = Path(name) / EXAMPLE.name
        text = EXAMPLE.read_text()
        assert SLOWER[0] in text
        file.write_text(text.replace(*SLOWER))  # a minute and more: browsers need time to be opened and drawn
        command = [sys.executable, "-m", "rashpa.cli.entry", "dashboard", str(file), "--port", "0"]
        environment = {**os.environ, "RASHPA_TOKEN": TOKEN}
        server = subprocess.Popen(command, cwd=name, stdout=subprocess.PIPE, env=environment, text=True)
        assert server.stdout is not None
        site: Any = SimpleNamespace(url=server.stdout.readline().removeprefix("dashboard: ").strip())
        browser = play.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        try:
            phone = View(browser, site, PATIENCE_S, width=600)
            view = View(browser, site, PATIENCE_S)
            view.unlock()
            view.start()
            view.until(lambda: view.books() and min(row["complete"] for row in view.books().values()) > 100)
            view.until(lambda: "frame" in view.text("image_facts"))
            phone.until(lambda: "frame" in phone.text("image_facts"))
            shot(view.page, folder / "gallery_page.webp", 800)
            view.page.emulate_media(color_scheme="dark")
            view.page.wait_for_timeout(3000)  # legends are coloured every two seconds
            shot(view.page, folder / "page_dark.webp", 800)
            view.page.emulate_media(color_scheme="light")
            shot(phone.page, folder / "gallery_phone.webp", 900)
            phone.close()
            view.until(lambda: view.state == "ended" and "data-good" in view.text("alerts"))
            (report,) = Path(name).rglob("report.html")
            page = browser.new_page(viewport={"width": 1100, "height": 900})
            page.goto(report.as_uri())
            page.wait_for_timeout(3000)
            shot(page, folder / "gallery_report.webp", 1800)
        finally:
            browser.close()
            server.terminate()
            server.wait(60)
    return 0


if __name__ == "__main__":
    sys.exit(main())
