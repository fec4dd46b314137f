#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Synthesises rtl/ for UltraScale+ with Yosys, block by block and as a whole, and compares size and depth with the stored ones.

Usage: build/rtl/bin/python tools/rtl/synth.py [--store | --changed] [--jobs N] [BLOCK…]. Prints a table; build/rtl/synth has netlists and logs.
With --changed it leaves out blocks whose sources and tools are those of the stored figures: of the same the same comes out.
Exit 1 when a figure is more than 10 % above the stored one (LUT levels: above it at all), or when a bar is missed that is
not among those that are known to be. A proxy: nothing is placed, no clock is met.

Wholes are `sender` and `unit`: their parts are synthesised alone, in processes of their own, and put in their places, so that paths from block to block are
counted, but nothing is optimised across them. Unchanged parts are not done again.
"""

import argparse
import ast
import concurrent.futures
import hashlib
import importlib.metadata
import json
import os
import re
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blocks import BUILD, ROOT, RTL, blocks, modules, packages
from netlist import Json, Size, joined, measure

STORED = ROOT / "bench" / "results" / "rtl_synth.json"
FIGURES = ("lut", "memory", "packed", "ff", "bram36", "dsp", "levels", "carry")
SLACK = 1.1
FOLDER = BUILD / "synth"
LONGEST_S = 540  # of one block
# Blocks whose parameters differ from place to place: they belong to those that use them.
SMALL = ("fifo", "table_word")
PASSES = "synth_xilinx -family xcup -flatten -noiopad -noclkbuf -nowidelut -top {top}"
# The delay of a wire in the mapping beside 100 to 250 ps of a LUT: the fewest levels win.
WIRE_PS = 1000
# At most: of every block, and of the whole.
BAR = {"levels": 4}
WHOLE_BARS: dict[str, dict[str, int]] = {
    "sender": BAR | {"packed": 18_000, "ff": 25_000, "bram36": 24},
    "unit": BAR | {"packed": 45_000},
    "writer_core": BAR | {"packed": 18_000, "ff": 25_000, "bram36": 48},
}


def parts(whole: str) -> list[str]:
    """Return the blocks that a whole is made of."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in (RTL / whole).glob("*.sv"))
    used = set(re.findall(r"^ +(\w+) (?:#\(|u_\w+ \()", text, re.MULTILINE))
    return sorted(used & blocks().keys() - {whole, *SMALL})


def without(top: str) -> list[str]:
    """Return blocks that are left out of this one's netlist and put into it later."""
    return parts(top) if top in WHOLE_BARS else []


def code_of(path: Path) -> bytes:
    """Return the text of a source without its comments and docstrings, on which no figure depends."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return re.sub(r"\s*//.*", "", text).encode()
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            del node.body[0]
    return ast.unparse(tree).encode()


def key(top: str) -> str:
    """Return a key that differs when any source of the netlist does."""
    sources: list[str] = []
    waiting = [top]
    while waiting:
        name = waiting.pop()
        sources.append(name)
        used = set(re.findall(r"\b\w+\b", modules()[name].read_text(encoding="utf-8")))
        waiting += (used & modules().keys()) - {*sources, *waiting, *without(top)}
    digest = hashlib.sha256(f"{importlib.metadata.version('pyosys')} {PASSES} {WIRE_PS} {without(top)}".encode())
    for path in (*packages(), *(modules()[name] for name in sorted(sources))):
        digest.update(code_of(path))
    return digest.hexdigest()


def stored_key(top: str) -> str:
    """Return a key that differs when any source of a stored figure does: the counting code, too, and the blocks of a whole."""
    digest = hashlib.sha256()
    for name in ("netlist.py", "elaborate.py"):
        digest.update(code_of(Path(__file__).with_name(name)))
    for one in (top, *without(top)):
        digest.update(key(one).encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class Made:
    """A netlist, or the log that says why there is none."""

    netlist: Json
    failed: str = ""
    seconds: float = 0  # of a processor


def synthesise(top: str) -> Made:
    """Synthesise in a process of its own: Yosys' memory is given back, and several run at a time."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    made, stamp, log = (FOLDER / f"{top}{suffix}" for suffix in (".json", ".key", ".log"))
    if not (made.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == key(top)):
        stamp.unlink(missing_ok=True)
        now = key(top)
        with log.open("w", encoding="utf-8") as said:
            command = [sys.executable, str(Path(__file__).resolve()), "--yosys", top]
            try:
                done = subprocess.run(command, stdout=said, stderr=subprocess.STDOUT, check=False, timeout=LONGEST_S)  # noqa: S603
            except subprocess.TimeoutExpired:
                return Made({}, f"longer than {LONGEST_S} s: {log}")
        if done.returncode:
            return Made({}, str(log))
        stamp.write_text(now, encoding="utf-8")
    netlist = json.loads(made.read_text(encoding="utf-8"))["modules"][top]
    return Made(
        netlist, seconds=float(re.findall(r"^processor: (.+) s$", log.read_text(encoding="utf-8"), re.MULTILINE)[-1])
    )


def yosys(top: str) -> None:
    """Run Yosys, in the process of its own."""
    from elaborate import read
    from pyosys import libyosys

    design = libyosys.Design()
    read(top, design, without(top))
    for cell in design.top_module().cells_.values():
        if str(cell.type).removeprefix("\\") in without(top):  # abc9 takes no cells without an inside
            for name in list(cell.parameters.keys()):
                cell.unsetParam(name)
    libyosys.run_pass(f"scratchpad -set synth_xilinx.abc9.W {WIRE_PS}", design)
    libyosys.run_pass(PASSES.format(top=top), design)
    libyosys.run_pass(f"select {top}", design)
    libyosys.run_pass(f"write_json -selected {FOLDER / top}.json", design)
    sys.stdout.flush()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(f"\nprocessor: {sum(one.ru_utime + one.ru_stime for one in used):.1f} s")


