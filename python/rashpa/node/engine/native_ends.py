# SPDX-License-Identifier: Apache-2.0
"""Converts native endpoints and placements of DTPs to the form of telegrams."""

from rashpa import _native
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram import (
    Endpoint,
)


def endpoint_of(end: _native.Endpoint) -> Endpoint:
    """Return an endpoint of a DTP in the form of telegrams."""
    return Endpoint(
        address=end.address,
        port=end.port,
        qpn=end.qpn,
        rkey=end.rkey,
        credit_offset=end.credit_offset,
        window_bytes=end.window_bytes,
        psn=end.psn,
        records_rkey=end.records_rkey,
        word_offset=end.word_offset,
    )


def placement_of(place: _native.Placement) -> telegram.Placement:
    """Return the placement of a DTP's images in the form of telegrams."""
    return telegram.Placement(
        pixels_offset=place.pixels_offset,
        slot_bytes=place.slot_bytes,
        slots=place.slots,
        first_line_offset=place.first_line_offset,
        pitch=place.pitch,
        line_bytes=place.line_bytes,
        lines=place.lines,
        records_offset=place.records_offset,
        event_lines=place.event_lines,
    )
