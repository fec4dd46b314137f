# SPDX-License-Identifier: Apache-2.0
"""Tests `rashpa dashboard` in a real browser, with real runs. The tests share a browser and two dashboards, and depend on their order, because
starting a run takes longer than most tests."""

import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from tests.browser.dashboard_site import GROUP, NUMBERS, TOKEN, Site, View

from rashpa.control.nodes.launcher import run_certificate
from rashpa.dashboard.image_plot import MAPS
from rashpa.dashboard.style import ABSENT_COLOURS, MARKED
from rashpa.data.stored.reader import open_run

pytestmark = pytest.mark.timeout(600)
MASKED = 65535


@pytest.fixture(scope="module")
def sites(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Site]]:
    folders = {name: tmp_path_factory.mktemp(name) for name in ("seen", "dealt")}
    found = {"seen": Site(folders["seen"]), "dealt": Site(folders["dealt"], "dealt", GROUP)}
    yield found
    for site in found.values():
        site.close()


@pytest.fixture(scope="module")
def site(sites: dict[str, Site]) -> Site:
    return sites["seen"]


@pytest.fixture(scope="module")
def view(browser: Any, site: Site, patience_s: float) -> Iterator[View]:
    view = View(browser, site, patience_s)
    yield view
    view.close()


@pytest.fixture(scope="module")
def group(browser: Any, sites: dict[str, Site], patience_s: float) -> Iterator[View]:
    view = View(browser, sites["dealt"], patience_s)
    yield view
    view.close()


def _packed(colour: str) -> int:
    return int.from_bytes(bytes.fromhex(colour[1:]) + b"\xff", "little")


def _check_colours(values: np.ndarray[Any, np.dtype[Any]], found: np.ndarray[Any, np.dtype[Any]], high: float) -> None:
    """Check that colours follow a logarithmic scale, and that the gaps between modules have a separate colour."""
    low, known = 0.5, values != MASKED
    share = np.log(np.maximum(values, low) / low) / np.log(high / low)
    places = np.clip(np.floor(256 * share), 0, 255).astype(int)
    palette = np.array([_packed(colour) for colour in MAPS["viridis"]])
    assert np.isin(found[~known], [_packed(MARKED), _packed(ABSENT_COLOURS["not written"])]).all()
    assert (found == _packed(ABSENT_COLOURS["not written"])).sum() == 12 * 256, "between the modules"
    assert np.isin(MASKED, values)
    # where a logarithm lies between two colours is a matter of its last bit
    near = [found == palette[np.clip(places + step, 0, 255)] for step in (-1, 0, 1)]
    assert np.logical_or.reduce(near)[known].all()
    assert near[1][known].mean() > 0.99


def test_without_the_token_a_page_gives_no_orders(view: View) -> None:
    assert view.state == "no run"
    assert not view.button("Start").is_visible()
    view.unlock("not-the-token")
    view.until(lambda: "this is not the token" in view.text("lock_text"))
    assert all("401" in said for said in view.complaints), "a browser says that of any wrong token"
    view.complaints.clear()
    assert not view.button("Start").is_visible()
    view.unlock()
    view.until(lambda: view.button("Start").is_visible())


def test_settings_of_the_next_run_are_checked_by_its_own_model_and_used(view: View) -> None:
    view.tab("Next run")
    view.page.get_by_label("run.frames").fill("0")
    view.button("Use for the next run").click()
    view.until(lambda: "run.frames: it is 0; it must be at least 1" in view.text("settings_said"))
    assert all("400" in said for said in view.complaints), "a browser says that of any refused form"
    view.complaints.clear()
    view.page.get_by_label("run.frames").fill("900000")
    view.page.get_by_label("run.sample").fill("lysozyme <b>")
    view.page.get_by_label("run.comment").fill("the \\ second crystal")
    view.page.get_by_label("or wavelength in Å").fill("1")
    view.button("Use for the next run").click()
    view.until(lambda: "Start uses these settings" in view.text("settings_said"))
    view.tab("Image tools")


