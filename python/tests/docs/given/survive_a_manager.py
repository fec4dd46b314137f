# SPDX-License-Identifier: Apache-2.0
"""A run whose manager is dead; its nodes go on."""

import given_nodes
import given_run

values = given_run.endless()
values["run"] |= {"frames": 1000, "orphaned": "finish"}
manager = given_nodes.start_run(given_run.written(values), "out")
manager.kill()
manager.wait()
