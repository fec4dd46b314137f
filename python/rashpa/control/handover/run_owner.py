# SPDX-License-Identifier: Apache-2.0
"""What nodes say of whom they belong to."""

import getpass
import os
import socket

from rashpa.control.plan.run_plan import Plan


def run_owner(plan: Plan) -> str:
    """The run, and the process that manages it."""
    return f"run {plan.file.run.name} of {_user()}@{socket.gethostname()} (process {os.getpid()})"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a process without an entry in the table of users
        return str(os.getuid())