def test_a_run_is_started_paused_and_goes_on(
    view: View, browser: Any, sites: dict[str, Site], patience_s: float
) -> None:
    other = View(browser, sites["dealt"], patience_s)  # its run comes up meanwhile, and outlives the page
    other.unlock()
    other.press("Start")
    other.until(lambda: "is being started" in other.text("said"))
    other.close()
    places = {heading: view.top_of(heading) for heading in ("stage", "image_facts", "side")}
    view.start()
    view.until(lambda: view.books()["total"]["complete"] > 20)
    view.until(lambda: "is being started" not in view.text("said"))
    assert {heading: view.top_of(heading) for heading in places} == places, "the page does not move when a run begins"
    assert view.pixels_are_squares()
    assert set(view.nodes()) == {"receiver", "upper", "lower"}
    view.press("Pause")
    view.until(lambda: view.state == "paused")
    assert "paused before frame" in view.text("said") or "asked" in view.text("said")
    view.picture("paused_1280")
    view.press("Resume")
    view.until(lambda: view.state == "running")


def test_the_image_is_that_of_the_files_and_all_its_parts_are_there(view: View) -> None:
    view.until(lambda: "pixel by pixel" in view.text("image_facts"))
    number = view.drawn()["number"]
    view.until(lambda: view.drawn()["number"] > number + 2)  # it lives
    beam = view.data("beam")
    assert beam["x"] == [128.0]
    assert len(view.data("rings")["radius"]) > 0
    view.hold()
    shown = view.image()
    _check_colours(shown["values"], *view.colours())
    left, right = view.zoom(0.25)  # a quarter of its columns and rows
    view.until(lambda: view.drawn()["dw"] <= 66)
    part = view.image()
    assert part["x"] <= left
    assert part["x"] + part["dw"] >= right
    view.picture("zoomed_1280")
    view.site.held = shown, part
    view.button("hold").click()


def test_another_buffer_with_peaks_and_a_curve_the_sum_and_the_first_partial_image_can_be_chosen(view: View) -> None:
    view.choose("buffer", "found")
    view.until(lambda: " peaks" in view.text("image_facts"))
    peaks = view.data("peaks")
    assert len(peaks["x"]) > 0
    assert all(0 < x < 256 for x in peaks["x"])
    assert all(0 < y < 268 for y in peaks["y"])
    view.until(lambda: len(view.data("profile")["x"]) == 40)
    assert view.page.evaluate("() => Bokeh.documents[0].get_model_by_name('curve').visible")
    view.choose("image", "sum of the last n")
    view.until(lambda: "sum of" in view.text("image_facts"))
    assert np.nanmax(view.image()["values"]) > MASKED, "no image alone has that"
    view.choose("buffer", "all")
    view.choose("image", "first partial")
    view.until(lambda: "lost lines are hatched" in view.text("image_facts"))
    assert len(view.data("lost")["left"]) > 0
    view.picture("partial_1280")
    view.choose("image", "first vetoed")  # there is no kernel that vetoes
    view.until(lambda: "No such image yet" in view.text("image_facts"))
    assert view.drawn()["shape"] == [1, 1]
    assert view.data("lost")["left"] == []
    view.choose("image", "newest accepted")
    view.until(lambda: "images/s shown" in view.text("image_facts"))


def test_why_there_is_no_calibration_is_said(view: View) -> None:
    view.tab("Maps")
    view.button("show its maps").click()
    view.until(lambda: "no kernel of this run uses a calibration" in view.text("calibration"))
    view.tab("Image tools")


def test_limits_of_a_veto_change_while_the_run_goes_on(view: View) -> None:
    view.tab("Books")
    form = view.page.get_by_role("form", name="limits of dim of buffer part")
    view.until(lambda: form.count() == 1)
    form.get_by_label("keep").fill("total_counts > many")
    form.get_by_role("button").click()
    view.until(lambda: "no step before it makes the column many" in view.text("limits_said"))
    assert all("400" in said for said in view.complaints), "a browser says that of any refused form"
    view.complaints.clear()
    form.get_by_label("keep").fill("total_counts > 196500000")
    form.get_by_role("button").click()
    said = "part: dim: keep is total_counts > 196500000 in place of total_counts > 196600000, from image "
    view.until(lambda: said in view.page.locator("#limits_said").inner_text())

    def known() -> bool:
        view.button("show the limits of now").click()
        return (
            said in view.page.locator("#limits").inner_text()
            and form.get_by_label("keep").input_value() == "total_counts > 196500000"
        )

    view.until(known)
    lines = (view.site.folder / "out" / "dashboard_orders.jsonl").read_text().splitlines()
    orders = [json.loads(line) for line in lines]
    assert [one["role"] for one in orders if "limits part dim keep=total_counts > 196500000" in one["order"]] == [
        "operator"
    ]
    view.tab("Image tools")


