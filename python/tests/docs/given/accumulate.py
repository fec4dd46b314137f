# SPDX-License-Identifier: Apache-2.0
"""The run of the kernels' pages; a window of the page's length needs as many frames."""

import given_run

given_run.stored(given_run.tables(given_run.KERNELS))
RUN = {"run": {"frames": 10000}, "buffer": [{"name": "full", "stack": 10, "slots": 40, "sink": [{"kind": "null"}]}]}
