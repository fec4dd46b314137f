# SPDX-License-Identifier: Apache-2.0
"""Runs a dashboard as a process, and reads its page as a user sees it."""

import base64
import functools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from tests.browser.conftest import PICTURES

TOKEN = "a-token-of-tests"
RUN = """\
[run]
name = "seen"
frames = 1000000
output = "{folder}/out"
existing = "replace"
[detector]
width = 256
height = 128
rate_hz = 40.0
pixel_size_m = 0.0005
module = [{{ x = 0, y = 0 }}, {{ x = 0, y = 140 }}]
[dataset]
kind = "pattern"
modules = 2
width = 256
height = 128
[receiver]
port = 0
[[emulator]]
name = "upper"
[[emulator]]
name = "lower"
[[buffer]]
name = "all"
slots = 40
stack = 4
[[buffer.sink]]
kind = "hdf5"
[[buffer]]
name = "part"
region = [10, 10, 100, 60]
every = 2
slots = 40
stack = 4
[[buffer.kernel]]
name = "total_counts"
[[buffer.kernel]]
name = "veto"
keep = "total_counts > 196600000"
reason = "dim"
[[buffer.sink]]
kind = "null"
[[buffer]]
name = "found"
every = 2
slots = 40
stack = 4
[[buffer.kernel]]
name = "azimuthal"
poni = "{folder}/flat.poni"
bins = 40
[[buffer.kernel]]
name = "peakfinder8"
threshold = 64800
min_snr = 1.2
min_pixels = 1
[[buffer.sink]]
kind = "null"
[faults]
seed = 4
drop = 0.004
"""
PONI = """\
poni_version: 2.1
Detector: Detector
Detector_config: {"pixel1": 0.0005, "pixel2": 0.0005, "max_shape": [268, 256], "orientation": 3}
Distance: 0.1
Poni1: 0.067
Poni2: 0.064
Rot1: 0
Rot2: 0
Rot3: 0
Wavelength: 1e-10
"""
GROUP = """\
[run]
name = "dealt"
frames = 1000000
output = "{folder}/out"
existing = "replace"
[detector]
width = 64
height = 32
rate_hz = 40.0
[[detector.module]]
x = 0
y = 0
[[detector.module]]
x = 0
y = 32
[dataset]
kind = "pattern"
modules = 2
width = 64
height = 32
[[receiver]]
name = "a"
port = 0
[[receiver]]
name = "b"
port = 0
[[group]]
name = "farm"
receivers = ["a", "b"]
response_ms = 3000
[[buffer]]
name = "full"
group = "farm"
slots = 40
stack = 4
deadline_ms = 20000
sink = [{{ kind = "null" }}]
"""
NUMBERS = ("expected", "complete", "partial", "missing", "accepted", "vetoed", "errored", "written")


def base_of(url: str) -> str:
    """Return a printed URL without its token."""
    return url.partition("?")[0]


class Site:
    """Holds the server of the page. `folder`: contains the run file, and all files that runs write."""

    def __init__(self, folder: Path, name: str = "seen", run: str = RUN, options: Sequence[str] = ()) -> None:
        self.folder, self.name = folder, name
        self.held: tuple[dict[str, Any], dict[str, Any]] = {}, {}  # images that the page has shown, for the next test
        self.run_file = folder / "run.toml"
        self.run_file.write_text(run.format(folder=folder))
        (folder / "flat.poni").write_text(PONI)
        command = [sys.executable, "-m", "rashpa.cli.entry", "dashboard", str(self.run_file), "--port", "0", *options]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, env={**os.environ, "RASHPA_TOKEN": TOKEN}, text=True
        )

    @functools.cached_property
    def url(self) -> str:
        """Return the printed URL; wait until the server prints it. Several servers may start at the same time."""
        assert self._process.stdout is not None
        url = self._process.stdout.readline().removeprefix("dashboard: ").strip()
        if not url.startswith("http"):
            self._process.communicate()
            raise AssertionError("the dashboard says on standard error why it does not come up")
        return url

    @property
    def base(self) -> str:
        """Return the address without its token."""
        return base_of(self.url)

    def cookies(self) -> httpx.Cookies:
        """Return the cookies of a browser that has opened the page."""
        opened = httpx.get(self.url, verify=False)  # certificates of tests are nobody's
        assert opened.status_code == 303
        return opened.cookies

    @property
    def journal(self) -> Path:
        return self.folder / "out" / f"{self.name}_attach.json"

    def newest_report(self) -> Path:
        return max((self.folder / "out" / "reports").iterdir(), key=lambda path: path.name)

    def pid_of(self, node: str) -> int:
        nodes = json.loads(self.journal.read_text())["nodes"]
        return next(int(known["pid"]) for known in nodes if known["name"] == node)

    def close(self) -> None:
        if self.journal.exists():  # of a test that failed
            for known in json.loads(self.journal.read_text())["nodes"]:
                os.kill(known["pid"], signal.SIGKILL)
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate(timeout=30)
        assert self._process.returncode == 0


