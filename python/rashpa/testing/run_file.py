# SPDX-License-Identifier: Apache-2.0
"""Makes run files of tests from tables: a test gives the keys that matter to it, and the rest is a short run."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

Table = Mapping[str, Any]
"""Keys with texts, numbers, paths, lists and further tables; None leaves a key out."""

_RUN: Table = {"name": "small", "frames": 20}
_DETECTOR: Table = {"width": 64, "height": 32}
_BUFFER: Table = {"name": "full", "sink": [{"kind": "null"}]}
_OF_DETECTOR = ("width", "height", "pixel")  # a pattern has these of the detector, when they are not given
_SMALL: dict[str, Table] = {
    "run": {"output": "out"},
    "detector": {"width": 48, "height": 32, "pixel": "uint16", "rate_hz": 200},
    "buffer": {"sink": [{"kind": "hdf5"}]},
}


def run_file(**tables: Table | Sequence[Table] | None) -> str:
    """Return the text of a run file: 20 images of a pattern, to a receiver with any free port and the sink null. The keys of a given table replace
    those of the same default table. A list of tables, or a dataset of another kind, replaces the whole default. None leaves a table out. The buffers
    are at the end of the text."""
    detector = _over(_DETECTOR, tables.pop("detector", {}))
    whole: dict[str, Any] = {
        "run": _over(_RUN, tables.pop("run", {})),
        "detector": detector,
        "dataset": _dataset(tables.pop("dataset", {}), detector),
        "receiver": _over({"port": 0}, tables.pop("receiver", {})),
    }
    buffers = _over(_BUFFER, tables.pop("buffer", {}))
    whole |= {**tables, "buffer": [buffers] if isinstance(buffers, Mapping) else buffers}
    return "".join(_written((), whole))


def small_run(**tables: Table | Sequence[Table] | None) -> str:
    """Return the text of a run file of 20 images at 200 Hz into the folder `out`, with HDF5 files. `tables`: as in run_file()."""
    return run_file(**{name: _over(_SMALL.get(name, {}), tables.get(name, {})) for name in {**_SMALL, **tables}})


def _over(usual: Table, given: Table | Sequence[Table] | None) -> Table | Sequence[Table] | None:
    return {**usual, **given} if isinstance(given, Mapping) else given


def _dataset(given: Table | Sequence[Table] | None, detector: Table | Sequence[Table] | None) -> Any:
    if not isinstance(given, Mapping) or given.get("kind", "pattern") != "pattern":
        return given
    of_detector = {key: detector[key] for key in _OF_DETECTOR if isinstance(detector, Mapping) and key in detector}
    return {"kind": "pattern", **of_detector, **given}


def _written(place: tuple[str, ...], table: Table) -> Iterator[str]:
    """Yield the lines of a table: first its values, then its subtables."""
    inner = {key: value for key, value in table.items() if isinstance(value, Mapping) or _is_tables(value)}
    yield from (
        f"{_key(key)} = {_value(value)}\n" for key, value in table.items() if key not in inner and value is not None
    )
    for key, value in inner.items():
        here = (*place, key)
        name = ".".join(map(_key, here))
        for one in [value] if isinstance(value, Mapping) else value:
            yield f"[{name}]\n" if isinstance(value, Mapping) else f"[[{name}]]\n"
            yield from _written(here, one)


def _is_tables(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(one, Mapping) for one in value)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: object) -> str:
    match value:
        case str() | PurePath():
            return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case Mapping():
            return (
                "{ " + ", ".join(f"{_key(key)} = {_value(one)}" for key, one in value.items() if one is not None) + " }"
            )
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
    raise TypeError(f"{value!r} has no form in TOML; give a text, a number, a path, a list or a table")
