# SPDX-License-Identifier: Apache-2.0
"""Tests the tools of the image as a user works with them, during one run. The tests share the run and depend on their order."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.browser.dashboard_site import RUN, Site, View
from tests.browser.firefox import FIREFOX, opened

from rashpa.dashboard.image_plot import MAPS

pytestmark = pytest.mark.timeout(600)
ALARMS = """
[alarms]
lost_images = 3
"""


@pytest.fixture(scope="module")
def site(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    scanned = RUN.replace("[detector]", 'scan = [40, 50]\nscan_order = "snake"\n[detector]', 1)
    site = Site(tmp_path_factory.mktemp("tools"), run=scanned + ALARMS)
    yield site
    site.close()


@pytest.fixture(scope="module")
def view(browser: Any, site: Site, patience_s: float) -> Iterator[View]:
    view = View(browser, site, patience_s)
    view.unlock()
    view.start()
    view.choose("buffer", "all")
    view.until(lambda: "pixel by pixel" in view.text("image_facts"))
    yield view
    view.close()


def _type(view: View, name: str, value: float) -> None:
    view.page.fill(f"#{name}", str(value))
    view.page.press(f"#{name}", "Tab")


def _region(view: View) -> dict[str, str]:
    said = "cells => Object.fromEntries(cells.map(cell => [cell.dataset.region, cell.innerText]))"
    return dict(view.page.locator("#region_values dd").evaluate_all(said))


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def test_the_image_and_the_state_are_seen_at_once_without_scrolling(view: View) -> None:
    view.until(lambda: view.part("rate") != "" and view.part("left") != "")
    assert view.part("number") == "run 1"
    assert view.part("frames").endswith("of 1,000,000 frames")
    view.until(lambda: view.part("loss").startswith("✖ lost"))  # faults are injected
    assert view.part("hits").startswith("hits ")
    height = int(view.page.evaluate("() => window.innerHeight"))
    assert int(view.page.evaluate("() => document.documentElement.scrollHeight")) <= height == 800
    boxes = {name: view.page.locator(name).bounding_box() for name in ("#stage", "#head", "#image_facts", "#strip")}
    assert all(box is not None and box["y"] + box["height"] <= 800 for box in boxes.values()), boxes
    frame = view.page.evaluate("() => window.rashpaImage.frame().box")
    assert frame["height"] > 450
    assert view.pixels_are_squares()
    view.page.screenshot(path="out/browser/first_1280x800.png")


def test_a_rate_is_that_of_the_detector_however_often_a_page_looks(view: View) -> None:
    view.tab("Curves")  # the server makes the plots of the open tab alone
    view.until(lambda: len(view.data("rate:all").get("y", [])) > 6)
    rates = view.data("rate:all")["y"][1:]
    assert 0 < np.median(rates) < 60.0, "of a detector of 40 Hz, which a loaded machine makes slower"
    assert max(rates) < 120.0
    view.tab("Image tools")


def test_contrast_is_by_itself_by_percentile_fixed_and_dragged(view: View) -> None:
    limits = "() => window.rashpaImage.contrast.limits"
    assert view.page.locator("#low").is_disabled()
    view.choose("contrast", "percentile")
    view.until(lambda: view.page.evaluate(limits)[0] > 100)  # of noise over 16 bits one percent is below some 650
    assert view.page.evaluate(limits)[1] == pytest.approx(65535, rel=0.01)
    view.choose("contrast", "fixed")
    _type(view, "low", 1000)
    _type(view, "high", 30000)
    view.until(lambda: view.page.evaluate(limits) == [1000, 30000])
    view.choose("scale", "linear")
    box = view.page.locator("#histogram").bounding_box()
    assert box is not None
    start = view.page.evaluate("([width]) => window.rashpaImage.contrast.places(width)(30000)", [box["width"]])
    middle = box["y"] + box["height"] / 2
    view.page.mouse.move(box["x"] + start, middle)
    view.page.mouse.down()
    view.page.mouse.move(box["x"] + start + 60, middle, steps=4)
    view.page.mouse.up()
    dragged = view.page.evaluate(limits)
    assert dragged[0] == 1000
    assert dragged[1] > 33000
    assert view.page.input_value("#high") == str(int(dragged[1]))


def test_scales_and_colour_maps_make_the_colours_of_each_value(view: View) -> None:
    view.hold()
    for scale, spread in (("linear", lambda v: v), ("square root", np.sqrt), ("log", np.log)):
        view.choose("scale", scale)
        for name in ("grey", "inverted grey", "turbo"):
            view.choose("colours", name)
            values = view.image()["values"]
            found = view._numbers("image[0]", "Uint32Array")
            low, high = view.page.evaluate("() => window.rashpaImage.contrast.limits")
            inside = (values > low) & (values < 65535)
            base = spread(values[inside] - low) if scale != "log" else np.log(values[inside] / low)
            share = base / (spread(high - low) if scale != "log" else np.log(high / low))
            places = np.clip(np.floor(256 * share), 0, 255).astype(int)
            palette = np.array([int.from_bytes(bytes.fromhex(c[1:]) + b"\xff", "little") for c in MAPS[name]])
            near = [found[inside] == palette[np.clip(places + step, 0, 255)] for step in (-1, 0, 1)]
            assert np.logical_or.reduce(near).all(), (scale, name)
    view.button("hold").click()
    view.choose("contrast", "auto")


def test_the_mask_has_a_legend_and_is_taken_off(view: View) -> None:
    assert view.page.inner_text("#legend").split() == ["masked", "saturated", "lost", "not", "written"]
    row = "() => { const [w] = window.rashpaImage.size; return window.rashpaImage.drawnLast.image.codes.slice(130 * w, 131 * w).join('') }"
    view.until(lambda: set(view.page.evaluate(row)) == {"4"})  # between the modules nothing is written
    view.choose("image", "first partial")
    view.until(lambda: "lost lines are hatched" in view.text("image_facts"))
    codes = view.page.evaluate("() => Array.from(new Set(window.rashpaImage.drawnLast.image.codes))")
    assert 3 in codes
    view.page.get_by_label("mask colours").uncheck()
    least = view.page.evaluate("() => window.rashpaImage.table.least")
    colours = view._numbers("image[0]", "Uint32Array").reshape(268, 256)
    assert (colours[130] == least).all()
    view.page.get_by_label("mask colours").check()
    view.choose("image", "newest accepted")
    view.until(lambda: "images/s shown" in view.text("image_facts"))


@pytest.mark.parametrize("form", ["rectangle", "ellipse", "line"])
def test_a_region_says_what_its_pixels_are(view: View, form: str) -> None:
    if view.page.locator("#hold").get_attribute("aria-pressed") == "false":
        view.hold()
    view.choose("region", form)
    for name, value in (("x0", 20), ("y0", 30), ("x1", 60), ("y1", 50)):
        _type(view, name, value)
    view.page.evaluate("() => { window.rashpaImage.measured = 0; window.rashpaImage.look() }")
    shown = view.image()
    values = shown["values"].reshape(shown["shape"])
    rows, columns = np.mgrid[0:268, 0:256]
    if form == "rectangle":
        wanted = values[30:51, 20:61].ravel()
    elif form == "ellipse":
        wanted = values[((columns - 40) / 20.5) ** 2 + ((rows - 40) / 10.5) ** 2 <= 1]
    else:
        wanted = np.array([values[round(30 + n / 2 + 1e-9), 20 + n] for n in range(41)])
    known = wanted[wanted < 65535]
    view.until(lambda: _number(_region(view).get("sum", "0")) == known.sum())
    assert _number(_region(view)["mean"]) == pytest.approx(known.mean(), abs=0.01)
    assert _number(_region(view)["maximum"]) == known.max()
    assert view.page.locator("#region_profile").is_visible()


def test_a_region_is_drawn_with_the_mouse(view: View) -> None:
    view.button("hold").click()
    view.choose("region", "rectangle")
    box = view.page.locator("#over").bounding_box()
    assert box is not None
    view.page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + box["height"] * 0.25)
    view.page.mouse.down()
    view.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.4, steps=3)
    view.page.mouse.up()
    corners = [float(view.page.input_value(f"#{name}")) for name in ("x0", "y0", "x1", "y1")]
    assert corners == pytest.approx([64, 67, 128, 107], abs=2)
    frame = _region(view).get("frame")
    view.until(lambda: _region(view).get("frame") != frame)  # it lives
    view.choose("region", "none")


def test_rings_have_three_units_and_a_centre_that_is_proposed(view: View) -> None:
    radii = view.data("rings")["radius"]
    assert view.data("rings")["text"][0].endswith("Å")
    view.choose("rings by", "q")
    view.until(lambda: view.data("rings")["text"][0].endswith("Å⁻¹"))
    view.choose("rings by", "2θ")
    view.until(lambda: view.data("rings")["text"][0].endswith("°"))
    assert view.data("rings")["radius"] != radii
    view.button("pick on the image").click()
    box = view.page.locator("#over").bounding_box()
    assert box is not None
    view.page.mouse.click(box["x"] + box["width"] * 0.75, box["y"] + box["height"] * 0.5)
    assert view.data("beam")["x"][0] == pytest.approx(192, abs=2)
    assert "beam_center_x = 19" in view.text("proposal")
    view.button("as planned").click()
    assert view.data("beam")["x"] == [128.0]


def test_one_steps_through_what_was_seen_and_goes_to_a_frame_and_to_the_brightest(view: View) -> None:
    view.until(lambda: int(view.page.evaluate("() => window.rashpaImage.kept.views.length")) > 12)
    frames = "() => window.rashpaImage.kept.views.map((view) => view.facts.frame)"
    view.button("one image back").click()
    view.button("one image back").click()
    known = view.page.evaluate(frames)
    assert view.drawn()["frame"] == known[-3]
    assert "has seen before" in view.text("image_facts")
    view.button("one image forward").click()
    assert view.drawn()["frame"] == known[-2]
    _type(view, "number", known[1])
    view.button("go").click()
    assert view.drawn()["frame"] == known[1]
    _type(view, "number", 999999)
    view.button("go").click()
    assert "not among them" in view.page.inner_text("#kept")
    view.button("brightest").click()
    bright = view.page.evaluate("() => window.rashpaImage.kept.views.map((view) => view.bright)")
    assert view.drawn()["frame"] == known[int(np.argmax(bright))]
    strip = view.page.locator("#strip button")
    assert 1 < strip.count() <= 20
    strip.first.click()
    assert view.drawn()["frame"] == int((strip.first.get_attribute("aria-label") or "").removeprefix("frame "))
    view.button("live").click()
    shown = view.drawn()["frame"]
    view.until(lambda: view.drawn()["frame"] > shown)


@pytest.mark.parametrize("kind", ["sum", "mean", "maximum"])
def test_the_last_images_are_added_up(view: View, kind: str) -> None:
    view.choose("image", f"{kind} of the last n")
    _type(view, "last", 5)
    view.until(lambda: f"{kind} of 5 images shown" in view.text("image_facts"))
    said = """() => { const {sum, views} = window.rashpaImage.kept, places = [0, 7777, 40000]
        const used = views.slice(-5).map((view) => places.map((at) => view.arrays.image.values[at]))
        return { used, made: places.map((at) => sum.image.values[at]), now: performance.now() > sum.again } }"""
    view.page.evaluate("() => { window.rashpaImage.hold.setAttribute('aria-pressed', 'true') }")
    view.page.wait_for_timeout(400)
    view.page.evaluate(
        "() => { const {kept} = window.rashpaImage; kept.sum = null; kept.together(window.rashpaImage.kind, 5) }"
    )
    found = view.page.evaluate(said)
    used = np.where(np.array(found["used"]) == 65535, np.nan, np.array(found["used"], float))
    wanted = {"sum": np.sum(used, axis=0), "mean": np.nanmean(used, axis=0), "maximum": np.nanmax(used, axis=0)}[kind]
    assert np.allclose(np.array(found["made"], float), wanted, rtol=1e-6, equal_nan=True)
    view.page.evaluate("() => { window.rashpaImage.hold.setAttribute('aria-pressed', 'false') }")


def test_numbers_of_the_pipeline_and_of_the_region_are_curves_image_by_image(view: View) -> None:
    view.choose("buffer", "found")
    view.until(lambda: " peaks" in view.text("image_facts"))
    view.choose("region", "rectangle")
    view.tab("Curves")
    names = "() => Array.from(document.getElementById('scalar').options, (option) => option.value)"
    view.until(lambda: {"peaks", "mean of the region"} <= set(view.page.evaluate(names)))
    points = "(name) => window.rashpaImage.curves.points.get(name)"
    for name in ("peaks", "mean of the region"):
        view.choose("number", name)
        view.until(lambda name=name: len(view.page.evaluate(points, name)) > 3)
        frames = [frame for frame, _ in view.page.evaluate(points, name)]
        assert frames == sorted(set(frames))
    view.until(lambda: "images seen, frames" in view.text("scalar_said"))
    _check_maps(view)
    view.tab("Image tools")
    view.choose("region", "none")
    view.choose("buffer", "all")
    view.until(lambda: "images/s shown" in view.text("image_facts"))


def _painted(view: View, canvas: str) -> int:
    """Return the number of drawn pixels of a canvas."""
    said = """id => { const {width, height} = document.getElementById(id), paper = document.getElementById(id).getContext('2d')
        return paper.getImageData(0, 0, width, height).data.filter((value, at) => at % 4 === 3 && value > 0).length }"""
    return int(view.page.evaluate(said, canvas))


def _check_maps(view: View) -> None:
    """Check the maps that combine many images, on the buffer with peaks and curves."""
    view.tab("Maps")
    view.until(lambda: "curves, the newest at the bottom" in view.text("waterfall_said"))
    curves = view.page.evaluate("() => window.rashpaImage.maps.waterfall.curves.map((curve) => curve.length)")
    assert set(curves) == {40}
    for canvas in ("waterfall", "peak_radii", "peak_intensities"):
        view.until(lambda canvas=canvas: _painted(view, canvas) > 100)
    radii, values = view.page.evaluate("() => ['radii', 'intensities'].map((of) => window.rashpaImage.maps[of].values)")
    assert 0 < min(radii) <= max(radii) < 200
    known = [value for value in values if value is not None]
    assert len(known) > 0
    assert np.mean(np.array(known) >= 64800) > 0.95, (
        "the threshold of the finder; a peak lies beside its brightest pixel"
    )
    view.until(lambda: "places known: accepted" in view.text("scan_said"))
    found = view.page.evaluate("() => Array.from(window.rashpaImage.maps.scan.decisions)")
    table = [n for n, value in enumerate(found) if value == 1]
    assert len(table) > 20
    assert all((n // 50 % 2 == 0 and n % 2 == 0) or (n // 50 % 2 == 1 and (49 - n % 50) % 2 == 0) for n in table), (
        "every second frame, and every second row of the scan goes back"
    )
    view.choose("number at each place", "peaks")
    view.until(lambda: "places known" in view.text("scan_said") and "accepted" not in view.text("scan_said"))
    assert _painted(view, "scan_map") > 10


def test_a_reload_does_not_ask_for_the_token_again_and_orders_are_recorded(view: View) -> None:
    view.page.reload()
    view.until_there()
    assert view.button("Pause").is_visible()
    view.press("Pause")
    view.until(lambda: view.state == "paused")
    lines = (view.site.folder / "out" / "dashboard_orders.jsonl").read_text().splitlines()
    assert '"order": "pause", "role": "operator", "address": "127.0.0.1"' in lines[-1]
    view.press("Resume")
    view.until(lambda: view.state == "running")


def test_an_alarm_is_at_the_top_and_a_person_acknowledges_it_with_a_name(view: View) -> None:
    alarm = view.page.locator("#alerts [data-alarm='lost']")  # faults are injected
    view.until(lambda: alarm.count() == 1)
    assert "more than 3 images" in alarm.inner_text()
    view.button("acknowledge").click()
    view.until(lambda: "type your name" in view.text("lock_text"))
    view.page.get_by_label("your name").fill("Ada <b>")
    view.button("acknowledge").click()
    view.until(lambda: "acknowledged by Ada <b>" in alarm.inner_text())
    assert not view.button("acknowledge").is_visible()
    lines = (view.site.folder / "out" / "dashboard_alarms.jsonl").read_text().splitlines()
    assert [json.loads(line)["what"] for line in lines] == ["begins", "is acknowledged"]


def test_the_time_until_the_disk_is_full_is_in_the_line_of_state(view: View) -> None:
    view.until(lambda: view.part("disk").startswith("disk full in "))


def test_tabs_are_used_by_keyboard_and_pages_reflow_in_both_schemes(view: View) -> None:
    view.tab("Image tools")
    for name in ("books", "curves", "maps", "nodes", "latencies", "next", "runs"):
        view.page.keyboard.press("ArrowRight")
        assert view.page.locator(f"#panel_{name}").is_visible()
        assert not view.page.locator("#panel_tools").is_visible()
    view.tab("Image tools")
    view.page.emulate_media(color_scheme="dark")
    paper = "() => Bokeh.documents[0].get_model_by_name('rates').background_fill_color"
    view.until(lambda: view.page.evaluate(paper) == "#1d232a")
    view.page.screenshot(path="out/browser/dark_1280x800.png")
    view.page.emulate_media(color_scheme="light")
    view.until(lambda: view.page.evaluate(paper) == "#ffffff")
    view.page.set_viewport_size({"width": 600, "height": 900})
    view.until(lambda: view.pixels_are_squares())
    assert view.page.evaluate("document.documentElement.scrollWidth") <= 600
    view.page.screenshot(path="out/browser/narrow_600x900.png")
    view.page.set_viewport_size({"width": 1280, "height": 800})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_any_tab(view: View, scheme: Any) -> None:
    """Check names of tools, contrast by WCAG AA, landmarks and the keyboard, as far as axe-core does."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")
    view.hold()  # an image of now would be drawn ten times a second beside it
    view.page.emulate_media(color_scheme=scheme)
    paper = "() => Bokeh.documents[0].get_model_by_name('rates').background_fill_color"
    view.until(lambda: view.page.evaluate(paper) == {"light": "#ffffff", "dark": "#1d232a"}[scheme])
    for tab in ("Image tools", "Books", "Curves", "Maps", "Nodes", "Latencies", "Next run", "Past runs"):
        view.tab(tab)
        found = axe.Axe().run(view.page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], tab
    view.tab("Image tools")
    view.button("hold").click()


