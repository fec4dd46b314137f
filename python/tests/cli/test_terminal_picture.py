# SPDX-License-Identifier: Apache-2.0
"""Pictures in a terminal, tested by the bytes that it gets; the terminal is the other end of a pseudo terminal."""

import base64
import io
import os
import pty
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import TextIO

import pytest
from PIL import Image

from rashpa.cli.terminal_picture import Protocol, picture_bytes, protocol_of

_PROGRAM = """
import os, sys
from rashpa.cli.terminal_picture import protocol_of
sys.stdout.write("protocol " + (protocol_of(sys.stdout, os.environ) or "none") + "\\n")
"""


def _png(width: int, height: int) -> bytes:
    picture = Image.new("RGB", (width, height), (255, 0, 0))
    picture.paste((0, 0, 255), (0, 0, width // 2, height))
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def test_kitty_gets_the_png_in_chunks_and_answers_nothing() -> None:
    png = os.urandom(10_000)
    chunks = re.findall(rb"\x1b_G([^;]*);([^\x1b]*)\x1b\\", picture_bytes(png, "kitty"))
    assert base64.b64decode(b"".join(text for _, text in chunks)) == png
    assert [head for head, _ in chunks] == [b"a=T,f=100,q=2,m=1", b"m=1", b"m=1", b"m=0"]
    assert all(len(text) <= 4096 for _, text in chunks)


def _pixels_of(sixels: bytes) -> dict[tuple[int, int], tuple[int, ...]]:
    """Return the pixels of a picture as a terminal reads them, with colours in percent."""
    head = re.match(rb'\x1bP0;1q"1;1;(\d+);(\d+)', sixels)
    assert head is not None
    assert sixels.endswith(b"\x1b\\")
    colours: dict[int, tuple[int, ...]] = {}
    found: dict[tuple[int, int], tuple[int, ...]] = {}
    x, y, colour = 0, 0, 0
    token = re.compile(rb"#(\d+)(?:;2;(\d+);(\d+);(\d+))?|!(\d+)([?-~])|([?-~])|(\$)|(-)")
    for match in token.finditer(sixels[head.end() : -2]):
        number, red, green, blue, count, many, one, back, down = match.groups()
        if number is not None:
            colour = int(number)
            if red is not None:
                colours[colour] = int(red), int(green), int(blue)
        elif back:
            x = 0
        elif down:
            x, y = 0, y + 6
        else:
            bits, times = (many or one)[0] - 63, int(count or 1)
            found |= {(x + n, y + bit): colours[colour] for n in range(times) for bit in range(6) if bits >> bit & 1}
            x += times
    return found


@pytest.mark.parametrize(("width", "height"), [(20, 13), (1, 1), (7, 6)])
def test_sixels_are_all_pixels_of_the_picture(width: int, height: int) -> None:
    found = _pixels_of(picture_bytes(_png(width, height), "sixel"))
    assert set(found) == {(x, y) for x in range(width) for y in range(height)}
    for (x, _), colour in found.items():
        assert colour == ((0, 0, 100) if x < width // 2 else (100, 0, 0))


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("out", "environment", "wanted"),
    [
        (io.StringIO(), {"TERM": "xterm-kitty", "KITTY_WINDOW_ID": "1"}, ""),
        (_Terminal(), {"TERM": "xterm-kitty"}, "kitty"),
        (_Terminal(), {"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, "kitty"),
        (_Terminal(), {"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "kitty"),
        (_Terminal(), {"TERM": "dumb", "KITTY_WINDOW_ID": "1"}, ""),
        (_Terminal(), {"KITTY_WINDOW_ID": "1"}, ""),
        (_Terminal(), {"TERM": "tmux-256color", "KITTY_WINDOW_ID": "1"}, ""),
        (_Terminal(), {"TERM": "xterm-kitty", "TMUX": "/tmp/tmux"}, ""),
    ],
)
def test_a_terminal_says_by_its_names_that_it_is_kitty(
    out: TextIO, environment: Mapping[str, str], wanted: Protocol
) -> None:
    assert protocol_of(out, environment) == wanted


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (b"\x1b[?62;4;22c", "sixel"),
        (b"\x1b[?64;22c", "none"),
        (b"", "none"),
        (b"\x1b[?6", "none"),
        (b"garbage" * 99, "none"),
    ],
)
def test_a_terminal_is_asked_for_sixels_and_not_waited_for(answer: bytes, wanted: str) -> None:
    near, far = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    for name in ("KITTY_WINDOW_ID", "TMUX", "TERM_PROGRAM"):
        environment.pop(name, None)
    begin = "import fcntl, os, termios; os.setsid(); fcntl.ioctl(1, termios.TIOCSCTTY, 0)"
    process = subprocess.Popen([sys.executable, "-c", f"{begin}\n{_PROGRAM}"], stdin=far, stdout=far, env=environment)
    os.close(far)
    said = b""

    def terminal() -> None:
        nonlocal said
        answered = False
        while True:
            try:
                part = os.read(near, 1024)
            except OSError:
                return
            if not part:
                return
            said += part
            if b"\x1b[c" in said and not answered:
                answered = True
                os.write(near, answer)

    reader = threading.Thread(target=terminal)
    reader.start()
    began = time.monotonic()
    assert process.wait(60) == 0
    reader.join(60)
    os.close(near)
    assert said.count(b"\x1b[c") == 1
    assert f"protocol {wanted}".encode() in said
    assert time.monotonic() - began < 60


def test_nobody_is_asked_where_standard_output_is_a_file() -> None:
    environment = {**os.environ, "TERM": "xterm-kitty", "KITTY_WINDOW_ID": "1"}
    said = subprocess.run([sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, check=True).stdout
    assert said == b"protocol none\n"
