# SPDX-License-Identifier: Apache-2.0
"""What nodes said last. One that was not heard of yet is in a state of its own: it may be lost before it says anything."""

from collections.abc import Mapping

from rashpa.control.telegrams.telegram import Status

UNHEARD = "not heard of yet"


def status_of(last: Mapping[str, Status], name: str) -> Status:
    """Of the node, as it was heard last; in the state UNHEARD, without source or destination, before it has said anything."""
    return last.get(name) or Status(name, "", UNHEARD)
