# SPDX-License-Identifier: Apache-2.0
"""Defines the base of every table of the run file."""

from typing import Any

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A table of the run file; keys that are not in the schema are errors, and so are values of another type."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)


def typed_text(text: str, kind: Any) -> str | int | float:
    """Return the value of type `kind` for a text. A text that is no number is returned unchanged, so that the model reports it."""
    if kind is str:
        return text
    try:
        return float(text) if kind is float else int(text)
    except ValueError:
        return text
