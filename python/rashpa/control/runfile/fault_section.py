# SPDX-License-Identifier: Apache-2.0
"""The section `[faults]` of a run file."""

from pydantic import Field

from rashpa.control.runfile.engine_keys import FaultsKeys
from rashpa.control.runfile.key_types import ModuleNumber
from rashpa.control.runfile.section import Section


class DeadModule(Section):
    """A module that sends nothing from frame `from_frame` on."""

    module: ModuleNumber
    from_frame: int = Field(ge=0, le=2**40)


class Faults(FaultsKeys):
    """Faults that the emulator injects; probabilities per packet, `stall` per image of a DTP."""

    seed: int = Field(default=1, ge=0, le=2**64 - 1, description="the same seed means the same faults")
    dead_modules: list[DeadModule] = Field(default=[])
