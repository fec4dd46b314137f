# SPDX-License-Identifier: Apache-2.0
"""Shows pictures in a terminal that supports kitty's protocol or sixels. Other outputs get nothing."""

import base64
import io
import os
import re
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator, Mapping
from typing import Literal, TextIO

from PIL import Image

Protocol = Literal["kitty", "sixel", ""]
SIDE = 400
"""Values of the longer side of a picture for a terminal."""
_QUERY = b"\x1b[c"  # primary device attributes
_ANSWER = re.compile(rb"\x1b\[\?([0-9;]{1,100})c")
_SIXEL = b"4"  # among the attributes of a terminal
_PATIENCE_S = 0.2
_MOST_ANSWER = 256
_CHUNK = 4096
_COLOURS = 64
_KITTY = ("kitty", "ghostty", "wezterm")
_INNER = ("screen", "tmux")  # terminals inside of others, which swallow pictures


def protocol_of(out: TextIO, environment: Mapping[str, str]) -> Protocol:
    """Return the protocol by which the terminal of `out` shows pictures; empty when it supports none, or `out` is no terminal."""
    term = environment.get("TERM", "")
    if not out.isatty() or term in ("", "dumb") or term.startswith(_INNER) or "TMUX" in environment:
        return ""
    names = f"{term} {environment.get('TERM_PROGRAM', '')}".lower()
    if "KITTY_WINDOW_ID" in environment or any(name in names for name in _KITTY):
        return "kitty"
    return "sixel" if _SIXEL in _attributes(out) else ""


def _attributes(out: TextIO) -> list[bytes]:
    """Ask the terminal for its attributes. Return an empty list when it does not answer at once, or when this process may not read from it."""
    try:
        terminal = os.open(os.ttyname(out.fileno()), os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        if os.tcgetpgrp(terminal) != os.getpgrp():  # in the background: a question would stop it
            return []
        before = termios.tcgetattr(terminal)
        try:
            tty.setcbreak(terminal, termios.TCSANOW)
            os.write(terminal, _QUERY)
            found = _ANSWER.search(_answer(terminal))
        finally:
            termios.tcsetattr(terminal, termios.TCSANOW, before)
    except (OSError, termios.error):
        return []
    finally:
        os.close(terminal)
    return found[1].split(b";") if found is not None else []


def _answer(terminal: int) -> bytes:
    said, ends = b"", time.monotonic() + _PATIENCE_S
    while len(said) < _MOST_ANSWER and not said.endswith(b"c"):
        if not select.select([terminal], [], [], max(0.0, ends - time.monotonic()))[0]:
            break
        said += os.read(terminal, _MOST_ANSWER)
    return said


def show_picture(png: bytes, protocol: Literal["kitty", "sixel"]) -> None:
    """Show a PNG in the terminal of standard output."""
    sys.stdout.flush()
    sys.stdout.buffer.write(picture_bytes(png, protocol) + b"\n")
    sys.stdout.buffer.flush()


def picture_bytes(png: bytes, protocol: Literal["kitty", "sixel"]) -> bytes:
    """Return a PNG as the bytes of a protocol."""
    return b"".join(_kitty(png)) if protocol == "kitty" else _sixel(png)


def _kitty(png: bytes) -> Iterator[bytes]:
    """Yield the PNG in chunks. `q=2` suppresses the terminal's answer, which a shell would read as input."""
    text = base64.standard_b64encode(png)
    for start in range(0, len(text), _CHUNK):
        more = int(start + _CHUNK < len(text))
        head = f"a=T,f=100,q=2,m={more}" if start == 0 else f"m={more}"
        yield b"\x1b_G" + head.encode() + b";" + text[start : start + _CHUNK] + b"\x1b\\"


def _sixel(png: bytes) -> bytes:
    """Return the picture in bands of six rows, one colour after the other."""
    with Image.open(io.BytesIO(png), formats=("PNG",)) as opened:
        picture = opened.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    width, height = picture.size
    palette = picture.getpalette() or []
    pixels = picture.tobytes()
    used = sorted(set(pixels))
    parts = [f'\x1bP0;1q"1;1;{width};{height}']
    for colour in used:
        red, green, blue = (round(value / 2.55) for value in palette[3 * colour : 3 * colour + 3])
        parts.append(f"#{colour};2;{red};{green};{blue}")
    for top in range(0, height, 6):
        rows = [pixels[row * width : (row + 1) * width] for row in range(top, min(top + 6, height))]
        for colour in sorted({value for row in rows for value in row}):
            parts += [f"#{colour}", _runs(rows, colour), "$"]
        parts.append("-")
    return "".join([*parts, "\x1b\\"]).encode()


def _runs(rows: list[bytes], colour: int) -> str:
    """Return one colour of a band: one character for each column of six pixels, with equal characters run-length encoded."""
    bits = bytearray(len(rows[0]))
    for number, row in enumerate(rows):
        for column, value in enumerate(row):
            if value == colour:
                bits[column] |= 1 << number
    return re.sub(rb"(?s)(.)\1{3,}", _counted, bytes(63 + one for one in bits)).decode()


def _counted(run: "re.Match[bytes]") -> bytes:
    return b"!%d%c" % (len(run[0]), run[1][0])
