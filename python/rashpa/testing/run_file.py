# SPDX-License-Identifier: Apache-2.0
"""A run that takes a moment, for tests of everything around a run."""

import json

_KEYS: dict[str, dict[str, object]] = {
    "run": {"name": "small", "frames": 20, "output": "out"},
    "detector": {"width": 48, "height": 32, "pixel": "uint16", "rate_hz": 200},
    "dataset": {"kind": "pattern", "width": 48, "height": 32, "pixel": "uint16"},
    "receiver": {"port": 0},
}
_BUFFER = """\
[[buffer]]
name = "full"
[[buffer.sink]]
kind = "hdf5"
"""


def small_run(buffer: str = _BUFFER, **tables: dict[str, object]) -> str:
    """Return the text of its run file. `tables` replaces keys, and None leaves one out; `buffer` is the text after the tables."""
    text = ""
    for name in {**_KEYS, **tables}:
        keys = {**_KEYS.get(name, {}), **tables.get(name, {})}
        lines = [f"{key} = {json.dumps(value)}\n" for key, value in keys.items() if value is not None]
        text += f"[{name}]\n{''.join(lines)}"
    return text + buffer
