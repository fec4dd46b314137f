# SPDX-License-Identifier: Apache-2.0
"""A run goes on in out/demo."""

import given_nodes
import given_run

given_nodes.start_run(given_run.written(given_run.endless("out/demo")), "out/demo")