def test_a_page_that_was_away_for_an_hour_catches_up(view: View, browser: Any, patience_s: float) -> None:
    """Cut the page's connection and restore it; then let its computer sleep for an hour. Meanwhile the page of the other tests stops updating its
    image."""
    away: list[bool] = []
    sockets: list[Any] = []

    def wired(page: Any) -> None:
        def socket(one: Any) -> None:
            sockets.append(one)
            one.connect_to_server()

        page.clock.install()
        page.route_web_socket("**/ws*", socket)
        page.route("**/page.css", lambda route: route.abort() if away else route.continue_())

    def frame(one: View) -> int:
        return int(one.drawn()["frame"] or 0)

    def counted() -> int:
        """Return the number of frames in the line of state."""
        return int(_number(view.part("frames").split(" of ")[0]))

    view.hold()  # two pages that draw at a time take two processors
    other = View(browser, view.site, patience_s, before=wired)
    other.until(lambda: frame(other) > 0)
    other.tab("Books")
    known = frame(other)
    away.append(True)
    sockets[-1].close()
    lost = other.page.locator("#lost")
    other.until(lambda: lost.count() == 1)
    assert "The connection to the page's server is lost" in lost.inner_text()
    passed = max(known, counted()) + 60
    view.until(lambda: counted() > passed)
    away.clear()
    other.until_there("document.getElementById('lost') === null")
    other.until(lambda: frame(other) > passed)
    assert other.page.locator("#panel_books").is_visible(), "the tab that was open"
    other.page.evaluate("() => { window.asleep = true }")
    other.page.clock.fast_forward("01:00:00")
    other.until_there("window.asleep === undefined")
    other.until(lambda: other.state == view.state)
    other.close()
    view.button("hold").click()


