# SPDX-License-Identifier: Apache-2.0
"""A run until it is stopped goes on in out."""

import given_nodes
import given_run

given_nodes.start_run(given_run.written(given_run.endless()), "out")
RUN = {"buffer": [{"name": "full", "stack": 10, "slots": 40, "sink": [{"kind": "null"}]}]}
