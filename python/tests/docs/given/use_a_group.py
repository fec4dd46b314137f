# SPDX-License-Identifier: Apache-2.0
"""A run of a group of two goes on in out, and one of its files lost its master."""

import given_nodes
import given_run

values = given_run.endless()
values["run"] |= {"name": "full_run", "frames": 200_000}
values["receiver"] = [{"name": "a"}, {"name": "b"}]
values["group"] = [{"name": "farm", "receivers": ["a", "b"], "response_ms": 3000}]
values["buffer"] = [values["buffer"][0] | {"group": "farm"}]
given_nodes.start_run(given_run.written(values), "out")
