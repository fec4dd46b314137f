# SPDX-License-Identifier: Apache-2.0
"""Small pictures of past runs, for any content of a report."""

import base64
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from rashpa.dashboard.past.past_runs import PastRuns
from rashpa.dashboard.past.thumbnails import Thumbnails, thumbnail_of


def _png(width: int, height: int, colour: str = "red") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(out, "PNG")
    return out.getvalue()


def _figure(png: bytes, shows: str = "accepted") -> bytes:
    return b"<figure data-shows='%s'><img alt='an image' src='data:image/png;base64,%s'>" % (
        shows.encode(),
        base64.b64encode(png),
    )


def _colour(picture: bytes) -> tuple[int, int, int]:
    with Image.open(io.BytesIO(picture)) as small:
        assert max(small.size) == 96
        found = small.convert("RGB").getpixel((1, 1))
    assert isinstance(found, tuple)
    return found[0], found[1], found[2]


def test_it_is_the_first_accepted_image_else_the_first_picture() -> None:
    red, blue = _figure(_png(400, 200), "sum"), _figure(_png(300, 300, "blue"))
    small = thumbnail_of(b"<html>" + red + blue)
    assert small is not None
    assert _colour(small) == (0, 0, 255)
    small = thumbnail_of(red)
    assert small is not None
    assert _colour(small) == (255, 0, 0)


@pytest.mark.parametrize(
    "report",
    [
        lambda: b"",
        lambda: b"<html>",
        lambda: _figure(b"GIF89a"),
        lambda: _figure(_png(4, 4)[:40]),
        lambda: _figure(_png(6000, 6000)),  # half a second: for the worker that needs it
        lambda: _figure(_png(400, 200)).replace(b"base64,", b"base64,="),
        lambda: b"<figure data-shows='accepted'><img " + b"x" * 100_000,
    ],
    ids=["empty", "none", "gif", "cut", "huge", "no base64", "long"],
)
def test_what_is_no_picture_of_a_report_makes_none(report: Callable[[], bytes]) -> None:
    assert thumbnail_of(report()) is None


def test_the_oldest_is_forgotten_where_there_are_many() -> None:
    kept = Thumbnails()
    for number in range(300):
        kept.keep(number, b"%d" % number)
    assert 0 not in kept
    assert kept.of(299) == b"299"


def test_a_run_has_that_of_its_report_and_one_without_says_so(tmp_path: Path) -> None:
    past = PastRuns([tmp_path])
    with pytest.raises(FileNotFoundError):
        past.thumbnail(1)
    books = dict.fromkeys(("expected", "complete", "partial", "missing", "accepted", "vetoed", "errored", "written"), 1)
    for name, page in (("with", _figure(_png(200, 100))), ("without", b"<html>")):
        (tmp_path / name).mkdir()
        said = f'{{"run": {{"name": "{name}", "frames": 1, "good": true}}, "books": {books}, "buffers": [{{"bytes_stored": 7}}]}}'
        (tmp_path / name / "report.json").write_text(said.replace("'", '"'))
        (tmp_path / name / "report.html").write_bytes(page)
    runs = {run.name: run for run in past.newest()}
    assert _colour(past.thumbnail(runs["with"].number)) == (255, 0, 0)
    assert past.thumbnail(runs["with"].number) == past.thumbnail(runs["with"].number)
    with pytest.raises(FileNotFoundError, match="no picture"):
        past.thumbnail(runs["without"].number)
    assert runs["with"].stored_bytes == 7