class View:
    """Holds the page in a browser."""

    def __init__(
        self,
        browser: Any,
        site: Site,
        patience_s: float,
        width: int = 1280,
        before: Callable[[Any], None] = lambda page: None,
        **context: Any,
    ) -> None:
        """Open the page. `before`: called with the page before it is opened."""
        self.site = site
        self.foreign: list[str] = []
        self.complaints: list[str] = []
        # certificates of tests are nobody's
        self.page = browser.new_page(viewport={"width": width, "height": 800}, ignore_https_errors=True, **context)
        self.page.set_default_timeout(1e3 * patience_s)
        self._patience_s = patience_s
        self.page.on("request", self._requested)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        before(self.page)
        self.page.goto(site.url)
        self.until_there()

    def until_there(self, also: str = "true") -> None:
        """Wait until the page is loaded, also after it reloads itself."""
        self.page.wait_for_function(f"() => {also} && window.Bokeh?.documents?.length > 0 && window.rashpaImage")

    def _requested(self, request: Any) -> None:
        if not request.url.startswith((base_of(self.site.url), "data:", "blob:")):
            self.foreign.append(request.url)

    def unlock(self, token: str = TOKEN) -> None:
        """Type the token and press Enter; the right token reloads the page."""
        self.page.get_by_label("token").fill(token)
        self.page.get_by_label("token").press("Enter")
        refused = "document.getElementById('lock_text')?.innerText.startsWith('✖')"
        self.page.wait_for_function(f"() => document.getElementById('lock') === null || {refused}")
        if self.page.locator("#lock").count() == 0:
            self.until_there()

    def tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name).click()

    def part(self, name: str) -> str:
        """Return a part of the line of state."""
        found = self.page.locator(f"#head [data-part='{name}']")
        return str(found.inner_text()) if found.count() else ""

    def button(self, name: str) -> Any:
        return self.page.get_by_role("button", name=name, exact=not name.endswith(" "))

    def press(self, name: str) -> None:
        button = self.button(name)
        self.until(lambda: button.is_enabled())
        button.click()

    @property
    def state(self) -> str:
        return str(self.page.locator(".state").get_attribute("data-state"))

    @property
    def good(self) -> bool | None:
        """Return the verdict on the run that the page shows from the report, None when there is none yet."""
        found = self.page.locator("[data-good]")
        return found.first.get_attribute("data-good") == "True" if found.count() else None

    def until(self, true: Any, seconds: float | None = None) -> float:
        """Wait until `true` holds; return the seconds that it took."""
        began = time.monotonic()
        ends = began + (seconds or self._patience_s)
        while not true():
            assert time.monotonic() < ends, self.texts()
            self.page.wait_for_timeout(50)
        return time.monotonic() - began

    def texts(self) -> dict[str, str]:
        """Return the texts of the page, to explain a failed test."""
        return {
            name: self.text(name) for name in ("head", "books", "nodes", "said", "lock_text", "image_facts", "alerts")
        }

    def text(self, name: str) -> str:
        """Return the text of a part of the page."""
        said = """name => document.getElementById(name)?.innerHTML ?? Bokeh.documents[0].get_model_by_name(name).text"""
        return str(self.page.evaluate(said, name))

    def books(self) -> dict[str, dict[str, int]]:
        """Return the books of each buffer that the page shows."""
        return {
            name: dict(zip(NUMBERS, (int(text.replace(",", "")) for text in cells), strict=True))
            for name, *cells in self._rows("table.books")
        }

    def _rows(self, table: str) -> list[list[str]]:
        """Return the rows of a table at one moment, because the page changes continuously."""
        said = "rows => rows.map(row => Array.from(row.cells, cell => cell.innerText))"
        return list(self.page.locator(f"{table} tbody tr").evaluate_all(said))

    def start(self) -> None:
        self.press("Start")
        self.until(lambda: self.state == "running")

    def order(self, order: str) -> None:
        """Give the order Stop or Abort, and confirm it."""
        self.press(order)
        self.press("Yes, ")

    def until_ended(self) -> None:
        self.until(lambda: self.state == "ended" and self.good is not None)

    def end(self, order: str) -> None:
        self.order(order)
        self.until_ended()

    def nodes(self) -> dict[str, str]:
        """Return the state of each node, by name."""
        return {row[0]: row[1] for row in self._rows("table.nodes")}

    def data(self, name: str) -> dict[str, list[Any]]:
        """Return the data of a Bokeh source, empty before it has any."""
        said = """name => Object.fromEntries(Object.entries(Bokeh.documents[0].get_model_by_name(name)?.data ?? {})
            .map(([key, values]) => [key, Array.from(values)]))"""
        return dict(self.page.evaluate(said, name))

    def drawn(self) -> dict[str, Any]:
        """Return the drawn image: its frame number and its place."""
        said = """() => { const {image, x, y, dw, dh, number} = Bokeh.documents[0].get_model_by_name('image_data').data
            return {shape: image[0].shape, x: x[0], y: y[0], dw: dw[0], dh: dh[0], number: number[0],
                    frame: window.rashpaImage.drawnLast?.facts.frame ?? null} }"""
        return dict(self.page.evaluate(said))

    def image(self) -> dict[str, Any]:
        """Return the drawn image as `drawn` does, with its values."""
        return {**self.drawn(), "values": self._numbers("value[0]", "Float64Array")}

    def _numbers(self, which: str, kind: str) -> np.ndarray[Any, np.dtype[Any]]:
        """Return numbers from the data of the image. They are read as one text, because Playwright takes seconds to read them one by one."""
        said = f"""() => {{ const {{image, value}} = Bokeh.documents[0].get_model_by_name('image_data').data
            const bytes = new Uint8Array({kind}.from({which}).buffer), parts = []
            for (let n = 0; n < bytes.length; n += 4096) parts.push(String.fromCharCode(...bytes.subarray(n, n + 4096)))
            return btoa(parts.join('')) }}"""
        types = {"Float64Array": np.float64, "Uint32Array": np.uint32}
        return np.frombuffer(base64.b64decode(self.page.evaluate(said)), types[kind])

    def hold(self) -> None:
        self.button("hold").click()
        self.until(lambda: "held" in self.text("image_facts"))

    def zoom(self, share: float) -> tuple[float, float]:
        """Zoom into the middle of the image; return the first and last visible column."""
        said = """share => { const {x_range, y_range} = Bokeh.documents[0].get_model_by_name('image')
            const to = (range) => { const [middle, half] = [(range.start + range.end) / 2, share * (range.end - range.start) / 2]
                                    range.setv({start: middle - half, end: middle + half}) }
            to(x_range); to(y_range); return [x_range.start, x_range.end] }"""
        left, right = self.page.evaluate(said, share)
        return left, right

    def choose(self, title: str, option: str) -> None:
        self.page.get_by_label(title, exact=True).select_option(label=option)

    def pixels_are_squares(self) -> bool:
        """Return True when the axes have the same ratio as the image."""
        said = """() => { const {inner_width, inner_height, x_range, y_range} = Bokeh.documents[0].get_model_by_name('image')
            return inner_width / inner_height / Math.abs((x_range.end - x_range.start) / (y_range.end - y_range.start)) }"""
        return abs(float(self.page.evaluate(said)) - 1.0) < 0.02

    def top_of(self, heading: str) -> float:
        """Return the vertical position of a heading on the page."""
        said = "id => document.getElementById(id).getBoundingClientRect().top + window.scrollY"
        return float(self.page.evaluate(said, heading))

    def colours(self) -> tuple[np.ndarray[Any, np.dtype[Any]], float]:
        """Return the colours of the drawn pixels, with red in the lowest byte, and the value of the highest colour."""
        high = self.page.evaluate("() => Bokeh.documents[0].get_model_by_name('scale_log').high")
        return self._numbers("image[0]", "Uint32Array"), float(high)

    def picture(self, name: str) -> Path:
        path = PICTURES / f"{name}.png"
        self.page.screenshot(path=path, full_page=True)
        return path

    def close(self) -> None:
        self.page.close()
