# SPDX-License-Identifier: Apache-2.0
"""Types a page from top to bottom in the current folder, as a separate program, so that a page has its own names, ports and processes.

It reads [{"where", "language", "text", "marks", "shared"}, …] from standard input, prints faults, and ends with 1 when there is one. A shared step,
which begins several pages, is typed once: its files are kept in $PAGES_RUNS, and copied for the next page. Fragments of run files belong to
`run.toml` if the page has made one, otherwise to BASE.
"""

import contextlib
import fcntl
import hashlib
import io
import json
import linecache
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import traceback
from pathlib import Path
from typing import Any

# What a fragment of a run file is put into, on a page that makes no run.toml.
BASE: dict[str, Any] = {
    "run": {"name": "page", "frames": 40, "output": "out/page", "existing": "replace"},
    "detector": {"width": 1024, "height": 512, "rate_hz": 100, "distance_m": 0.12, "energy_kev": 12.4},
    "dataset": {"kind": "pattern", "frames": 8},
    "link": {"port": 0},
    "buffer": [{"name": "full", "sink": [{"kind": "null"}]}],
}
_SECONDS = 250
_FRAMES = 60  # of run files that pages show, which may say what is in them
_PLAYED = 10
_OF_DATASET = re.compile(
    r"(^\[dataset\][^\n]*\n(?:[^\[\n].*\n|\n)*?frames = |^dataset = \{[^}\n]*\bframes = )(\d[\d_]*)", re.MULTILINE
)
_INTERRUPTED = 130
_KEPT = Path(".exported")


def shortened(text: str, most: int) -> str:
    """Return a run file that ends after `most` frames, with few different frames, because making frames takes most of a run."""
    text = re.sub(r"\b(frames = )(\d[\d_]*)", lambda found: f"{found[1]}{min(int(found[2]), most)}", text)
    return _OF_DATASET.sub(lambda found: f"{found[1]}{min(int(found[2]), _PLAYED)}", text)


def with_fragment(base: dict[str, Any], fragment: dict[str, Any]) -> dict[str, Any]:
    """Return the tables of a run file with those of the fragment in place of theirs; kernels and sinks without a buffer belong to the first one."""
    whole = {**base}
    for name, value in fragment.items():
        old = whole.get(name)
        if name == "buffer" and isinstance(value, dict):
            whole[name] = [{**base["buffer"][0], **value}, *base["buffer"][1:]]
        elif name == "buffer":
            whole[name] = [{**base["buffer"][0], **one} for one in value]
        elif (
            isinstance(value, dict) and isinstance(old, dict) and value.get("kind", old.get("kind")) == old.get("kind")
        ):
            whole[name] = {**old, **value}
        else:
            whole[name] = value
    return whole


def fitted(whole: dict[str, Any]) -> dict[str, Any]:
    """Return the same with frames of the detector's modules, or with modules for the named frames, and with a buffer at each receiver."""
    used = {buffer.get("receiver") for buffer in whole["buffer"]} | {
        name for group in whole.get("group", []) for name in group["receivers"]
    }
    listed = whole.get("receiver", [])
    idle = [one["name"] for one in listed[1:] if one["name"] not in used] if isinstance(listed, list) else []
    first = {key: value for key, value in whole["buffer"][0].items() if key != "group"}
    whole = {
        **whole,
        "buffer": [*whole["buffer"], *({**first, "name": f"at_{name}", "receiver": name} for name in idle)],
    }
    detector, dataset = whole["detector"], whole["dataset"]
    if dataset["kind"] == "pattern":
        shape = {name: detector[name] for name in ("width", "height", "pixel") if name in detector}
        return {**whole, "dataset": {**dataset, **shape, "modules": len(detector.get("module", [1]))}}
    if dataset["kind"] == "files" and "width" in dataset:
        height = dataset["height"]
        places = [{"x": 0, "y": height * number} for number in range(len(dataset["files"]))]
        return {**whole, "detector": {**detector, "width": dataset["width"], "height": height, "module": places}}
    return whole


