# SPDX-License-Identifier: Apache-2.0
"""`rashpa feedback SOURCE`: what a receiver decides, as it decides it."""

import json as json_text
import sys
from typing import Annotated, Literal

import numpy as np
import typer

from rashpa.data.base.books import NOT_WHOLE
from rashpa.data.stream.feedback import Feedback, open_feedback
from rashpa.data.stream.feedback_record import FeedbackError, Image

FAILED, BAD_INPUT = 1, 2

_Source = Annotated[str, typer.Argument(help="Name of a ring, its file, or tcp://ADDRESS:PORT.")]
_Timeout = Annotated[
    float | None,
    typer.Option(min=0.0, help="Seconds without an image after which it ends; waits for ever if not given."),
]
_Spin = Annotated[bool, typer.Option("--spin", help="Wait with a processor of its own, some microseconds shorter.")]
_Begin = Annotated[Literal["oldest", "next"], typer.Option(help="In a ring: with the oldest image there, or the next.")]
_Buffer = Annotated[str, typer.Option(help="By ZeroMQ: the only buffer that counts; all when not given.")]
_Json = Annotated[bool, typer.Option("--json", help="A JSON document a line, with all numbers and peaks.")]
_Quiet = Annotated[bool, typer.Option("--quiet", help="Only the figures at the end.")]


def feedback(
    source: _Source,
    timeout: _Timeout = None,
    spin: _Spin = False,
    begin: _Begin = "oldest",
    buffer: _Buffer = "",
    json: _Json = False,
    quiet: _Quiet = False,
) -> None:
    """What a receiver decides of each image, as it decides it, until the run is over.

    A ring that is not there yet is waited for. At the end it says, on standard error, how many images came, how many this reader was too slow
    for, and how long after its last byte an image was here. Exit code 1 when nothing came in time, or the receiver has gone; 2 for bad input; 3 when this reader lost images.
    """
    late: list[float] = []
    try:
        with open_feedback(source, timeout, spin=spin, begin=begin, buffer=buffer) as images:
            for image in images:
                if image.last_packet_ns:
                    late.append(image.latency_s)
                if not quiet:
                    sys.stdout.write((_json_of(image) if json else _line_of(image)) + "\n")
                    sys.stdout.flush()
            _tell(images, late)
            lost = images.lost
    except (FeedbackError, TimeoutError) as error:
        sys.stderr.write(f"rashpa feedback: {error}\n")
        raise typer.Exit(FAILED if isinstance(error, TimeoutError) or late else BAD_INPUT) from None
    except (BrokenPipeError, KeyboardInterrupt):
        raise typer.Exit(FAILED) from None
    if lost:
        raise typer.Exit(NOT_WHOLE)


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


def _tell(images: Feedback, late: list[float]) -> None:
    p50, p99 = np.percentile(late, (50, 99)) * 1e3 if late else (0.0, 0.0)
    sys.stderr.write(f"{len(late)} images, {images.lost} lost; last byte to here: p50 {p50:.3f} ms, p99 {p99:.3f} ms\n")
