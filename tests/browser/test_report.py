# SPDX-License-Identifier: Apache-2.0
"""Tests report.html in a browser: loaded from a file, without a network."""

import re
from pathlib import Path
from typing import Any

import pytest

from rashpa.cli.report.report import write_report
from rashpa.control.plan.run_plan import load_plan
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory
from rashpa.testing.in_process import run_in_process
from rashpa.testing.run_file import run_file

PICTURES = Path("out/browser")
RUN = run_file(run={"name": "report", "frames": 900}, faults={"drop": 0.1})
CANVASES = """() => {
  const found = [];
  const look = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.tagName === "CANVAS" && element.width > 0) found.push(element);
      if (element.shadowRoot) look(element.shadowRoot);
    }
  };
  look(document);
  return found.length;
}"""


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a run. It has session scope, so that it is made before Playwright has an event loop in this thread."""
    folder = tmp_path_factory.mktemp("report")
    file = folder / "run.toml"
    file.write_text(RUN)
    nodes = {name: Node(name, name, FakeFactory(name)) for name in ("emulator", "receiver")}
    return write_report(run_in_process(load_plan(file), nodes), folder, file)[1]


@pytest.mark.parametrize("width", [1280, 400])
def test_the_curves_of_a_report_are_drawn_without_a_network(
    report: Path, browser: Any, patience_s: float, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, offline=True)
    page = context.new_page()
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda line: said.append(line.text) if line.type == "error" else None)
    page.goto(report.as_uri())
    # completeness, decisions, latencies
    page.wait_for_function(f"({CANVASES})() >= 3", timeout=patience_s * 1000)
    page.screenshot(path=PICTURES / f"report_{width}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert said == []
    context.close()


@pytest.mark.parametrize("width", [1400, 703])
def test_nothing_of_a_report_is_cut_on_a_screen_nor_on_paper(report: Path, browser: Any, width: int) -> None:
    """Check widths; 703 is the width of A4 without margins, at 96 dots an inch, in the style for paper."""
    context = browser.new_context(viewport={"width": width, "height": 900}, offline=True)
    page = context.new_page()
    if width < 1000:
        page.emulate_media(media="print")
    page.goto(report.as_uri())
    page.wait_for_function("() => document.querySelector('.plot.drawn') !== null")
    cut = """() => Array.from(document.querySelectorAll("body *"))
        .filter((one) => one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline")
        .filter((one) => one.closest(".live") === null)
        .map((one) => one.outerHTML.slice(0, 120))"""
    assert page.evaluate(cut) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    static = page.locator("svg.static").first
    assert static.is_visible() is (width < 1000), "a screen has curves that move, paper has those that do not"
    page.screenshot(path=PICTURES / f"report_{width}.png", full_page=True)
    if width < 1000:
        printed = page.pdf(prefer_css_page_size=True)
        sheets = {
            tuple(map(round, map(float, box.split()))) for box in re.findall(rb"/MediaBox *\[([0-9. ]+)\]", printed)
        }
        assert sheets == {(0, 0, 595, 842)}, "A4, in points"
    context.close()


def test_a_report_without_scripts_has_its_figures_and_a_summary_first(report: Path, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, offline=True, java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    drawings = page.locator("svg.static")
    assert drawings.count() >= 3
    assert all(one.is_visible() for one in drawings.all())
    assert drawings.first.locator("path").count() >= 2
    lines = page.locator("dl.summary dt")
    assert [line.inner_text() for line in lines.all()][:4] == ["verdict", "loss", "rate", "hits"]
    assert lines.count() <= 10
    assert all(box is not None and box["y"] < 800 for box in (line.bounding_box() for line in lines.all()))
    assert page.locator("details").count() >= 1, "counters that are 0 are folded"
    context.close()
