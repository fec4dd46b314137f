# SPDX-License-Identifier: Apache-2.0
"""A run that says what it decides, which the page finds while it begins."""

import given_nodes
import given_run

values = given_run.tables([{"name": "peakfinder8", "threshold": 20, "min_snr": 5}])
values["run"]["frames"] = 400
values["buffer"][0] |= {"stack": 1, "feedback": {"ring": "hits"}}
given_nodes.start("rashpa", "run", str(given_run.written(values)), until="")  # the page waits for the ring
