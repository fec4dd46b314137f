# SPDX-License-Identifier: Apache-2.0
"""A recording of raw frames, and the run file of a pipeline."""

from pathlib import Path

import given_run

given_run.stored(
    given_run.tables(
        [],
        run={"name": "raw"},
        buffer=[{"name": "all", "slots": 24, "stack": 4, "keep_darks": True, "sink": [{"kind": "hdf5"}]}],
    )
)
for file in Path("out").glob("raw_*"):
    file.rename(file.name)
given_run.written(given_run.tables([{"name": "total_counts"}])).rename("run.toml")
