# SPDX-License-Identifier: Apache-2.0
"""Defines the run file: the one configuration file of a run (TOML, schema/run.schema.json).

The models of its tables check each value separately; `run_plan` checks combinations of values.
"""

from typing import Any

from pydantic import Field, model_validator

from rashpa.control.runfile.buffer_section import Buffer, Dtp, Feedback
from rashpa.control.runfile.dataset_spec import DatasetSpec
from rashpa.control.runfile.detector_section import Detector, Module, SpecialValue
from rashpa.control.runfile.key_types import (
    MOST_MODULES,
    ModuleNumber,
)
from rashpa.control.runfile.link_section import Link
from rashpa.control.runfile.node_sections import (
    Emulator,
    Emulators,
    Group,
    Nodes,
    OnlyEmulator,
    OnlyReceiver,
    Receiver,
    Receivers,
)
from rashpa.control.runfile.run_section import MOST_PATIENCE_S, Alarms, DeadModule, Faults, Run
from rashpa.control.runfile.section import Section

__all__ = [
    "MOST_MODULES",
    "MOST_PATIENCE_S",
    "Alarms",
    "Buffer",
    "DeadModule",
    "Detector",
    "Dtp",
    "Emulator",
    "Faults",
    "Feedback",
    "Group",
    "Link",
    "Module",
    "ModuleNumber",
    "Nodes",
    "Receiver",
    "Run",
    "RunFile",
    "SpecialValue",
]


class RunFile(Section):
    """A run file of rashpa."""

    run: Run
    detector: Detector
    dataset: DatasetSpec = Field(description="frames that emulators play; none of a detector with [detector.control]")
    link: Link = Link()
    emulator: Emulators = OnlyEmulator()
    receiver: Receivers = OnlyReceiver()
    group: list[Group] = Field(default=[], max_length=64)
    buffer: list[Buffer] = Field(min_length=1)
    faults: Faults = Faults()
    nodes: Nodes = Nodes()
    alarms: Alarms = Alarms()

    @property
    def emulators(self) -> list[Emulator]:
        """Return all emulators, including the only one of a file that lists none."""
        return (self.emulator if isinstance(self.emulator, list) else [self.emulator]) or [OnlyEmulator()]

    @property
    def receivers(self) -> list[Receiver]:
        """Return all receivers, including the only one of a file that lists none."""
        return (self.receiver if isinstance(self.receiver, list) else [self.receiver]) or [OnlyReceiver()]

    @model_validator(mode="before")
    @classmethod
    def _nothing_is_played(cls, values: Any) -> Any:
        """Add a placeholder for the required [dataset] when the detector sends by itself."""
        detector = values.get("detector") if isinstance(values, dict) else None
        if not isinstance(detector, dict) or "control" not in detector or "dataset" in values:
            return values
        return {**values, "dataset": {"kind": "pattern"}}
