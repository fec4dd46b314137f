# SPDX-License-Identifier: Apache-2.0
"""Measures an open page over a slow and a fast run side by side: memory of its server and of the browser, and the server's share of a core. Then it
measures the latency of decisions, alternately without viewers and with many, who send the requests of pages and draw nothing."""

import argparse
import asyncio
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from playwright.sync_api import sync_playwright

import rashpa
from rashpa.control.nodes.machine import machine_facts
from rashpa.data.figures.view_bytes import view_of_bytes
from rashpa.testing.run_file import run_file


def run_text(folder: Path, rate: float, stack: int, ring: str) -> str:
    """Return the run file."""
    return run_file(
        run={"name": "soak", "frames": "until stopped", "output": f"{folder}/out", "existing": "replace"},
        detector={"width": 256, "height": 256, "rate_hz": rate},
        buffer={"slots": 400, "stack": stack, "feedback": {"ring": ring}, "kernel": [{"name": "total_counts"}]},
    )


_TICKS = os.sysconf("SC_CLK_TCK")
_FIRST = "() => window.rashpaImage?.number > 3"
_HEAP = "() => performance.memory?.usedJSHeapSize ?? 0"


def resident(pid: int) -> float:
    """Return the memory of a process in MiB."""
    return int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0]) / 1024


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