def worse(row: dict[str, Any], stored: dict[str, Any] | None) -> list[str]:
    """Return the figures that grew too much; all of a block that is not stored do."""
    if stored is None:
        return ["not stored: --store"]
    grown = []
    for figure in FIGURES:
        most = stored[figure] if figure == "levels" else stored[figure] * SLACK
        if row[figure] > most:
            grown.append(f"{figure} {row[figure]:g}, stored {stored[figure]:g}")
    return grown


def misses(top: str, row: dict[str, Any]) -> dict[str, Any]:
    """Return the figures above their bar."""
    bar = WHOLE_BARS.get(top, BAR)
    return {figure: row[figure] for figure, most in bar.items() if row[figure] > most}


class Table:
    """Prints rows as they come and keeps what is wrong with them."""

    def __init__(self, stored: dict[str, Any], store: bool) -> None:
        self._stored, self._store = stored, store
        self.rows: dict[str, dict[str, Any]] = {}
        self.failed = False
        print(f"{'block':<24}{''.join(f'{figure:>8}' for figure in FIGURES)}{'s':>6}   longest path")

    def fail(self, top: str, why: str) -> None:
        print(f"{top:<24}FAILED: {why}", flush=True)
        self.failed = True

    def add(self, top: str, size: Size, seconds: float) -> None:
        self._show(top, size.row(), f"{seconds:>6.0f}   {size.levels}")

    def keep(self, top: str) -> None:
        """Keep the stored figures for these sources."""
        self._show(top, self._stored["blocks"][top], f"{'':>6}   stored")

    def _show(self, top: str, row: dict[str, Any], behind: str) -> None:
        self.rows[top] = row
        cells = "".join(f"{row[figure]:>8g}" for figure in FIGURES)
        print(f"{top:<24}{cells}{behind}", flush=True)
        missed = misses(top, row)
        known = self._stored.get("missed", {}).get(top, {})
        for figure, value in missed.items():
            what = "known" if figure in known or self._store else "NEW"
            print(f"{'':<24}above the bar ({what}): {figure} {value:g}", flush=True)
            self.failed |= what == "NEW"
        for line in [] if self._store else worse(row, self._stored.get("blocks", {}).get(top)):
            print(f"{'':<24}WORSE: {line}", flush=True)
            self.failed = True

    def write(self) -> None:
        known = {top: row for top, row in self._stored.get("blocks", {}).items() if top in blocks()}
        rows = dict(sorted((known | self.rows).items()))
        document = {
            "name": "rtl_synth",
            "command": "make synth",
            "what": "synth_xilinx -family xcup of Yosys (pyosys 0.70): a proxy, neither placed nor timed. lut: primitives; "
            "packed: LUTs of the chip, where two functions of at most five inputs in all that share one are one "
            "LUT, and memories, shift registers and carries take theirs",
            "blocks": rows,
            "keys": dict(
                sorted(
                    (
                        {top: key for top, key in self._stored.get("keys", {}).items() if top in rows}
                        | {top: stored_key(top) for top in self.rows}
                    ).items()
                )
            ),
            "missed": {top: missed for top, row in rows.items() if (missed := misses(top, row))},
        }
        STORED.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    """Exit status: 1 when a block grew, missed a bar or could not be synthesised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", action="store_true", help="these figures are the stored ones from now on")
    parser.add_argument("--changed", action="store_true", help="only what the stored figures are not of")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at a time")
    parser.add_argument("--yosys", metavar="BLOCK", help=argparse.SUPPRESS)
    parser.add_argument("block", nargs="*")
    options = parser.parse_args()
    if options.yosys:
        yosys(options.yosys)
        return 0
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    table = Table(stored, options.store)
    wanted = options.block or sorted(blocks().keys() - {*SMALL})
    if options.changed:
        same = [top for top in wanted if stored.get("keys", {}).get(top) == stored_key(top)]
        for top in same:
            table.keep(top)
        wanted = [top for top in wanted if top not in same]
    wholes = [top for top in wanted if top in WHOLE_BARS]
    tops = list(dict.fromkeys([*wanted, *(part for whole in wholes for part in parts(whole))]))
    # The largest first; those that are not known may be it.
    sizes = stored.get("blocks", {})
    tops.sort(key=lambda top: -sizes.get(top, {"lut": 1e9})["lut"] if top not in WHOLE_BARS else -1)
    made: dict[str, Made] = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(synthesise, top): top for top in tops}
        for done in concurrent.futures.as_completed(running):
            top = running[done]
            made[top] = done.result()
            if made[top].failed:
                table.fail(top, made[top].failed)
            elif top not in WHOLE_BARS and top in wanted:
                table.add(top, measure(made[top].netlist), made[top].seconds)
    for whole in wholes:
        of = parts(whole)
        lacking = [top for top in (whole, *of) if made[top].failed]
        if lacking:
            table.fail(whole, f"without {', '.join(lacking)}")
        else:
            flat = joined(made[whole].netlist, {top: made[top].netlist for top in of})
            table.add(whole, measure(flat), sum(made[top].seconds for top in (whole, *of)))
    if options.store and not table.failed:
        table.write()
    return int(table.failed)


if __name__ == "__main__":
    sys.exit(main())
