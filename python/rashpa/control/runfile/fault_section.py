# SPDX-License-Identifier: Apache-2.0
"""The section `[faults]` of a run file."""

from typing import Annotated

from pydantic import Field

from rashpa.control.runfile.key_types import ModuleNumber
from rashpa.control.runfile.section import Section

Probability = Annotated[float, Field(ge=0.0, le=1.0)]


class DeadModule(Section):
    """A module that sends nothing from frame `from_frame` on."""

    module: ModuleNumber
    from_frame: int = Field(ge=0, le=2**40)


class Faults(Section):
    """Faults that the emulator injects; probabilities per packet, `stall` per image of a DTP."""

    seed: int = Field(default=1, ge=0, le=2**64 - 1)
    drop: Probability = 0.0
    duplicate: Probability = 0.0
    reorder: Probability = 0.0
    corrupt: Probability = 0.0
    stall: Probability = 0.0
    stall_us: int = Field(default=1000, ge=0, le=60_000_000)
    dead_modules: list[DeadModule] = Field(default=[])
