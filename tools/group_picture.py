# SPDX-License-Identifier: Apache-2.0
"""Draws bench/results/group.json as docs/explanations/pictures/group_throughput.svg: `python tools/group_picture.py`."""

import json
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Write the picture again, with the same bytes for the same numbers."""
    rows = {row["what"]: row for row in json.loads((ROOT / "bench/results/group.json").read_text())["rows"]}
    measured = {1: rows["1 receiver"], 2: rows["2 receivers"], 4: rows["4 receivers"]}
    mpl.rcParams["svg.hashsalt"] = "rashpa"
    figure = Figure(figsize=(5.6, 3.4), layout="constrained")
    axes = figure.add_subplot(xlabel="receivers", ylabel="images/s", xticks=range(1, 5), xlim=(0.7, 4.3))
    one = measured[1]["value"]
    axes.plot([1, 4], [one, 4 * one], "--", color="grey", label="linear")
    axes.plot(list(measured), [row["value"] for row in measured.values()], "o-", label="measured")
    axes.plot(4, rows["4 receivers, one killed: afterwards"]["value"], "s", label="4, of which one was killed")
    axes.set_ylim(bottom=0)
    axes.grid(color="#e3e3e3")
    axes.legend(loc="upper left")
    figure.savefig(ROOT / "docs/explanations/pictures/group_throughput.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
