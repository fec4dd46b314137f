# SPDX-License-Identifier: Apache-2.0
"""Runs a prepared process: `python -P -m rashpa.testing.prepared FD PADDING`."""

from rashpa.testing.prepared import prepared_server

prepared_server.main()