def test_abort_and_stop_are_asked_for_twice(view: View) -> None:
    view.press("Abort…")
    view.press("No, let it go on")
    view.until(lambda: not view.button("Yes, ").is_visible())
    assert view.state == "running"
    view.order("Stop…")


def test_stop_ends_with_the_books_of_the_report(view: View, group: View) -> None:
    # the page of the group comes up while the run ends
    view.until_ended()
    report = json.loads((view.site.newest_report() / "report.json").read_text())
    assert report["run"]["stopped_by"] == "the dashboard"
    assert report["run"]["good"], report["run"]
    assert (report["run"]["sample"], report["run"]["comment"]) == ("lysozyme <b>", "the \\ second crystal")
    assert "energy_kev = 12.39842" in Path(report["run"]["file"]).read_text(), "as the wavelength was typed"
    said = {buffer["name"]: {name: buffer["books"][name] for name in NUMBERS} for buffer in report["buffers"]}
    view.until(lambda: {name: view.books()[name] for name in said} == said)
    assert said["part"]["vetoed"] > 0
    assert "vetoed: dim" in view.text("vetoes")
    assert view.text("vetoes").count(f"{said['part']['vetoed']:,}") >= 1
    view.picture("ended_1280")
    shown, part = view.site.held
    rows, columns = shown["shape"]
    assert (shown["x"], shown["y"], shown["dw"], shown["dh"]) == (0, 0, columns, rows)
    with open_run(view.site.folder / "out" / "seen_all_master.h5") as run:
        numbers = [int(run.tables.frame_number[run.row_of(n)]) for n in range(len(run))]
        stored = run.image(numbers.index(shown["frame"]))
        invalid = run.invalid(numbers.index(shown["frame"]))
    assert stored.shape == (rows, columns)
    values = shown["values"].reshape(rows, columns)
    assert np.array_equal(values[~invalid], stored[~invalid])
    assert (values[128:140] == MASKED).all(), "nothing is between the modules"
    assert part["frame"] == shown["frame"]
    places = slice(part["y"], part["y"] + part["dh"]), slice(part["x"], part["x"] + part["dw"])
    assert np.array_equal(part["values"].reshape(part["shape"]), values[places])


def test_a_group_of_receivers_is_in_the_books_and_one_that_is_killed_is_lost_at_once(
    group: View,
) -> None:
    group.unlock()
    group.until(lambda: group.state == "running" and group.books().get("total", {}).get("complete", 0) > 20)
    books = group.books()
    assert set(books) == {"a: full_a", "b: full_b", "total"}
    assert books["total"]["complete"] == books["a: full_a"]["complete"] + books["b: full_b"]["complete"]
    assert set(group.nodes()) == {"a", "b", "emulator"}
    assert float(group.page.locator("progress").get_attribute("value") or 1) < 0.1, "of what the group was dealt"
    os.kill(group.site.pid_of("b"), signal.SIGKILL)
    took_s = group.until(lambda: "✖ lost" in group.text("nodes"))
    assert took_s < (2.0 if os.environ.get("RASHPA_QUIET") else 15.0)
    assert group.nodes()["b"] == "✖ lost"
    known = group.books()["a: full_a"]["complete"]
    group.until(lambda: group.books()["a: full_a"]["complete"] > known + 20)  # the run goes on
    group.picture("group_lost_1280")


def test_a_run_is_aborted_after_a_question_and_its_books_are_those_of_the_report(group: View) -> None:
    group.end("Abort…")
    report = json.loads((group.site.newest_report() / "report.json").read_text())
    assert report["run"]["interrupted"]
    assert not group.site.journal.exists()
    said = {name: sum(buffer["books"][name] for buffer in report["buffers"]) for name in NUMBERS}
    group.until(lambda: group.books()["total"] == said)
    group.picture("group_ended_1280")


