#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the product reads time and random numbers in one place, so that the simulator (tests/simulation) can replace both.

Time comes from `now_ns()` and its neighbours in `rashpa/core/time/clock.hpp`, random numbers from `rashpa/wire/random_numbers.hpp`. A file that asks
the system in another way must be in the list ASKING; one that the simulator cannot serve must be in ESCAPING. Both lists may only become shorter: a
line that is no longer needed is reported, too.

Usage: check_clock.py [ROOT]. Prints one line for each place; exit 1 when there is one.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from git_files import git_files

CLOCK = re.compile(r"\b(?:steady_clock|system_clock|high_resolution_clock|clock_gettime|gettimeofday|random_device)\b")
ESCAPE = re.compile(
    r"\b(?:__rdtscp?|__builtin_ia32_rdtscp?|_rdrand\w*|_rdseed\w*|getrandom|io_uring_queue_init|vfork)\b"
)
TESTS = re.compile(r"(_test|_bench|_fuzz)\.(cpp|cu)$|testing|/contract/bench\.")
ASKING = {
    "src/rashpa/card/card.cpp",
    "src/rashpa/card/unit_card.cpp",
    "src/rashpa/core/log.cpp",
    "src/rashpa/core/time/clock.hpp",
    "src/rashpa/link/pcie/control_block.cpp",
    "src/rashpa/publish/process.cpp",
    "src/rashpa/publisher/outlet.cpp",
    "src/rashpa/sink/raw/raw_store.cpp",
    "src/rashpa/sink/stream2/messages.cpp",
    "src/rashpa/sink/stream2/stream2_sink.cpp",
    "src/rashpa/wire/random_numbers.cpp",
}
ESCAPING = {"src/rashpa/sink/raw/uring_writer.cpp"}


def is_product(name: str) -> bool:
    """Return True for a C++ file of the product that is no test."""
    return name.startswith("src/rashpa/") and name.endswith((".cpp", ".hpp", ".cu", ".cuh")) and not TESTS.search(name)


def complaints(root: Path) -> Iterator[str]:
    """Yield one line for each place that asks the system, and for each list entry that is no longer needed."""
    asking, escaping = set(), set()
    for name in filter(is_product, git_files(root)):
        for number, line in enumerate((root / name).read_text(encoding="utf-8").splitlines(), 1):
            code = line.split("//", 1)[0]
            if CLOCK.search(code):
                asking.add(name)
                if name not in ASKING:
                    yield f"{name}:{number}: asks the system for time or chance; take now_ns() or random_key()"
            if ESCAPE.search(code):
                escaping.add(name)
                if name not in ESCAPING:
                    yield f"{name}:{number}: the simulator cannot answer this; ask by libc"
    for name in sorted((ASKING - asking) | (ESCAPING - escaping)):
        yield f"tools/check_clock.py: {name} needs no line any more; remove it"


def main() -> int:
    """Return the exit status, 0 when no place asks the system."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    found = list(complaints(root))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
