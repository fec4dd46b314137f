# SPDX-License-Identifier: Apache-2.0
"""Determines the kind of pixels, raw words or counts: as they arrive, whether kernels take that kind, and after the kernels."""

from collections.abc import Iterator, Sequence

from rashpa.control.runfile.dataset_spec import PatternSpec
from rashpa.control.runfile.kernels import Kernel, code_of, declaration, declaration_of, label_of
from rashpa.control.runfile.pipeline import leaves
from rashpa.control.runfile.run_file import RunFile
from rashpa.control.runfile.run_file_reader import RunFileSource
from rashpa.data.base.pixel_units import KEV, PHOTONS, RAW_WORDS, is_made

_RAW_TYPE = "uint16"


def arriving_units(file: RunFile, said: str = "") -> str:
    """Return the units of arriving pixels, empty when unknown. `said`: the units that the dataset's files state, which take precedence. Pixels of a
    detector with a calibration are its raw words."""
    if said:
        return said
    if file.dataset.kind == "jungfrau":
        return RAW_WORDS
    calibrated = file.detector.calibration is not None and not isinstance(file.dataset, PatternSpec)
    return RAW_WORDS if calibrated and file.detector.pixel == _RAW_TYPE else ""


def units_behind(kernels: Sequence[Kernel], arriving: str) -> str:
    """Return the units of pixels after the kernels."""
    makers = [kernel for kernel in kernels if declaration_of(kernel).made("pixels")]
    if makers:
        return KEV if leaves(makers[-1], "") == "float32" else PHOTONS
    counted = any(not code_of(kernel) and not declaration_of(kernel).delivered for kernel in kernels)
    return arriving or (PHOTONS if counted else "")


def words_problems(file: RunFile, source: RunFileSource, arriving: str) -> Iterator[str]:
    """Yield a line for each buffer that treats raw words as counts, or counts as raw words. Foreign kernels may take either."""
    calibrated = file.detector.calibration is not None
    advice = "begin with jungfrau" + (
        ", or leave [detector.calibration] out where they are photons" if calibrated else ""
    )
    for number, buffer in enumerate(file.buffer):
        if buffer.reduction is not None and arriving == RAW_WORDS:
            yield (
                f"{source.where(('buffer', number, 'reduction'))}: the dataset's pixels are raw words of a JUNGFRAU, with the gain stage in two bits; leave "
                "[buffer.reduction] out, and convert them by the kernel jungfrau"
            )
        for position, kernel in enumerate(buffer.kernel):
            known = declaration(kernel.name)
            where = source.where(("buffer", number, "kernel", position))
            if known.calibration and is_made(arriving):
                yield f"{where}: {kernel.name} takes raw words of its detector, and the dataset's pixels are {arriving} already; leave {kernel.name} out"
            if code_of(kernel) or (known.delivered and not known.made("pixels")) or known.takes.port != "pixels":
                continue  # it only looks at pixels as they are, or at none
            if arriving == RAW_WORDS and not known.calibration:
                yield f"{where}: {label_of(kernel)} needs photons, and the dataset's pixels are raw words of a JUNGFRAU; {advice}"
            break