@pytest.mark.skipif(FIREFOX is None, reason="Debian's Firefox is not installed (packages-browser.txt)")
def test_firefox_shows_the_run_and_its_tools(view: View, tmp_path: Path, patience_s: float) -> None:
    view.hold()  # two browsers that draw at a time take two processors
    with opened(tmp_path, patience_s) as firefox:
        firefox.goto(view.site.url)
        firefox.until("window.Bokeh?.documents?.length > 0 && window.rashpaImage?.number > 2")
        shown = firefox.value("window.rashpaImage.number")
        firefox.until(f"window.rashpaImage.number > {shown} + 2")
        assert firefox.value("document.querySelector('.state').dataset.state") == view.state
        assert firefox.value("document.querySelectorAll('table.books tbody tr').length") == 4
        for tab in ("books", "curves", "maps", "nodes", "latencies", "next", "runs", "tools"):
            firefox.click(f"#tab_{tab}")
            firefox.until(f"!document.getElementById('panel_{tab}').hidden")
        firefox.until("Bokeh.documents[0].get_model_by_name('rates').visible")
        frame = firefox.value("window.rashpaImage.drawnLast.facts.frame")
        firefox.click("#older")
        firefox.until("window.rashpaImage.kept.at !== null")
        firefox.click("#live")
        firefox.until(f"window.rashpaImage.drawnLast.facts.frame > {frame}")
        assert firefox.value("document.documentElement.scrollHeight <= window.innerHeight"), (
            "no scrolling, as in Chromium"
        )
        assert firefox.errors == []


def test_it_ends_and_no_console_had_an_error(view: View) -> None:
    view.end("Abort…")
    assert view.complaints == []
    assert view.foreign == []
