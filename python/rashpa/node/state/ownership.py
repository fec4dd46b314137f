# SPDX-License-Identifier: Apache-2.0
"""Tracks the ownership of a node: it belongs to one run at a time, until Reset, or until its manager has been silent for the lease."""

import hmac

from rashpa.control.telegrams.run_state import StateError
from rashpa.control.telegrams.telegram import Abort, Order, Reset


class Ownership:
    """Decides which sender may give orders. `lease_s`: the longest silence of an owner, in seconds; 0: unlimited."""

    def __init__(self, node: str, lease_s: float) -> None:
        self.lease_s = lease_s
        self._node = node
        self._owner = ""
        self._holder = ""
        self._silent_s = 0.0
        self._lost = False

    @property
    def owned(self) -> bool:
        return bool(self._owner)

    @property
    def holder(self) -> str:
        """Return the owner's name for people, empty for none."""
        return self._holder

    def is_owner(self, owner: str) -> bool:
        return self.owned and hmac.compare_digest(owner.encode(), self._owner.encode())

    def check(self, order: Order) -> None:
        """Raise StateError when the node belongs to another owner; an order of the owner renews the lease."""
        if self.is_owner(order.owner):
            self.renew()
        elif self.owned and not (isinstance(order, Abort | Reset) and order.force):
            raise StateError(
                f"{self._node} belongs to {self._holder}; {type(order).__name__} of others is refused. Wait until that run ends, "
                "or free the node with `rashpa free URL`"
            )

    def take(self, owner: str, holder: str) -> None:
        """Make `owner` the owner. Call `check` before."""
        self._owner, self._holder = owner, holder
        self.renew()

    def free(self) -> None:
        self._owner = self._holder = ""

    def renew(self) -> None:
        self._silent_s = 0.0
        self._lost = False

    def lose(self, lease_s: float) -> None:
        """Note that the owner has gone; a new owner has the lease `lease_s`."""
        self.lease_s = self._silent_s = lease_s
        self._lost = True

    @property
    def silence(self) -> str:
        """Return the reason why the owner counts as gone, as text that follows its name."""
        return "is gone" if self._lost else f"was not heard for {self.lease_s:g} s"

    def pass_time(self, seconds: float) -> None:
        """Add `seconds` to the owner's silence. Do not count time in which the node itself did not run, because it could not hear its owner."""
        self._silent_s += seconds

    @property
    def abandoned(self) -> bool:
        """Return True when the owner has been silent for the lease."""
        return self.owned and 0.0 < self.lease_s <= self._silent_s
