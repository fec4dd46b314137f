# SPDX-License-Identifier: Apache-2.0
"""Runs the command with `python -m rashpa`, for a Python installation whose scripts are not in the path."""

from rashpa.cli.entry import main

if __name__ == "__main__":
    main()
