# SPDX-License-Identifier: Apache-2.0
"""Runs the command: `python -m rashpa`, for a Python whose scripts are not in the path."""

from rashpa.cli.entry import main

if __name__ == "__main__":
    main()
