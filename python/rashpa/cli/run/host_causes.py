# SPDX-License-Identifier: Apache-2.0
"""Names the settings of this machine that may have made a run lose packets."""

from rashpa.control.books.outcome import Outcome

_PACKETS = ("drop", "corrupt", "stall")


def host_causes(outcome: Outcome) -> tuple[str, ...]:
    """Return at most two lines on poor settings of this machine when a run lost lines of images without an injected fault that explains them.
    Otherwise return none."""
    faults = outcome.plan.file.faults
    ordered = faults.dead_modules or any(getattr(faults, name) for name in _PACKETS)
    received_here = any(receiver.node == "local" for receiver in outcome.plan.receivers)
    books = outcome.books
    if ordered or not received_here or outcome.interrupted or not (books.partial or books.missing):
        return ()
    # in a run that has lost nothing it is not imported
    from rashpa.node.doctor.checkup import likely_causes

    return likely_causes(outcome.plan)
