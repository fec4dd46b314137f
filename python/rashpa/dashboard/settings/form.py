# SPDX-License-Identifier: Apache-2.0
"""Makes the fields of the form from the run file's model, which is the only definition of their types, bounds and descriptions."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from rashpa.control.runfile.run_file import RunFile
from rashpa.control.runfile.section import typed_text
from rashpa.dashboard.settings.changed_text import Key

KEYS: tuple[Key, ...] = (
    ("run", "number"),
    ("run", "frames"),
    ("run", "sample"),
    ("run", "comment"),
    ("detector", "energy_kev"),
    ("detector", "distance_m"),
    ("detector", "count_time_s"),
)
_BOUNDS = {"ge": "min", "gt": "min", "le": "max", "max_length": "maxlength"}
_LONGEST = 2000  # characters of a value


@dataclass(frozen=True)
class Field:
    """Describes one input. `name`: table and key; `bounds`: HTML attributes with which a browser checks the value before the model does."""

    name: str
    kind: str
    value: str
    description: str
    bounds: Mapping[str, str]


def fields_of(file: RunFile) -> list[Field]:
    """Return the inputs with the values of a run file."""
    return [field_of(f"{table}.{key}", key, getattr(file, table)) for table, key in KEYS]


def field_of(name: str, key: str, section: BaseModel) -> Field:
    """Return the input for one key of a model, with its present value."""
    info = type(section).model_fields[key]
    number = info.annotation in (int, float)
    bounds = {"step": "any" if info.annotation is float else "1"} if number else {"maxlength": str(_LONGEST)}
    for one in info.metadata:
        for said, bound in _BOUNDS.items():
            if (limit := getattr(one, said, None)) is not None:
                bounds[bound] = str(limit)
    value = str(getattr(section, key))
    return Field(name, "number" if number else "text", value, info.description or "", bounds)


def changes_of(file: RunFile, given: Mapping[str, str]) -> dict[Key, str | int | float]:
    """Return the keys with values that differ from those of the file. A text that is no number is returned unchanged, so that the model reports it."""
    found: dict[Key, str | int | float] = {}
    for table, key in KEYS:
        text = given.get(f"{table}.{key}")
        if text is None:
            continue
        section = getattr(file, table)
        before = getattr(section, key)
        value = typed_text(text.strip()[:_LONGEST], type(section).model_fields[key].annotation)
        if value != before:
            found[table, key] = value
    return found