@contextmanager
def site(folder: Path, rate: float, stack: int) -> Iterator[tuple[int, str]]:
    """Run a dashboard with its own run during the context; yield the server's process id and its address."""
    folder.mkdir()
    file = folder / "run.toml"
    file.write_text(run_text(folder=folder, rate=rate, stack=stack, ring=f"bench_soak_{rate:g}"))
    command = [sys.executable, "-m", "rashpa.cli.entry"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen([*command, "dashboard", str(file), "--port", "0"], stdout=subprocess.PIPE, text=True)
    run = subprocess.Popen([*command, "run", str(file), "--quiet"], **quiet)
    try:
        assert server.stdout is not None
        yield server.pid, server.stdout.readline().removeprefix("dashboard: ").strip()
    finally:
        for process, number in ((run, signal.SIGINT), (server, signal.SIGTERM)):
            process.send_signal(number)
            process.wait(120)


class Viewers:
    """Represents browsers on other machines: each requests the image after the one that it has."""

    def __init__(self, url: str, count: int) -> None:
        self.shown = 0
        self._url, self._count, self._on = url, count, True
        self._thread = threading.Thread(target=lambda: asyncio.run(self._all()), daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._on = False
        self._thread.join(60)

    async def _all(self) -> None:
        base = self._url.partition("?")[0]
        async with httpx.AsyncClient(limits=httpx.Limits(max_connections=None), timeout=60) as client:
            await client.get(self._url)
            page = (await client.get(base)).text
            found = re.search(r"views/([\w-]+)", page) or re.search(r"settings/([\w-]+)", page)
            assert found is not None
            await asyncio.gather(*(self._one(client, f"{base}views/{found[1]}") for _ in range(self._count)))

    async def _one(self, client: httpx.AsyncClient, address: str) -> None:
        query = {
            "node": "receiver",
            "buffer": "full",
            "of": "accepted",
            "x": "0",
            "y": "0",
            "width": "0",
            "height": "0",
        }
        after: dict[str, str] = {}
        while self._on:
            answer = await client.get(address, params={**query, "step": "1", **after})
            if answer.status_code == 200:
                after = {"after": str(view_of_bytes(answer.content)[0]["index"])}
                self.shown += 1


def soaked(minutes: float, chromium: str) -> list[dict[str, Any]]:
    """Return the rows of each run: memory at a tenth of the time and at its end, and the share of a core."""
    rows: list[dict[str, Any]] = []
    with ExitStack() as stack, sync_playwright() as play:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        browser = play.chromium.launch(
            executable_path=chromium,
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--enable-precise-memory-info"],
        )
        looked = []
        for rate, images in ((10.0, 2), (2000.0, 50)):
            pid, url = stack.enter_context(site(folder / f"{rate:g}", rate, images))
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.set_default_timeout(120e3)
            page.goto(url)
            page.wait_for_function(_FIRST)
            looked.append((rate, pid, page, []))
        began, first = time.monotonic(), [cpu_s(pid) for _, pid, _, _ in looked]
        while (spent := time.monotonic() - began) < 60 * minutes:
            for rate, pid, page, seen in looked:
                page.bring_to_front()  # a page in the background is not drawn
                time.sleep(2)
                seen.append((spent, resident(pid), page.evaluate(_HEAP) / 2**20))
                print(
                    f"{spent:6.0f} s {rate:6g} Hz: server {seen[-1][1]:.0f} MiB, heap {seen[-1][2]:.0f} MiB", flush=True
                )
            looked[int(spent / 60) % 2][2].bring_to_front()
            time.sleep(15)
        for (rate, pid, page, seen), before in zip(looked, first, strict=True):
            share = (cpu_s(pid) - before) / (time.monotonic() - began)
            rows.append({"what": f"{rate:g} Hz: server", "value": round(100 * share, 2), "unit": "% of a core"})
            for name, place in (("server", 1), ("heap of the page", 2)):
                part = max(1, len(seen) // 5)
                early, late = (
                    statistics.median(one[place] for one in some) for some in (seen[part : 2 * part], seen[-part:])
                )
                against = {"against": "the second fifth of the time", "against_value": round(early, 1)}
                ratio = round(late / max(early, 1e-9), 3)
                rows.append(
                    {
                        "what": f"{rate:g} Hz: {name}, last fifth",
                        "value": round(late, 1),
                        "unit": "MiB",
                        **against,
                        "ratio": ratio,
                    }
                )
            rows.append(
                {
                    "what": f"{rate:g} Hz: images shown",
                    "value": page.evaluate("() => window.rashpaImage.number"),
                    "unit": "images",
                }
            )
        browser.close()
    return rows


def watched(rate: float, viewers: int, rounds: int, seconds: float) -> list[dict[str, Any]]:
    """Return rows of the latency of decisions, alternately without viewers and with many."""
    found: dict[str, list[tuple[float, float]]] = {"nobody": [], f"{viewers} viewers": []}
    shown, told = [], []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        _, url = stack.enter_context(site(folder / "run", rate, 4))

        def read() -> None:
            told.extend(
                (time.monotonic(), (image.published_ns - image.last_packet_ns) * 1e-6)
                for image in rashpa.feedback(f"bench_soak_{rate:g}", 120.0)
            )

        threading.Thread(target=read, daemon=True).start()
        while not told:
            time.sleep(0.1)
        for _ in range(rounds):
            for name in found:
                crowd = Viewers(url, viewers) if name != "nobody" else None
                time.sleep(2)
                begin, known = time.monotonic(), crowd.shown if crowd is not None else 0
                time.sleep(seconds)
                took = [latency for when, latency in list(told) if when >= begin]
                found[name].append((float(np.percentile(took, 50)), float(np.percentile(took, 99))))
                if crowd is not None:
                    shown.append((crowd.shown - known) / seconds)
                    crowd.end()
                print(
                    f"{name:12} p50 {found[name][-1][0]:.2f} ms, p99 {found[name][-1][1]:.2f} ms of {len(took)}",
                    flush=True,
                )
    rows = []
    for place, what in enumerate(("p50", "p99")):
        alone, many = (statistics.median(one[place] for one in values) for values in found.values())
        against = {"against": f"nobody, {what}", "against_value": round(alone, 3), "ratio": round(many / alone, 3)}
        rows.append({"what": f"{viewers} viewers: decisions, {what}", "value": round(many, 3), "unit": "ms", **against})
    rows.append(
        {
            "what": f"{viewers} viewers: images sent by the page's server",
            "value": round(statistics.median(shown), 1),
            "unit": "images/s",
        }
    )
    return rows


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=20.0)
    options.add_argument("--viewers", type=int, default=50)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--seconds", type=float, default=15.0)
    options.add_argument("--rate", type=float, default=100.0, help="frames a second of the run with viewers")
    options.add_argument("--chromium", default="/usr/bin/chromium")
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    load = os.getloadavg()[0]
    rows = watched(chosen.rate, chosen.viewers, chosen.rounds, chosen.seconds)
    if chosen.minutes:
        rows += soaked(chosen.minutes, chosen.chromium)
    for row in rows:
        print(row)
    if chosen.json:
        name = f"page: open for {chosen.minutes:g} min over 10 Hz and 2 kHz; {chosen.viewers} viewers of a run of {chosen.rate:g} Hz, 256 x 256 pixels"
        document = {"name": name, "load": load, "machine": machine_facts(), "rows": rows}
        chosen.json.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
