# SPDX-License-Identifier: Apache-2.0
"""The files that may read the system's clock, which a user may set during a run: only for dates, never for durations."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ASKS = re.compile(
    r"time\.time(?:_ns)?\(|datetime\.(?:now|utcnow|today)\(|date\.today\(|time\.(?:gmtime|localtime)\(\)"
    r"|system_clock::now|CLOCK_REALTIME|gettimeofday\(|now_utc_ns\(|[^_]tai_ns\(\)"
)
MAY = {
    "python/rashpa/beamline/epics.py": "records of EPICS carry the time of the server",
    "python/rashpa/cli/files/calibrate.py": "the day of a calibration",
    "python/rashpa/cli/plan/plan.py": "how many days old a calibration is",
    "python/rashpa/cli/report/report.py": "when a report was made",
    "python/rashpa/cli/run/run.py": "how many days old a calibration is",
    "python/rashpa/cli/run/watch.py": "lines of a terminal",
    "python/rashpa/dashboard/alarms.py": "when an alarm began and was acknowledged",
    "python/rashpa/dashboard/audit.py": "when somebody gave an order",
    "python/rashpa/dashboard/calibration/handler.py": "how old a calibration is",
    "python/rashpa/dashboard/orders.py": "the name of a run",
    "python/rashpa/dashboard/settings/next_run.py": "the name of a run file",
    "python/rashpa/data/base/tai.py": "whether the table of leap seconds is out of date",
    "python/rashpa/node/door/audit.py": "when somebody gave an order",
    "python/rashpa/node/engine/limits/limit_books.py": "when limits were changed",
    "python/rashpa/node/host/load.py": "when a process has begun, beside the time of its machine",
    "python/rashpa/node/judge/trial_sender.py": "the time of an image in its record",
    "python/rashpa/node/offline/measure.py": "the day of a measurement",
    "python/rashpa/node/offline/process_facts.py": "when images were processed",
    "src/bindings/log.cpp": "lines of logs",
    "src/rashpa/core/time/clock.hpp": "the only place of the engine",
    "src/rashpa/core/log.cpp": "lines of logs",
    "src/rashpa/emulator/emulator.cpp": "when a run begins; its frames are so long behind as a monotonic clock says",
    "src/rashpa/sink/nxmx/master.cpp": "the end of a run whose start is no time",
    "src/rashpa/sink/nxmx/nxmx_tree.cpp": "the start of a run; its end is so long behind as a monotonic clock says",
    "src/rashpa/sink/stream2/messages.cpp": "the name of a series",
    "src/rashpa/sink/stream2/stream2_sink.cpp": "when a series was armed",
}


def test_nobody_else_asks_the_systems_clock() -> None:
    sources = [*ROOT.glob("python/rashpa/**/*.py"), *ROOT.glob("src/**/*.cpp"), *ROOT.glob("src/**/*.hpp")]
    ask = set()
    for path in sources:
        name = str(path.relative_to(ROOT))
        testing = "testing" in name or name.endswith(("_test.cpp", "_bench.cpp", "_fuzz.cpp")) or "/bench/" in name
        if not testing and ASKS.search(path.read_text(encoding="utf-8")):
            ask.add(name)
    assert ask - MAY.keys() == set(), "a duration wants time.monotonic() or now_ns(); a day wants a line above"
    assert MAY.keys() - ask == set(), "they do not ask any more"
