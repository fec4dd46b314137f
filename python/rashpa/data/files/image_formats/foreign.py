# SPDX-License-Identifier: Apache-2.0
"""Reads image files of all other kinds with fabio. An error that fabio only logs is an error here."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.files.image_formats.image_error import ImageError


def foreign_frames(path: Path) -> Iterator[NDArray[Any]]:
    """Yield each frame of the file. Raise ImageError when fabio reports a fault; fabio raises many other exceptions, too."""
    import fabio

    said = _Said()
    logging.getLogger().addHandler(said)
    try:
        with fabio.open(str(path)) as image:
            for number in range(image.nframes):
                frame = np.asarray((image if image.nframes == 1 else image.get_frame(number)).data)
                if said.error:
                    raise ImageError(f"fabio says: {said.error}")
                yield frame
    finally:
        logging.getLogger().removeHandler(said)


class _Said(logging.Handler):
    """Stores the first error that fabio logs."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.error = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.error = self.error or record.getMessage()[:200]