class Page:
    """Holds the state of a page that is being typed."""

    def __init__(self) -> None:
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._stay: list[tuple[str, subprocess.Popen[bytes], Path]] = []

    def take(self, step: dict[str, Any]) -> None:
        """Type a step. Raise its errors."""
        language, marks, text = step["language"], step["marks"], step["text"]
        for mark, mode in (("file", "w"), ("appended", "a")):
            if mark in marks:
                path = Path(marks[mark])
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open(mode, encoding="utf-8") as file:
                    file.write(shortened(text, _FRAMES) if path.suffix == ".toml" else text)
                return
        if language == "toml":
            self._fragment(text)
        elif language == "json":
            for line in text.split("\n{"):
                json.loads(line if line.startswith("{") else "{" + line)
        elif language == "python":
            self._python(text, step["where"])
        elif "stays" in marks:
            self._start(step["where"], text, marks["stays"])
        elif step.get("shared"):
            self._shared(text)
        elif language in {"sh", "bash", "console"}:
            self._shell(text, int(marks.get("exit", "0")))

    def end(self) -> None:
        """Interrupt the commands that still run, as a user would."""
        for where, process, output in self._stay:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGINT)
            code = process.wait(_SECONDS)
            if code not in {0, _INTERRUPTED, -signal.SIGINT}:
                raise AssertionError(f"{where}: ends with {code}\n{output.read_text(encoding='utf-8')}")

    def kill(self) -> None:
        """Kill the commands that still run."""
        for _, process, _ in self._stay:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def _fragment(self, text: str) -> None:
        from rashpa.control.plan.run_plan import plan_run
        from rashpa.control.runfile.run_file_reader import run_file_of

        own = Path("run.toml")  # the page has made it
        base = tomllib.loads(own.read_text(encoding="utf-8")) if own.is_file() else BASE
        fragment = tomllib.loads(text.replace('"…"', '"0123456789abcdef"'))
        if "control" in fragment.get("detector", {}):  # such a detector sends by itself: nothing is played
            whole = fragment if "run" in fragment else with_fragment(base, fragment)
            plan_run(*run_file_of({table: keys for table, keys in whole.items() if table != "dataset"}))
            return
        plan_run(*run_file_of(fitted(with_fragment(base, fragment))))

    def _python(self, text: str, where: str) -> None:
        printed = io.StringIO()
        linecache.cache[where] = (len(text), None, text.splitlines(keepends=True), where)
        with contextlib.redirect_stdout(printed):
            exec(compile(text, where, "exec"), self._names)

    def _shared(self, text: str) -> None:
        """Type a block in a separate folder, unless another page has done so, and copy the files that it makes."""
        kept = Path(os.environ["PAGES_RUNS"]) / hashlib.sha256(text.encode()).hexdigest()[:16]
        kept.mkdir(parents=True, exist_ok=True)
        with (kept / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (kept / "made").is_dir():
                shutil.rmtree(kept / "new", ignore_errors=True)  # of a page that failed
                (kept / "new").mkdir()
                with contextlib.chdir(kept / "new"):
                    self._shell(text, 0)
                    _KEPT.unlink()
                (kept / "new").rename(kept / "made")
        shutil.copytree(kept / "made", ".", dirs_exist_ok=True)

    def _shell(self, text: str, code: int) -> None:
        script = f"set -eu -o pipefail\n[ -f {_KEPT} ] && . ./{_KEPT}\n{text}\nexport -p > {_KEPT}\n"
        done = subprocess.run(
            ["bash", "-c", script], stdin=subprocess.DEVNULL, stdout=-1, stderr=-2, timeout=_SECONDS, check=False
        )
        if done.returncode != code:
            raise AssertionError(f"ends with {done.returncode}:\n{done.stdout.decode(errors='replace')}")

    def _start(self, where: str, text: str, awaited: str) -> None:
        output = Path(f".stays_{len(self._stay)}").absolute()
        script = f"[ -f {_KEPT} ] && . ./{_KEPT}\n{text}"
        with output.open("wb") as file:
            process = subprocess.Popen(
                ["bash", "-c", script], stdin=subprocess.DEVNULL, stdout=file, stderr=-2, start_new_session=True
            )
        self._stay.append((where, process, output))
        latest = time.monotonic() + _SECONDS
        while awaited not in output.read_text(encoding="utf-8", errors="replace"):
            if process.poll() is not None or time.monotonic() > latest:
                raise AssertionError(f"does not say {awaited!r}:\n{output.read_text(encoding='utf-8')}")
            time.sleep(0.05)  # wait: with a deadline and the end of the process, in a program of its own


def main() -> int:
    """Return the exit status."""
    where = ""
    page = Page()
    try:
        for step in json.load(sys.stdin):
            where = step["where"]
            page.take(step)
        where = "end"
        page.end()
    except BaseException as error:  # noqa: BLE001 (whatever a page does is what it is tried for)
        text = "".join(traceback.format_exception(error)[-3:])
        print(f"{where}: {text}")
        return 1
    finally:
        page.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
