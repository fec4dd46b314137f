# SPDX-License-Identifier: Apache-2.0
"""Dark runs in three gains, and gains."""

from pathlib import Path

import given_run
import numpy as np

HEIGHT, WIDTH = 64, 128
for gain, bits in enumerate((0, 1, 3)):
    noise = np.random.default_rng(gain).normal(2000 + 3000 * gain, 10, (24, HEIGHT, WIDTH)).astype(np.uint16)
    np.save(f"g{gain}.npy", noise | np.uint16(bits << 14))
    given_run.stored(
        given_run.tables(
            [],
            run={"name": f"g{gain}", "frames": 24},
            dataset={"kind": "files", "files": [[str(Path(f"g{gain}.npy").absolute())]]},
            buffer=[{"name": "all", "slots": 24, "stack": 4, "keep_darks": True, "sink": [{"kind": "hdf5"}]}],
        )
    )
np.save("gains.npy", np.ones((3, HEIGHT, WIDTH), np.float32))
RUN = {
    "detector": {"name": "JUNGFRAU", "width": WIDTH, "height": HEIGHT},
    "dataset": {"kind": "files", "files": [["g0.npy"]]},
    "buffer": [{"name": "full", "kernel": [{"name": "jungfrau"}], "sink": [{"kind": "null"}]}],
}
