# SPDX-License-Identifier: Apache-2.0
"""Returns the last status of each node. A node may be lost before it sends a status; it then has a special state."""

from collections.abc import Mapping

from rashpa.control.telegrams.telegram import Status

UNHEARD = "not heard of yet"


def status_of(last: Mapping[str, Status], name: str) -> Status:
    """Return the node's last status; before the first one, the state UNHEARD, without source or destination."""
    return last.get(name) or Status(node=name, role="", state=UNHEARD)
