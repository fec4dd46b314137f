# SPDX-License-Identifier: Apache-2.0
"""A session that somebody has recorded."""

from pathlib import Path

import cbor2
import numpy as np

series = {"series_id": 1, "series_unique_id": "A"}
pixels = cbor2.CBORTag(40, [[3, 4], cbor2.CBORTag(69, np.arange(12, dtype=np.uint16).tobytes())])
messages = [
    {"type": "start", "number_of_images": 1, "channels": ["a"]},
    {"type": "image", "image_id": 0, "data": {"a": pixels}},
    {"type": "end"},
]
Path("recorded").mkdir()
for number, message in enumerate(messages):
    Path(f"recorded/{number:04}.cbor").write_bytes(cbor2.dumps(message | series))
