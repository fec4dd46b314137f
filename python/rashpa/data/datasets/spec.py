# SPDX-License-Identifier: Apache-2.0
"""Defines the base of all tables, in run files and telegrams, that describe files for a node."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue

PATH: dict[str, JsonValue] = {"format": "path"}
"""Of a key that names a file or a folder, in the schema. One rule for all: `~` is the home of who reads it, and a relative one counts from the run file's folder, at a
remote node, and for run.output, from where the node runs (`rashpa.data.files.file_names.located`)."""
# A path that the operating system takes.
FileName = Annotated[str, Field(min_length=1, max_length=4095, pattern=r"^[^\x00]+$", json_schema_extra=PATH)]


class Spec(BaseModel):
    """Declares a table: unknown keys and values of a wrong type are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)

    def resolved(self, base: Path) -> Self:  # noqa: ARG002 (a kind without files has nothing to resolve)
        """Return the same table with every relative path resolved from the folder `base`."""
        return self
