# SPDX-License-Identifier: Apache-2.0
"""Makes the name under which a run owns its nodes."""

import getpass
import os
import socket

from rashpa.control.plan.model import Plan


def run_owner(plan: Plan) -> str:
    """Return the name of the run and of the process that manages it, as text."""
    return f"run {plan.file.run.name} of {_user()}@{socket.gethostname()} (process {os.getpid()})"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a process without an entry in the table of users
        return str(os.getuid())
