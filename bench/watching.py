# SPDX-License-Identifier: Apache-2.0
"""Measures the rate of live images, and their cost for the acquisition: a run of 4 Mpixel, alternately without viewers, with a viewer on another
machine (the same requests, without drawing), and with a page in Chromium on this machine. Latencies are those of decisions, from the last byte of an
image to the feedback ring."""

import argparse
import asyncio
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright

import rashpa
from rashpa.control.nodes.machine import measured, write_measured
from rashpa.control.plan.run_plan import load_plan
from rashpa.dashboard.nodes import Nodes
from rashpa.dashboard.views import Views
from rashpa.data.figures.view_bytes import view_of_bytes

RING = "bench_watching"
RUN = """\
[run]
name = "watched"
frames = 1000000
output = "{folder}/out"
existing = "replace"
[detector]
width = 1024
height = 512
rate_hz = {rate}
module = [{modules}]
[dataset]
kind = "jungfrau"
modules = 8
frames = 10
dark_every = 0
hit_fraction = 1.0
[link]
kind = "pcie"
[receiver]
port = 0
[[buffer]]
name = "full"
slots = 24
stack = 1
kernel = [{{ name = "jungfrau" }}]
sink = [{{ kind = "null" }}]
feedback = {{ ring = "{ring}" }}
"""
SETTLED_S = 2.0
QUERY = {"buffer": "full", "of": "accepted", "x": "0", "y": "0", "width": "0", "height": "0", "step": "4"}
NUMBER = "() => window.rashpaImage?.number ?? 0"


class Latencies:
    """Holds the latencies of all decisions, with their times."""

    def __init__(self) -> None:
        self._found: list[tuple[float, float]] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for image in rashpa.feedback(RING, 120.0):
            self._found.append((time.monotonic(), (image.published_ns - image.last_packet_ns) * 1e-6))

    def between(self, begin: float, end: float) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the latencies in ms between two times."""
        return np.array([latency for when, latency in list(self._found) if begin <= when < end])


class Elsewhere:
    """Sends the requests of the page's server for a browser on another machine."""

    def __init__(self, file: Path) -> None:
        self.shown = 0
        self._file = file
        self._on = False
        threading.Thread(target=lambda: asyncio.run(self._ask()), daemon=True).start()

    def turn(self, on: bool) -> None:
        self._on = on

    async def _ask(self) -> None:
        nodes, views, after, client = Nodes(load_plan(self._file), (), "", ""), Views(), None, None
        while True:
            going = nodes.going() if client is None else None
            if going is not None:
                client = nodes.clients(going)["receiver"]
            if not self._on or client is None:
                await asyncio.sleep(0.05)
                continue
            content = await views.newer(client, QUERY, after)
            if content is not None:
                after = view_of_bytes(content)[0]["index"]
                self.shown += 1


def phase(seconds: float, count: Callable[[], int]) -> tuple[float, float, float]:
    """Return begin and end of the measured time, and the rate of shown images in it, in images/s."""
    time.sleep(SETTLED_S)
    begin, first = time.monotonic(), count()
    time.sleep(seconds)
    end = time.monotonic()
    return begin, end, (count() - first) / (end - begin)


def measured_rounds(
    page: Page, url: str, elsewhere: Elsewhere, latencies: Latencies, rounds: int, seconds: float
) -> Mapping[str, list[Any]]:
    found: dict[str, list[Any]] = defaultdict(list)
    for number in range(rounds):
        for kind in ("nobody", "elsewhere", "page here"):
            count: Callable[[], int] = lambda: 0  # noqa: E731  nobody counts
            if kind == "elsewhere":
                elsewhere.turn(True)
                count = lambda: elsewhere.shown  # noqa: E731
            elif kind == "page here":
                page.goto(url)
                page.wait_for_function("() => window.rashpaImage?.number > 3")
                count = lambda: int(page.evaluate(NUMBER))  # noqa: E731
            begin, end, shown = phase(seconds, count)
            elsewhere.turn(False)
            page.goto("about:blank")
            took = latencies.between(begin, end)
            half, most = np.percentile(took, [50, 99])
            found[kind].append((float(half), float(most), shown, took.size / (end - begin)))
            print(
                f"{number} {kind:10} p50 {half:7.2f} ms, p99 {most:7.2f} ms, {shown:5.2f} shown/s of {took.size / (end - begin):.1f}",
                flush=True,
            )
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=float, default=8.0)
    options.add_argument("--rate", type=float, default=25.0, help="frames a second")
    options.add_argument("--chromium", default="/usr/bin/chromium")
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "run.toml"
        modules = ", ".join(f"{{ x = {1030 * (n % 2)}, y = {514 * (n // 2)} }}" for n in range(8))
        file.write_text(RUN.format(folder=name, rate=chosen.rate, modules=modules, ring=RING))
        command = [sys.executable, "-m", "rashpa.cli.entry"]
        with subprocess.Popen(
            [*command, "dashboard", str(file), "--port", "0"], stdout=subprocess.PIPE, text=True
        ) as site:
            assert site.stdout is not None
            url = site.stdout.readline().removeprefix("dashboard: ").strip()
            with subprocess.Popen([*command, "run", str(file), "--quiet"]) as run, sync_playwright() as play:
                latencies, elsewhere = Latencies(), Elsewhere(file)
                browser = play.chromium.launch(
                    executable_path=chosen.chromium, args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
                )
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                page.set_default_timeout(120e3)
                page.goto(url)
                page.wait_for_function("() => window.rashpaImage?.number > 3")
                found = measured(page, url, elsewhere, latencies, chosen.rounds, chosen.seconds)
                browser.close()
                run.send_signal(signal.SIGINT)
            site.send_signal(signal.SIGTERM)
    rows = []
    alone = [statistics.median(one[n] for one in found["nobody"]) for n in range(2)]
    for kind, values in found.items():
        half, most, shown, rate = (statistics.median(one[n] for one in values) for n in range(4))
        for what, value, beside in (("p50", half, alone[0]), ("p99", most, alone[1])):
            against = {
                "against": f"nobody, {what}",
                "against_value": round(beside, 3),
                "ratio": round(value / beside, 3),
            }
            rows.append({"what": f"{kind}: decisions, {what}", "value": round(value, 3), "unit": "ms", **against})
        rows.append(
            {"what": f"{kind}: images shown", "value": round(shown, 2), "unit": "images/s", "decided": round(rate, 1)}
        )
        print(f"{kind:10} p50 {half:7.2f} ms, p99 {most:7.2f} ms ({most / alone[1]:.2f} x), {shown:.1f} shown/s")
    if chosen.json:
        name = f"watching: 2054 x 2054 pixels at {chosen.rate:g} Hz, medians of {chosen.rounds} rounds of {chosen.seconds:g} s"
        write_measured(chosen.json, measured(name, rows, load=os.getloadavg()[0]))


if __name__ == "__main__":
    main()
