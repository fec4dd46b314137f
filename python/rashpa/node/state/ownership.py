# SPDX-License-Identifier: Apache-2.0
"""Whose a node is: one run's at a time, until Reset, or until its manager has been silent for the lease."""

import hmac

from rashpa.control.telegrams.run_state import StateError
from rashpa.control.telegrams.telegram import Abort, Order, Reset


class Ownership:
    """Who may give orders. `lease_s`: how long an owner may be silent; 0: for ever."""

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
        """Whose the node is, for people; empty: nobody's."""
        return self._holder

    def is_owner(self, owner: str) -> bool:
        return self.owned and hmac.compare_digest(owner.encode(), self._owner.encode())

    def check(self, order: Order) -> None:
        """StateError when the node is another's; an order of the owner renews the lease."""
        if self.is_owner(order.owner):
            self.renew()
        elif self.owned and not (isinstance(order, Abort | Reset) and order.force):
            raise StateError(
                f"{self._node} belongs to {self._holder}; {type(order).__name__} of others is refused. Wait until that run ends, "
                "or free the node with `rashpa free URL`"
            )

    def take(self, owner: str, holder: str) -> None:
        """After `check`."""
        self._owner, self._holder = owner, holder
        self.renew()

    def free(self) -> None:
        self._owner = self._holder = ""

    def renew(self) -> None:
        self._silent_s = 0.0
        self._lost = False

    def lose(self, lease_s: float) -> None:
        """The owner is known to be gone; whoever comes in its place has this lease."""
        self.lease_s = self._silent_s = lease_s
        self._lost = True

    @property
    def silence(self) -> str:
        """What is known of an owner that is not heard, to follow its name."""
        return "is gone" if self._lost else f"was not heard for {self.lease_s:g} s"

    def pass_time(self, seconds: float) -> None:
        """Counts the owner's silence. Seconds that the node itself did not run are not counted: it could not have heard anybody."""
        self._silent_s += seconds

    @property
    def abandoned(self) -> bool:
        """Whether the owner has been silent for the lease."""
        return self.owned and 0.0 < self.lease_s <= self._silent_s
