# SPDX-License-Identifier: Apache-2.0
"""Draws the plan as a picture (SVG): modules with their regions, links with their rates, receivers with buffers and steps. The picture follows the
viewer's light or dark theme."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as File

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle
from matplotlib.path import Path

from rashpa.control.capacity.loads import DtpLoad
from rashpa.control.capacity.plan_summary import Summary
from rashpa.control.plan.model import PlannedBuffer
from rashpa.control.runfile.pipeline import plan_pipeline
from rashpa.data.files.regular_file import write_named

# Colours by their object: on light ground, on dark.
_INK = {
    "ground": ("#fefefe", "#0e1116"),
    "text": ("#1b1f24", "#e6e9ec"),
    "quiet": ("#5b6571", "#9aa4af"),
    "box": ("#f2f4f6", "#1a1f26"),
    "edge": ("#c3cad1", "#3a424c"),
    "refused": ("#c62828", "#ff7b72"),
}
_OF_BUFFERS = ("#3b82c4", "#e08a1e", "#2a9d76", "#c05299", "#8a6fd1", "#a8841f", "#4aa3b5", "#d1564a")
_WIDTH = 13.0  # inches; places are inches, too
_TOP, _BOTTOM, _SIDE = 0.75, 0.3, 0.25
_ROW, _THUMB_WIDTH, _THUMB_HEIGHT, _EMULATOR = 0.5, 0.95, 0.4, 0.32
_LEFT_ENDS, _RIGHT_BEGINS = 3.1, 7.6
_LINE, _HEADING, _PAD, _BETWEEN = 0.19, 0.32, 0.1, 0.14
_WIDEST, _THINNEST = 9.0, 0.6  # points, of curves
_LABEL = 0.22  # the width at which a curve has its rate written on it
_UNITS = ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"))
_LONGEST = 66  # letters of a line of a buffer


def draw_plan(summary: Summary, path: File) -> None:
    """Write the picture. Raise OSError when that fails."""
    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "rashpa", "svg.fonttype": "path"}):
        figure = _Picture(summary).figure
        figure.set_canvas(FigureCanvasSVG(figure))
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": "rashpa plan"})
    head, mark, body = text.getvalue().partition("<defs>")
    write_named(path, f"{head}{_style()}{mark}{body}".encode())


def _style() -> str:
    """Return the style sheet with the colours for a dark background. The light colours are attributes of the elements, which every program
    understands."""
    rules = [
        f'[style*="{what}: {light}"]{{{what}:{dark}!important}}'
        for light, dark in _INK.values()
        for what in ("fill", "stroke")
    ]
    return f'<style type="text/css">@media (prefers-color-scheme: dark){{{"".join(rules)}}}</style>\n'


@dataclass(frozen=True)
class _Stream:
    """Holds the DTPs of a run from one module to one buffer."""

    module: int
    buffer: int
    loads: tuple[DtpLoad, ...]

    @property
    def bytes_per_s(self) -> float:
        return sum(load.bytes_per_s for load in self.loads)

    @property
    def weight(self) -> float:
        """Return the width of the stream in bytes a frame, which is proportional to its rate."""
        return sum(load.image_bytes / load.buffer.section.every for load in self.loads)


class _Picture:
    """Draws two columns, modules and receivers, and curves between them. Each column is as high as its content."""

    def __init__(self, summary: Summary) -> None:
        self._summary = summary
        self._plan = summary.plan
        self._ink = {name: light for name, (light, _) in _INK.items()}
        self._refused = {node for limit in summary.exceeded for node in limit.nodes}
        self._streams = _streams_of(summary)
        emulators = [one for one in self._plan.emulators if one.modules]
        left = len(emulators) * _EMULATOR + sum(len(one.modules) for one in emulators) * _ROW
        right = sum(self._height_of(one.name) + _BETWEEN for one in self._plan.receivers) - _BETWEEN
        self._height = _TOP + max(left, right) + _BOTTOM
        self.figure = Figure(figsize=(_WIDTH, self._height), dpi=100, facecolor=self._ink["ground"])
        self._axes: Axes = self.figure.add_axes((0, 0, 1, 1))
        self._axes.set_xlim(0, _WIDTH)
        self._axes.set_ylim(self._height, 0)
        self._axes.axis("off")
        room = self._height - _TOP - _BOTTOM
        exits = self._modules(_TOP + (room - left) / 2)
        entries = self._receivers(_TOP + (room - right) / 2)
        heaviest = max(one.weight for one in self._streams)
        for stream in self._streams:
            begin = self._spread(exits[stream.module], stream, "module")
            end = self._spread(entries[stream.buffer], stream, "buffer")
            self._curve(stream, begin, end, stream.weight / heaviest)
        self._title()

    # ---- left -------------------------------------------------------------------------------------------------------------------

    def _modules(self, y: float) -> dict[int, tuple[float, float]]:
        """Draw the modules; return, for each, the top and height of the side where its curves begin."""
        exits = {}
        for emulator in self._plan.emulators:
            if not emulator.modules:
                continue
            colour = "refused" if emulator.name in self._refused else "text"
            self._text(_SIDE, y + _EMULATOR / 2, _short(emulator.label, 22), weight="bold", colour=colour)
            self._text(_LEFT_ENDS, y + _EMULATOR / 2, self._where(emulator.address), colour="quiet", align="right")
            y += _EMULATOR
            for module in emulator.modules:
                self._module(module, y)
                exits[module] = (y + (_ROW - _THUMB_HEIGHT) / 2, _THUMB_HEIGHT)
                y += _ROW
        return exits

    def _module(self, module: int, y: float) -> None:
        detector = self._plan.file.detector
        way = detector.module[module].orientation
        columns, rows = way.sides(detector.width, detector.height)
        scale = min(_THUMB_WIDTH / columns, _THUMB_HEIGHT / rows)
        width, height = columns * scale, rows * scale
        left, top = _LEFT_ENDS - width, y + (_ROW - height) / 2
        self._box(left, top, width, height, "box")
        alpha = min(0.3, 1 / len(self._plan.buffers))
        for stream in self._streams:
            for load in stream.loads if stream.module == module else ():
                region = load.dtp.region
                x, at = left + region.x * scale, top + region.y * scale
                colour = _OF_BUFFERS[stream.buffer % len(_OF_BUFFERS)]
                size = (region.width * scale, region.height * scale)
                self._axes.add_patch(Rectangle((x, at), *size, facecolor=colour, alpha=alpha, linewidth=0, zorder=3))
                self._axes.add_patch(Rectangle((x, at), *size, fill=False, edgecolor=colour, linewidth=0.9, zorder=3))
        self._text(_SIDE, y + _ROW / 2, f"module {module}" if way.upright else f"module {module}, {way.short}")
        sent = sum(stream.bytes_per_s for stream in self._streams if stream.module == module)
        if sent > 0:
            self._text(left - 0.1, y + _ROW / 2, rate_of(sent), colour="quiet", align="right")

    # ---- right ------------------------------------------------------------------------------------------------------------------

    def _lines(self, buffer: PlannedBuffer) -> list[str]:
        section = buffer.section
        frames = "every frame" if section.every == 1 else f"1 frame in {section.every}"
        steps = plan_pipeline(section.kernel, self._plan.file.detector.pixel).steps
        pipeline = [step.words for step in steps]
        threads = f" × {section.threads}" if section.unit == "cpu" and section.threads > 1 else ""
        done = f"{section.unit}{threads}: {' → '.join(pipeline)}" if pipeline else "no kernels"
        return [
            f"{buffer.width} × {buffer.height} {self._plan.file.detector.pixel}, {frames}",
            f"{section.slots} slots in stacks of {section.stack}",
            *_folded(f"{done} → {', '.join(sink.kind for sink in section.sink)}"),
        ]

    def _height_of(self, receiver: str) -> float:
        buffers = self._plan.buffers_of(receiver)
        return _HEADING + sum(self._buffer_height(buffer) + _PAD for buffer in buffers)

    def _buffer_height(self, buffer: PlannedBuffer) -> float:
        return 2 * _PAD + _LINE * (1 + len(self._lines(buffer)))

    def _receivers(self, y: float) -> dict[int, tuple[float, float]]:
        """Draw the receivers; return, for each buffer, the top and height of the side where its curves end."""
        entries = {}
        width = _WIDTH - _SIDE - _RIGHT_BEGINS
        for receiver in self._plan.receivers:
            refused = receiver.name in self._refused
            self._box(_RIGHT_BEGINS, y, width, self._height_of(receiver.name), "box", "refused" if refused else "edge")
            colour = "refused" if refused else "text"
            middle = y + _HEADING / 2
            self._text(_RIGHT_BEGINS + _PAD, middle, _short(receiver.label, 40), weight="bold", colour=colour)
            where = self._where(receiver.address)
            self._text(_WIDTH - _SIDE - _PAD, middle, where, colour="quiet", align="right")
            at = y + _HEADING
            for buffer in self._plan.buffers_of(receiver.name):
                position = self._plan.positions[buffer.section.name]
                self._buffer(buffer, position, at)
                entries[position] = (at, self._buffer_height(buffer))
                at += self._buffer_height(buffer) + _PAD
            y += self._height_of(receiver.name) + _BETWEEN
        return entries

    def _buffer(self, buffer: PlannedBuffer, position: int, y: float) -> None:
        height = self._buffer_height(buffer)
        left, right = _RIGHT_BEGINS + _PAD, _WIDTH - _SIDE - _PAD
        colour = _OF_BUFFERS[position % len(_OF_BUFFERS)]
        self._box(left, y, right - left, height, "ground")
        self._axes.add_patch(Rectangle((left, y), 0.07, height, facecolor=colour, linewidth=0, zorder=4))
        got = [load for stream in self._streams if stream.buffer == position for load in stream.loads]
        rate = sum(load.bytes_per_s for load in got)
        said = rate_of(rate) if rate else f"{sum(load.image_bytes for load in got) / 2**20:.3g} MiB an image"
        line = y + _PAD + _LINE / 2
        self._text(left + 0.17, line, _short(buffer.section.name, 36), weight="bold")
        self._text(right - _PAD, line, said, align="right")
        for text in self._lines(buffer):
            line += _LINE
            self._text(left + 0.17, line, text, colour="quiet", size=8)

    # ---- between ----------------------------------------------------------------------------------------------------------------

    def _spread(self, side: tuple[float, float], stream: _Stream, what: str) -> float:
        """Return the height at which the curve of `stream` begins or ends. `side`: top and height. Curves of one module or buffer are placed one
        below the other."""
        own = [one for one in self._streams if getattr(one, what) == getattr(stream, what)]
        top, height = side
        return top + height * (own.index(stream) + 0.5) / len(own)

    def _curve(self, stream: _Stream, begin: float, end: float, part: float) -> None:
        """Draw one curve from height `begin` to height `end`. `part`: its width as a share of the widest."""
        left, right = _LEFT_ENDS, _RIGHT_BEGINS + _PAD
        middle = (left + right) / 2
        path = Path([(left, begin), (middle, begin), (middle, end), (right, end)], [Path.MOVETO, *[Path.CURVE4] * 3])
        siblings = sum(one.buffer == stream.buffer for one in self._streams)
        room = self._buffer_height(self._plan.buffers[stream.buffer]) / siblings
        wide = max(_THINNEST, min(_WIDEST, 0.4 * room * 72) * part)
        colour = _OF_BUFFERS[stream.buffer % len(_OF_BUFFERS)]
        alpha = 0.75 if room > _LABEL else 0.5
        self._axes.add_patch(PathPatch(path, fill=False, edgecolor=colour, linewidth=wide, alpha=alpha, zorder=1))
        if room > _LABEL and stream.bytes_per_s > 0 and siblings > 1:
            text = rate_of(stream.bytes_per_s)
            self._text(right - 0.2, end - wide / 144 - 0.07, text, size=7, align="right", colour="quiet")

    # ---- common -----------------------------------------------------------------------------------------------------------------

    def _title(self) -> None:
        file = self._plan.file
        rate = f"{file.detector.rate_hz:g} frames/s" if file.detector.rate_hz else "as fast as flow allows"
        sent = sum(stream.bytes_per_s for stream in self._streams)
        wire = sum(load.packets_per_s for load in self._summary.loads)
        facts = [f"{len(file.detector.module)} modules", rate, f"{len(self._summary.loads)} DTPs"]
        facts += [rate_of(sent)] if sent else []
        facts += [f"{wire:,.0f} packets/s"] if wire else []
        ways = (" → ".join(dict.fromkeys((one.source_kind, one.destination_kind))) for one in self._plan.receivers)
        link = " and ".join(dict.fromkeys(ways))
        self._text(_SIDE, 0.3, f"{file.run.name}: {file.detector.name}", weight="bold", size=12)
        self._text(_WIDTH - _SIDE, 0.3, f"{', '.join(facts)}, over {link}", colour="quiet", align="right")

    def _where(self, address: str) -> str:
        return _short(address, 30)

    def _text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        colour: str = "text",
        align: str = "left",
        weight: str = "normal",
        size: float = 9,
    ) -> None:
        # a dollar begins a formula for matplotlib
        words = text.replace("$", r"\$")
        self._axes.text(
            x, y, words, color=self._ink[colour], ha=align, va="center", fontweight=weight, fontsize=size, zorder=4
        )

    def _box(self, x: float, y: float, width: float, height: float, fill: str, edge: str = "edge") -> None:
        box = FancyBboxPatch(
            (x, y),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=0.04",
            facecolor=self._ink[fill],
            edgecolor=self._ink[edge],
            linewidth=0.8,
            zorder=2 if fill == "box" else 3,
        )
        self._axes.add_patch(box)


def _streams_of(summary: Summary) -> tuple[_Stream, ...]:
    places = {buffer.section.name: position for position, buffer in enumerate(summary.plan.buffers)}
    found: dict[tuple[int, int], list[DtpLoad]] = {}
    for load in summary.loads:
        found.setdefault((load.dtp.module, places[load.buffer.section.name]), []).append(load)
    return tuple(_Stream(module, buffer, tuple(loads)) for (module, buffer), loads in found.items())


def _folded(text: str) -> Sequence[str]:
    """Return the text in lines of a buffer's width, cut between steps."""
    lines = [""]
    for number, part in enumerate(text.split(" → ")):
        piece = f"→ {part}" if number else part
        if lines[-1] and len(lines[-1]) + len(piece) + 1 > _LONGEST:
            lines.append(f"  {piece}")
        else:
            lines[-1] = f"{lines[-1]} {piece}".strip() if lines[-1] else piece
    return lines


def rate_of(bytes_per_s: float) -> str:
    """Return a rate in bits a second, with three significant digits."""
    value = bytes_per_s * 8
    scale, unit = next(((scale, unit) for scale, unit in _UNITS if value >= scale), _UNITS[-1])
    value /= scale
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
