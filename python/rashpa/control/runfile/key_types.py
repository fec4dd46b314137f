# SPDX-License-Identifier: Apache-2.0
"""Defines types of keys that several tables of a run file share."""

from typing import Annotated, Literal

from pydantic import Field, Strict

MOST_MODULES = 4096  # as src/rashpa/dataset/memory_dataset.hpp
ModuleNumber = Annotated[int, Field(ge=0, le=MOST_MODULES - 1)]
Rectangle = Annotated[tuple[int, int, int, int], Strict(False)]  # x, y, width, height in pixels; TOML has lists
Position = Annotated[tuple[int, int], Strict(False)]  # x, y in pixels of the assembled image
PixelName = Literal["uint8", "uint16", "uint32", "int16", "int32", "float32"]
Processor = Annotated[int, Field(ge=-1, le=65535)]
Numa = Literal["auto", "off"] | Annotated[int, Field(ge=0, le=9999)]
NodeName = Annotated[str, Field(pattern=r"^(local|https?://.+)$")]
KeyPath = tuple[str | int, ...]
"""The place of a key in the run file: names of tables, and numbers in lists of them."""
