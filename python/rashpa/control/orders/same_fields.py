# SPDX-License-Identifier: Apache-2.0
"""Values that a run file's section, a telegram and a native configuration have under one name: they go from one to the next without being named again."""

import dataclasses
from collections.abc import Collection, Iterator
from typing import Any

PLAIN = bool | int | float | str
"""The types of values that go as they are."""


def same_fields(section: object, part: type, but: Collection[str] = ()) -> dict[str, Any]:
    """Give the fields of a telegram's part that a section has, too. `but`: fields whose values are worked out."""
    values = {field.name: getattr(section, field.name, None) for field in dataclasses.fields(part)}
    return {name: value for name, value in values.items() if name not in but and isinstance(value, PLAIN)}


def plain_fields(part: Any) -> Iterator[tuple[str, PLAIN]]:
    """Yield names and values of a telegram's part that go as they are."""
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if isinstance(value, PLAIN):
            yield field.name, value
