#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the table of working parts into README.md, from the registries of links, units, kernels, sinks, datasets and extras.

This module lists the machines on which each part is tested, since no registry has them. A part without an entry is an error.

Usage: make_works.py [--check]. With --check nothing is written; exit 1 when the table differs.
"""

import json
import re
import sys
import tomllib
import typing
from pathlib import Path

from rashpa.control.runfile import run_file, sink_sections
from rashpa.data.datasets import dataset_spec

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- works: made by tools/make_works.py -->", "<!-- /works -->"

# Of each part of a registry: its page, and the machines of its tests.
LINKS = {
    "roce": ("docs/explanations/software_roce.md", "every CI run; Soft-RoCE of the kernel, both ways"),
    "verbs": ("docs/explanations/links.md", "Soft-RoCE in virtual machines; no RNIC"),
    "pcie": ("docs/explanations/links.md", "every CI run; its engine `cuda` on H100"),
    "sls": ("docs/how-to/receive_from_a_detector.md", "its emulator in every CI run; no detector"),
    "stream2": ("docs/how-to/receive_a_stream.md", "its emulator in every CI run; no detector"),
}
UNITS = {
    "cpu": ("docs/explanations/threads.md", "every CI run; AVX2 and AVX-512"),
    "cuda": ("docs/explanations/gpu.md", "H100 and H200, by hand"),
    "opencl": ("docs/explanations/opencl.md", "PoCL in every CI run; H100 by hand"),
    "fpga": ("docs/explanations/fpga_unit.md", "simulation; no board"),
}
SINKS = {
    "hdf5": "docs/reference/files.md",
    "raw": "docs/how-to/write_raw_and_convert.md",
    "stream2": "docs/how-to/stream_to_other_programs.md",
    "memory": "docs/reference/run_file.md",
    "null": "docs/reference/run_file.md",
}
SOURCES = {
    "jungfrau": "docs/tutorials/first_frames.md",
    "pattern": "docs/how-to/add_a_detector.md",
    "files": "docs/tutorials/your_own_detector.md",
    "directory": "docs/reference/run_file.md",
    "stored": "docs/how-to/replay_a_run.md",
}
ENGINES = {
    "software": ("docs/how-to/run_nodes.md", "every CI run"),
    "fpga": ("docs/how-to/use_a_card.md", "simulation; no board"),
}
CONTROL = {
    "bluesky": "docs/how-to/use_from_bluesky.md",
    "tango": "docs/how-to/use_from_tango.md",
    "epics": "docs/how-to/use_from_epics.md",
}
KINDS = {
    "link": "Links",
    "engine": "Sources of packets",
    "unit": "Units",
    "kernel": "Kernels",
    "source": "Frames",
    "sink": "Sinks",
    "control": "Control systems",
}


def literals(annotation: object) -> tuple[str, ...]:
    """Return the names that a field of the run file allows."""
    return tuple(str(name) for name in typing.get_args(annotation))


def names() -> dict[str, list[str]]:
    """Return the names of all parts, by kind, as the registries have them."""
    kernels = json.loads((ROOT / "schema" / "kernels.json").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    specs = [getattr(dataset_spec, name) for name in dir(dataset_spec) if name.endswith("Spec")]
    sinks = typing.get_args(typing.get_args(sink_sections.Sink)[0])
    return {
        "link": [link["name"] for link in json.loads((ROOT / "schema" / "links.json").read_text(encoding="utf-8"))],
        "engine": list(literals(run_file.Emulator.model_fields["engine"].annotation)),
        "unit": list(literals(run_file.Buffer.model_fields["unit"].annotation)),
        "kernel": [kernel["name"] for kernel in kernels],
        "source": [kind for spec in specs if (kind := _kind(spec))],
        "sink": [kind for sink in sinks if (kind := _kind(sink))],
        "control": [extra for extra in project["optional-dependencies"] if extra in CONTROL],
    }


def _kind(model: object) -> str:
    fields = getattr(model, "model_fields", {})
    named = literals(fields["kind"].annotation) if "kind" in fields else ()
    return named[0] if named else ""


def _units(unit: str) -> int:
    kernels = json.loads((ROOT / "schema" / "kernels.json").read_text(encoding="utf-8"))
    return sum(unit in kernel["units"] for kernel in kernels)


def table() -> str:
    """Return the table in Markdown. Raise KeyError that names a part without a page."""
    found = names()
    rows = ["| part | there is | tried |", "|---|---|---|"]
    for kind, words in (("link", LINKS), ("engine", ENGINES), ("unit", UNITS)):
        for name in found[kind]:
            page, tried = words[name]
            count = f", {_units(name)} kernels" if kind == "unit" else ""
            rows.append(f"| {KINDS[kind]} | [`{name}`]({page}){count} | {tried} |")
    kernels = ", ".join(f"[`{name}`](docs/kernels/{name}.md)" for name in found["kernel"])
    rows.append(
        f"| {KINDS['kernel']} | {kernels}; [yours](docs/how-to/add_a_kernel.md) | public vectors on each unit |"
    )
    for kind, pages in (("source", SOURCES), ("sink", SINKS), ("control", CONTROL)):
        listed = ", ".join(f"[`{name}`]({pages[name]})" for name in found[kind])
        rows.append(f"| {KINDS[kind]} | {listed} | every CI run |")
    return "\n".join(rows)


def main() -> int:
    """Return the exit status."""
    path = ROOT / "README.md"
    before = path.read_text(encoding="utf-8")
    after = re.sub(f"(?s){BEGIN}.*?{END}", lambda _: f"{BEGIN}\n{table()}\n{END}", before)
    if "--check" in sys.argv[1:]:
        if after != before:
            print("README.md: its table of what works differs from the registries; run tools/make_works.py")
        return int(after != before)
    path.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
