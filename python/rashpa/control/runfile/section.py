# SPDX-License-Identifier: Apache-2.0
"""The base of every table of the run file."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A table of the run file; keys that are not in the schema are errors, and so are values of another type."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)
