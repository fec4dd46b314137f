# SPDX-License-Identifier: Apache-2.0
"""The name under which a run owns its nodes."""

import getpass
import os
import socket

from rashpa.control.plan.model import Plan


def run_owner(plan: Plan) -> str:
    """Return the run, and the process that manages it, in words."""
    return f"run {plan.file.run.name} of {_user()}@{socket.gethostname()} (process {os.getpid()})"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a process without an entry in the table of users
        return str(os.getuid())
