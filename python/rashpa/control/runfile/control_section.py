# SPDX-License-Identifier: Apache-2.0
"""Defines the table `[detector.control]` of a run file: a detector that sends by itself."""

from typing import Annotated, Literal

from pydantic import Field

from rashpa.control.runfile.section import Section
from rashpa.data.datasets.spec import PATH

Words = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00]+$")]], Field(max_length=64)
]


class Control(Section):
    """A detector that sends by itself. With this table there are no emulators, and [dataset] is left out.

    Its link is sls, stream2 or roce. With roce, the environment tells its program where to write.
    """

    kind: Literal["none", "command", "slsdet"] = Field(
        description="starter of the detector: somebody else (none), the programs below (command), or the Python package slsdet"
    )
    prepare: Words = Field(
        default=[], description="command: program and arguments, run before the receivers wait for packets"
    )
    start: Words = Field(
        default=[],
        description="command: run when the receivers wait; it may go on until the end. With roce its variable RASHPA_ENDPOINTS has the ends, keys and places of all DTPs as JSON",
    )
    stop: Words = Field(default=[], description="command: run at the end, whatever has become of the run")
    address: str = Field(
        default="",
        max_length=255,
        description="roce: the IP address from which it sends; packets from others are refused",
    )
    config: str = Field(
        default="", json_schema_extra=PATH, description="slsdet: configuration file that it loads first; empty: none"
    )
    timeout_s: float = Field(
        default=60.0, gt=0.0, le=3600.0, description="longest time of prepare and stop; then they are killed"
    )
    first_s: float = Field(
        default=3600.0, gt=0.0, le=1e6, description="longest wait for the first image; then the run ends"
    )
    silence_s: float = Field(
        default=10.0,
        gt=0.0,
        le=1e6,
        description="without an image for so long, behind the first one, the detector has ended: images that are still due are missing",
    )
