# SPDX-License-Identifier: Apache-2.0
"""Defines the table `[link]` of a run file, with a subtable for each kind of link."""

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, create_model, model_validator

from rashpa.control.runfile.links import ONE_WAY, TABLES, LinkName, LinkOptions, options_of
from rashpa.control.runfile.section import Section


class LinkSection(Section):
    """The transport of bytes from emulators to receivers. The keys of each kind of link are in a separate table, which applies to ends of that kind."""

    kind: LinkName = Field(
        default="roce",
        description="link of both sides: RoCE in user space, an RNIC or Soft-RoCE by libibverbs, shared memory, UDP of SLS detectors, messages of DECTRIS Stream V2",
    )
    source: LinkName | None = Field(
        default=None, description="link of the emulator, where it differs; pcie, sls and stream2 never do"
    )
    destination: LinkName | None = Field(
        default=None, description="link of the receiver, where it differs; pcie, sls and stream2 never do"
    )
    flow: Literal["credits", "paced"] = Field(
        default="credits",
        description="credits: a slot is written when the receiver has given it; paced: at the rate, as sls and stream2 always are",
    )
    on_full: Literal["pause", "skip"] = Field(
        default="pause", description="reaction of an emulator without a free slot: it waits, or leaves the image out"
    )

    @model_validator(mode="before")
    @classmethod
    def _one_way(cls, values: Any) -> Any:
        """Set the flow of a one-way link, unless it is given."""
        if isinstance(values, dict) and values.get("kind") in ONE_WAY and "flow" not in values:
            return {**values, "flow": "paced"}
        return values

    @property
    def source_kind(self) -> str:
        """Return the kind of the emulators' link."""
        return self.source or self.kind

    @property
    def destination_kind(self) -> str:
        """Return the kind of the receivers' link."""
        return self.destination or self.kind

    def of(self, kind: str) -> Any:
        """Return the table [link.<kind>]."""
        return getattr(self, kind)

    def at_source(self, key: str, otherwise: Any = None) -> Any:
        """Return the value of a key of the emulator's link, `otherwise` when this kind has no such key."""
        return getattr(self.of(self.source_kind), key, otherwise)

    def at_destination(self, key: str, otherwise: Any = None) -> Any:
        """Return the value of a key of the receiver's link, as `at_source` does."""
        return getattr(self.of(self.destination_kind), key, otherwise)

    @property
    def framed_v1(self) -> bool:
        """Return True when one end sends packets without IP and UDP."""
        return "v1" in (self.at_source("framing"), self.at_destination("framing"))

    def options(self, kind: str, device: str) -> LinkOptions:
        """Return the link options of an end of this kind; `device`: the device of its node."""
        return options_of(self.of(kind), kind, device)


if TYPE_CHECKING:
    Link = LinkSection
else:
    Link = create_model(
        "Link", __base__=LinkSection, __module__=__name__, **{kind: (table, table()) for kind, table in TABLES.items()}
    )
    Link.__doc__ = LinkSection.__doc__
