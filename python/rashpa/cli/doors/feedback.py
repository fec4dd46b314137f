# SPDX-License-Identifier: Apache-2.0
"""`rashpa feedback SOURCE`: shows the decisions of a receiver as it takes them."""

import json as json_text
import sys
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
import typer

from rashpa.cli.teller import Teller
from rashpa.data.base.books import DataBooks
from rashpa.data.base.exit_code import ExitCode
from rashpa.data.stream.feedback import open_feedback
from rashpa.data.stream.feedback_record import FeedbackError, Image

_Source = Annotated[str, typer.Argument(help="Name of a ring, its file, or tcp://ADDRESS:PORT.")]
_Timeout = Annotated[
    float | None,
    typer.Option(min=0.0, help="Seconds without an image after which it ends; waits for ever if not given."),
]
_Spin = Annotated[bool, typer.Option("--spin", help="Wait with a processor of its own, some microseconds shorter.")]
_Begin = Annotated[
    Literal["oldest", "next"], typer.Option(help="First image to take from a ring: the oldest one there, or the next.")
]
_Buffer = Annotated[str, typer.Option(help="The only buffer to take by ZeroMQ; all when not given.")]
_Json = Annotated[
    bool, typer.Option("--json", help="A JSON document a line, with all numbers and peaks; the last one has the books.")
]
_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the figures at the end.")]


def feedback(
    source: _Source,
    timeout: _Timeout = None,
    spin: _Spin = False,
    begin: _Begin = "oldest",
    buffer: _Buffer = "",
    json: _Json = False,
    quiet: _Quiet = False,
) -> None:
    """Show the decisions of a receiver on each image, as it takes them, until the run is over.

    The command waits until the receiver makes its ring. At the end, standard error has the number of images that came and of images that this
    reader was too slow for. It also has the latency from an image's last byte until the decision arrived here. With --json, the last document has
    these figures.
    """
    tell = Teller("feedback", json)
    seen = _Seen()
    try:
        with open_feedback(source, timeout, spin=spin, begin=begin, buffer=buffer) as images:
            try:
                for image in images:
                    seen.count(image)
                    if not quiet:
                        sys.stdout.write((_json_of(image) if json else _line_of(image)) + "\n")
                        sys.stdout.flush()
            finally:
                seen.lost = images.lost
    except (FeedbackError, TimeoutError) as error:
        code = ExitCode.FAILED if isinstance(error, TimeoutError) or seen.images else ExitCode.BAD_INPUT
        tell.complain(str(error))
        tell.end("", seen.books, code=code, problem=str(error), **seen.figures)
    except BrokenPipeError:
        raise typer.Exit(ExitCode.FAILED) from None
    except KeyboardInterrupt:
        tell.end("", seen.books, code=ExitCode.INTERRUPTED, problem="stopped before the run was over", **seen.figures)
    sys.stderr.write(f"{seen.text}\n")
    tell.end("", seen.books, **seen.figures)


@dataclass
class _Seen:
    """Counts images. `late`: seconds from the last byte of an image until its decision arrived here; `lost`: images for which this reader was too
    slow."""

    images: int = 0
    lost: int = 0
    late: list[float] = field(default_factory=list)

    def count(self, image: Image) -> None:
        self.images += 1
        if image.last_packet_ns:
            self.late.append(image.latency_s)

    @property
    def books(self) -> DataBooks:
        return DataBooks(self.images + self.lost, self.images, self.lost)

    @property
    def figures(self) -> dict[str, Any]:
        """Return the median and the 99th percentile of the latencies, ms."""
        p50, p99 = np.percentile(self.late, (50, 99)) * 1e3 if self.late else (0.0, 0.0)
        return {"p50_ms": float(p50), "p99_ms": float(p99)}

    @property
    def text(self) -> str:
        p50, p99 = self.figures.values()
        return f"{self.images} images, {self.lost} lost; last byte to here: p50 {p50:.3f} ms, p99 {p99:.3f} ms"


def _line_of(image: Image) -> str:
    numbers = " ".join(f"{name}={value:g}" for name, value in image.scalars.items()) if image.measured else ""
    rows = " ".join(f"{name}[{len(rows)}]" for name, rows in image.tables.items() if len(rows))
    reason = "" if image.reason == "none" else f" ({image.reason})"
    return f"{image.buffer} {image.index} frame {image.frame} {image.completeness} {image.decision}{reason} {numbers} {rows}".rstrip()


def _json_of(image: Image) -> str:
    plain = {name: getattr(image, name) for name in image.__dataclass_fields__ if name not in ("scalars", "tables")}
    tables = {
        name: [dict(zip(rows.dtype.names or (), row, strict=True)) for row in rows.tolist()]
        for name, rows in image.tables.items()
    }
    return json_text.dumps({**plain, "scalars": dict(image.scalars), "tables": tables})
