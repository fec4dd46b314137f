# SPDX-License-Identifier: Apache-2.0
"""Describes the documents that commands write with `--json`. They define schema/commands.schema.json: `python -m rashpa.cli.documents >
schema/commands.schema.json`."""

import json
import sys
from typing import Any

from pydantic import BaseModel, ConfigDict


class Form(BaseModel):
    """Base of all documents. It refuses keys that it does not name."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Books(Form):
    """Holds the books of a command: `rashpa.data.base.books.DataBooks`."""

    expected: int
    made: int
    missing: int
    errored: int
    troubles: list[str]
    unit: str
    closed: bool
    whole: bool


class Document(Form):
    """Holds the result of a command: its files, its books, and the reason why there is no result. Where there is a `problem`, other keys are absent."""

    command: str
    files: list[str]
    books: Books | None
    problem: str


class Answer(Document):
    """Holds the answer to an order, as text."""

    text: str = ""


class Ended(Answer):
    """Holds the end of a run that was asked to end."""

    frames: int = 0
    planned: int | None = None
    balanced: bool = False
    expected: int = 0
    complete: int = 0
    written: int = 0
    reasons: list[str] = []


class EmulatorAnswer(Form):
    """Holds the counts of an emulator after a trigger, or the reason why it has none."""

    url: str
    problem: str
    triggers: int | None
    frames: int | None


class Triggered(Answer):
    """Holds the answers of all emulators to a trigger."""

    emulators: list[EmulatorAnswer] = []


class NodeAnswer(Answer):
    """Holds the state of a node."""

    node: str = ""
    role: str = ""
    state: str = ""
    holder: str = ""
    message: str = ""


class Entries(Answer):
    """Holds entries of a node's log, or its records of orders."""

    entries: list[dict[str, Any]] = []


class Carried(Document):
    """Holds the result of a run; `report` is report.json, by schema/report.schema.json."""

    report: dict[str, Any] | None = None


class Checked(Document):
    """Holds the findings of a check."""

    images: int = 0
    beam: Any = None
    findings: list[dict[str, str]] = []


class Peaks(Document):
    """Holds the numbers of peaks and images in a CXI file."""

    peaks: int = 0
    images: int = 0


class Followed(Document):
    """Holds the latency of images of a feedback, in milliseconds. Before it, the command prints one document for each image, by
    docs/reference/feedback.md."""

    p50_ms: float = 0.0
    p99_ms: float = 0.0


class Received(Document):
    """Holds the series of a stream, and the messages that belong to no stored series."""

    series: list[dict[str, Any]] = []
    strays: list[dict[str, Any]] = []
    unknown: dict[str, int] = {}
    refused: list[str] = []


class Recording(Form):
    """Holds the books of one recording."""

    name: str
    problem: str
    books: Books


class Processed(Document):
    """Holds the results of `rashpa process`, one for each recording."""

    recordings: list[Recording] = []


class Converted(Document):
    """Holds the counts of images of a run that was repaired or converted."""

    stored: int = 0
    lost: int = 0
    unknown: int = 0
    was_complete: bool | None = None


class Described(Document):
    """Holds the facts of a dataset, as text."""

    dataset: dict[str, str] = {}


class Examples(Answer):
    """Holds the texts of all examples by name, when they are listed."""

    examples: dict[str, str] = {}


class Calibrated(Document):
    """Holds the numbers of the modules in a calibration file."""

    modules: list[int] = []


class Inspected(Document):
    """Holds the facts of each file of a run."""

    runs: list[dict[str, Any]] = []


class Planned(Form):
    """Holds the plan of a run, in bytes, seconds and hertz."""

    run: str
    file: str
    frames: int | None
    rate_hz: float
    nodes: list[dict[str, Any]]
    dtps: list[dict[str, Any]]
    buffers: list[dict[str, Any]]
    limits: list[dict[str, Any]]
    proposals: list[list[dict[str, str]]]
    unknown: list[str]


class Watched(Form):
    """Holds one snapshot of nodes."""

    time: str
    nodes: list[dict[str, Any]]


class Compared(Form):
    """Holds the verdicts on a unit, one for each vector."""

    unit: str
    device: str
    software: str
    machine: dict[str, Any]
    vectors: list[dict[str, Any]]


class Measured(Form):
    """Holds the rows of a benchmark."""

    name: str
    command: str
    machine: dict[str, Any]
    rows: list[dict[str, Any]]


class Benchmarks(Form):
    """Holds the benchmarks; `program` is null for one that is not built."""

    benchmarks: list[dict[str, str | None]]


class Doctored(Form):
    """Holds the faults of a machine, the settings that were made, and the hop at which data stop."""

    findings: list[dict[str, Any]]
    elsewhere: list[str]
    set: list[str]
    not_set: list[str]
    hop: str


class Hex(Form):
    """Holds a packet as hexadecimal digits."""

    hex: str


DOCUMENTS: dict[str, type[BaseModel]] = {
    **dict.fromkeys(("demo", "run", "attach"), Carried),
    "stop": Ended,
    **dict.fromkeys(("pause", "resume", "abort", "limits", "join", "free"), Answer),
    "trigger": Triggered,
    "doctor": Doctored,
    **dict.fromkeys(("node status", "node abort", "node reset"), NodeAnswer),
    **dict.fromkeys(("node log", "node audit"), Entries),
    "plan": Planned,
    **dict.fromkeys(("status", "top"), Watched),
    "conformance": Compared,
    "inspect": Inspected,
    "check": Checked,
    **dict.fromkeys(("combine", "dataset preview"), Document),
    "peaks": Peaks,
    "feedback": Followed,
    "receive-stream": Received,
    "process": Processed,
    **dict.fromkeys(("repair", "convert"), Converted),
    **dict.fromkeys(("dataset make", "dataset info"), Described),
    "example": Examples,
    "calibrate pedestal": Calibrated,
    "packet encode": Hex,
    "bench list": Benchmarks,
    **dict.fromkeys((f"bench {name}" for name in ("link", "kernel", "gpu", "opencl", "chain", "feedback", "group", "rtl")), Measured),
}  # fmt: skip
"""The form of each command's document. `rashpa packet decode` writes a packet, with the keys of its layers."""


def commands_schema() -> dict[str, Any]:
    """Return schema/commands.schema.json: the schema of each command's document, by the command."""
    forms = {model.__name__: model.model_json_schema() for model in DOCUMENTS.values()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Documents of commands",
        "commands": {name: model.__name__ for name, model in DOCUMENTS.items()},
        "forms": forms,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(commands_schema(), indent=2, ensure_ascii=False) + "\n")
