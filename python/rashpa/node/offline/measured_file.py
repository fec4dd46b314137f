# SPDX-License-Identifier: Apache-2.0
"""Stores the throughputs that a node has measured in a file, together with a description of its machine. On another machine they are not used."""

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rashpa import _native
from rashpa.control.nodes.machine import hardware_facts
from rashpa.control.telegrams.telegram import Throughput
from rashpa.data.files.regular_file import json_of, put_file, read_regular
from rashpa.node.engine.engine import EngineError

VERSION = 1
_MOST_BYTES = 4 << 20
_MOST = 1024  # of Capabilities
# Of a machine's facts those that make a pipeline slower or faster.
_DECISIVE = ("cpu", "cpu_flags", "cores", "memory_gb", "numa_nodes", "governor", "kernel", "gpus")


def default_path() -> Path:
    """Return the default path of the file for nodes of this user, in XDG's folder of state."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "rashpa" / "measured.json"


def here() -> dict[str, Any]:
    """Return the hardware and software for which the figures are valid."""
    facts = hardware_facts()
    module = hashlib.sha256(Path(_native.__file__).read_bytes()).hexdigest()
    units = [[name, usable, what] for name, usable, what in _native.available_units()]
    return {**{name: facts.get(name) for name in _DECISIVE}, "units": units, "software": module}


def load_measured(path: Path) -> tuple[Throughput, ...]:
    """Return the figures in the file, none when there is no file. Raise EngineError when they are not from this machine in its present state, or when
    the file has none."""
    try:
        data = read_regular(path, _MOST_BYTES)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        raise EngineError("file", f"{path}: cannot be read ({error}); measure again with --measure") from None
    try:
        values = json_of(data)
        version, then = values["version"], values["machine"]
        found = tuple(_checked(one) for one in values["throughputs"][:_MOST])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise EngineError("file", f"{path}: holds no measured throughputs ({error}); measure again") from None
    if version != VERSION:
        raise EngineError("file", f"{path}: version {version!r}, here {VERSION}; measure again with --measure")
    now = json.loads(json.dumps(here()))
    changed = [name for name in now if now[name] != then.get(name)] if isinstance(then, dict) else ["machine"]
    if changed:
        raise EngineError(
            "file", f"{path}: {', '.join(changed)} changed since it was measured; measure again with --measure"
        )
    return found


def _checked(values: dict[str, Any]) -> Throughput:
    """Return a figure as a telegram's Throughput. Raise ValueError, KeyError or TypeError when a telegram could not carry it."""
    one = Throughput(
        pipeline=str(values["pipeline"]),
        what=str(values["what"])[:1000],
        width=int(values["width"]),
        height=int(values["height"]),
        images_per_s=float(values["images_per_s"]),
        date=str(values["date"]),
    )
    digits = len(one.pipeline) == 16 and set(one.pipeline) <= set("0123456789abcdef")
    if not digits or not 0 < one.images_per_s <= 1e12 or not (0 < one.width <= 2**20 and 0 < one.height <= 2**20):
        raise ValueError(f"{one}: its pipeline, size or rate is not one that was measured")
    return one


def store_measured(path: Path, found: Iterable[Throughput]) -> None:
    """Store figures in the file, and keep valid figures of other pipelines and sizes."""
    try:
        before = load_measured(path)
    except EngineError:
        before = ()
    kept = {(one.pipeline, one.width, one.height): one for one in (*before, *found)}
    values = {
        "version": VERSION,
        "machine": here(),
        "throughputs": [asdict(one) for one in list(kept.values())[-_MOST:]],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    put_file(path, f"{json.dumps(values, indent=2)}\n".encode())
