# SPDX-License-Identifier: Apache-2.0
"""Compares the gain mode of the run file with the DAQ info that a JUNGFRAU sends with each image."""

from collections.abc import Iterator
from pathlib import Path

from rashpa.control.books.outcome import Outcome

_BITS = {0: "highgain0", 1: "fixg1", 2: "fixg2", 12: "forceswitchg1", 13: "forceswitchg2"}
"""Bits of the DAQ info, by the gain mode that sets them (slsDetectorPackage, docs/src/udpdetspec.rst)."""
_MOST_FILES = 32


def gain_mode_cautions(outcome: Outcome) -> Iterator[str]:
    """Yield a line for each file of a buffer with the kernel jungfrau with images that another gain mode has made."""
    calibration = outcome.plan.file.detector.calibration
    mode = calibration.gain_mode if calibration else "dynamic"
    converted = {
        buffer.section.name
        for buffer in outcome.plan.buffers
        if any(kernel.name == "jungfrau" for kernel in buffer.section.kernel)
    }
    files = [Path(buffer.file) for buffer in outcome.buffers if buffer.file and buffer.name in converted]
    for file in files[:_MOST_FILES]:
        if file.is_file() and (caution := gain_mode_caution(file, mode)):
            yield caution


def gain_mode_caution(file: Path, mode: str) -> str:
    """Return a caution when images of the file name another gain mode than `mode`, else an empty text. Images without such a bit prove nothing:
    simulated detectors leave the DAQ info 0. Raise the errors of the reader."""
    import numpy as np

    from rashpa.data.stored.opened import open_one  # with HDF5, which no run waits for before it begins

    with open_one(file) as run:
        said = run.tables.counted("daq_info")
    said = said[said >= 0]
    wrong = {name: int(np.count_nonzero(said >> bit & 1)) for bit, name in _BITS.items() if name != mode}
    found = {name: images for name, images in wrong.items() if images}
    if not found:
        return ""
    name = max(found, key=lambda one: found[one])
    return (
        f"{file}: the DAQ info of {found[name]} of {len(said)} images says {name}, and detector.calibration.gain_mode is {mode}; "
        f"set gain_mode to {name}, and process the images again"
    )
