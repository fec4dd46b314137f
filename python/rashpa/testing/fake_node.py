# SPDX-License-Identifier: Apache-2.0
"""Runs a node with a fake engine as a process: `python -m rashpa.testing.fake_node emulator|receiver [NAME]`."""

import gc
import sys

from rashpa.node.serve import Listen, read_grant, serve_node
from rashpa.testing.fake_engine import FakeFactory


def main() -> None:
    """Serve on any free port until stdin is closed; read the grant from stdin first."""
    gc.freeze()  # as the command does: imported modules are no garbage
    role, name = sys.argv[1], sys.argv[-1]
    serve_node(role, name, FakeFactory(role), Listen(token=read_grant().token, with_parent=True), "fake")


if __name__ == "__main__":
    main()