def test_past_runs_lead_to_their_reports_and_nobody_else_gets_there(view: View) -> None:
    links = view.page.locator("table.past a")
    view.until(lambda: links.count() >= 1)
    picture = view.page.locator("table.past img").first
    view.tab("Past runs")
    view.until(lambda: int(picture.evaluate("image => image.naturalWidth")) > 10)
    assert "lysozyme <b>" in view.page.inner_text("table.past")
    address = links.first.get_attribute("href") or ""
    answer = httpx.get(view.site.base + address)
    assert answer.status_code == 401
    cookies = view.site.cookies()
    answer = httpx.get(view.site.base + address, cookies=cookies)
    assert answer.status_code == 200
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "seen" in answer.text
    _, _, number, _ = address.split("/")
    for wrong in (
        f"reports/x/{number}/report.html",
        address.replace("report.html", "run.log"),
        "reports/",
        "views/x?node=receiver&buffer=all",
        "files.py",
    ):
        assert httpx.get(view.site.base + wrong, cookies=cookies).status_code == 404, wrong


def test_the_page_is_used_by_keyboard(view: View) -> None:
    hold = view.button("hold")
    before = hold.get_attribute("aria-pressed") or hold.get_attribute("class")
    view.page.locator("body").press("Tab")
    focused = "() => { let e = document.activeElement; while (e && e.shadowRoot && e.shadowRoot.activeElement) e = e.shadowRoot.activeElement; return e ? e.innerText : '' }"
    for _ in range(60):
        if view.page.evaluate(focused) == "hold":
            break
        view.page.keyboard.press("Tab")
    assert view.page.evaluate(focused) == "hold"
    view.page.keyboard.press("Enter")
    view.until(lambda: (hold.get_attribute("aria-pressed") or hold.get_attribute("class")) != before)


def test_a_telephone_shows_it_without_scrolling_sideways(browser: Any, site: Site, patience_s: float) -> None:
    phone = View(browser, site, patience_s, width=390)
    phone.until(lambda: "✔ good" in phone.text("past") or "✖ not good" in phone.text("past"))
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= 390
    phone.until(lambda: phone.pixels_are_squares())
    phone.picture("phone_390")
    phone.close()


def test_over_a_network_there_is_tls_and_nothing_is_seen_without_the_token(
    browser: Any, tmp_path: Path, patience_s: float
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        try:
            way.connect(("192.0.2.1", 9))  # sends nothing; says which address would be used
        except OSError:
            pytest.skip("this machine has no address but loopback")
        address = way.getsockname()[0]
    made = run_certificate()
    files = tmp_path / "page.pem", tmp_path / "page.key"
    for file, text in zip(files, (made.certificate, made.key), strict=True):
        file.write_text(text)
    options = ("--host", address, "--certificate", str(files[0]), "--key", str(files[1]))
    site = Site(tmp_path, options=options)
    assert site.url.startswith(f"https://{address}:")
    stranger = browser.new_page(ignore_https_errors=True)
    stranger.goto(site.base)
    for token, said in (("", "needs its token"), ("not-the-token", "this is not the token")):
        if token:
            stranger.get_by_label("token").fill(token)
            stranger.get_by_role("button", name="Open").click()
        stranger.get_by_text(said).wait_for()
        assert stranger.get_by_role("button").count() == 1
    stranger.get_by_label("token").fill(TOKEN)
    stranger.get_by_role("button", name="Open").click()
    stranger.wait_for_function("() => window.Bokeh?.documents?.length > 0")
    assert stranger.url == site.base
    stranger.close()
    view = View(browser, site, patience_s)
    assert view.page.url == site.base, "the token is no part of the address that is kept"
    view.until(lambda: "no run" in view.text("head"))
    view.until(lambda: bool(view.page.evaluate("() => window.rashpaImage.told.way")))
    assert view.complaints == []
    view.close()
    site.close()


def test_a_page_of_another_site_cannot_talk_to_it(site: Site) -> None:
    cookies = site.cookies()
    headers = {
        "connection": "upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
        answer = httpx.get(site.base + "ws", headers={**headers, "origin": origin}, cookies=cookies)
        assert answer.status_code == 403, origin


def test_nothing_came_from_elsewhere_and_no_console_had_an_error(view: View, group: View) -> None:
    for page in (view, group):
        assert page.foreign == [], "all that a page needs comes from its server"
        assert page.complaints == []
    assert len(list(Path("out/browser").glob("*.png"))) >= 4
