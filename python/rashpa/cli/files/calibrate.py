# SPDX-License-Identifier: Apache-2.0
"""`rashpa calibrate pedestal`: makes calibration files from dark runs."""

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from rashpa.cli.at_work import Work, carried_out
from rashpa.cli.option_fields import with_options
from rashpa.cli.teller import AsJson, Follow, OutputBefore, Quiet, Teller, output_of
from rashpa.data.base.bad_file import no_memory
from rashpa.data.base.books import DataBooks, all_of
from rashpa.data.datasets.calibration import load_map
from rashpa.data.datasets.calibration_file import CalibrationFileError, ModuleMaps, write_calibration
from rashpa.data.datasets.dark_runs import READING_ERRORS, DarkFrames, dark_frames
from rashpa.data.datasets.pedestal import LEAST_FRAMES, PedestalError, PedestalMap, pedestal_of
from rashpa.data.files.regular_file import open_regular, reason

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Make calibration files of a detector.")
_PIECE = 1 << 20


@app.callback()
def _group() -> None:
    """Make calibration files of a detector."""


@dataclass(frozen=True)
class PedestalOptions:
    """Holds the options of `rashpa calibrate pedestal` and reads the frames that they name."""

    g0: Annotated[list[Path], typer.Option(metavar="FILE", help="Dark frames in G0; repeatable.")]
    g1: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Dark frames with G1 forced; repeatable. None: G1 has no calibration."),
    ] = None
    g2: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Dark frames with G2 forced; repeatable. None: G2 has no calibration."),
    ] = None
    before: OutputBefore = None
    given: Annotated[Path | None, typer.Option("--output", "-o", help="The calibration file, .h5.")] = None
    detector: Annotated[str, typer.Option(help="Name of the detector, as [detector] of run files has it.")] = "detector"
    serial: Annotated[list[str] | None, typer.Option(help="Serial number of each module, in order.")] = None
    module: Annotated[int, typer.Option(min=0, help="Number of the first module of the frames.")] = 0
    gain: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="float32 [3][height][width] ADU/keV, once a module.")
    ] = None
    width: Annotated[int, typer.Option(min=1, help="Headerless files: pixels of a module.")] = 1024
    height: Annotated[int, typer.Option(min=1, help="Headerless files: pixels of a module.")] = 512
    header_bytes: Annotated[int, typer.Option(min=0, help="Headerless files: before each frame.")] = 0
    least_frames: Annotated[int, typer.Option(min=2, help="Fewer frames are refused.")] = LEAST_FRAMES
    add: Annotated[bool, typer.Option("--add", help="Add modules to a file that is there.")] = False
    follow: Follow = None

    @property
    def by_gain(self) -> tuple[list[Path], list[Path], list[Path]]:
        """Return the files of G0, G1 and G2."""
        return self.g0, self.g1 or [], self.g2 or []

    def frames(self, work: Work) -> list[DarkFrames | None]:
        """Read the dark frames of each gain, None for a gain without files. Raise PedestalError for too few frames, or for different modules in two
        gains."""
        frames: list[DarkFrames | None] = []
        for number, files in enumerate(self.by_gain):
            work.begin(f"reading frames of G{number}")
            found = dark_frames(files, self.width, self.height, self.header_bytes, self.follow or ()) if files else None
            frames.append(found)
        least = self.least_frames
        _check_frames([len(one.modules[0]) if one else least for one in frames], self.by_gain, least)
        if len({len(one.modules) for one in frames if one}) > 1:
            numbers = ", ".join(f"G{gain} has {len(one.modules)}" for gain, one in enumerate(frames) if one)
            raise PedestalError(f"dark frames: {numbers} modules; give files of the same modules for each gain")
        return frames

    def sources(self, work: Work) -> list[dict[str, str]]:
        """Return gain, name and checksum of each source file."""
        sources = []
        for number, files in enumerate(self.by_gain):
            work.begin(f"checksums of the files of G{number}")
            sources += [{"gain": f"G{number}", "file": str(file), "sha256": _sha256(file)} for file in files]
        return sources


def _maps(options: PedestalOptions, tell: Teller, work: Work) -> tuple[dict[int, ModuleMaps], DataBooks]:
    """Return the maps of each module by its number, and the books of the source files."""
    frames = options.frames(work)
    there = [one for one in frames if one is not None]
    count = len(there[0].modules)
    gains = _one_each("--gain", options.gain, count)
    serials = _one_each("--serial", options.serial, count)
    sources = options.sources(work)
    cells = _cells_of(there)
    modules = {}
    for number in range(count):
        maps, counts = _sets(frames, number, cells, options, tell, work)
        modules[options.module + number] = ModuleMaps(
            *maps,
            gain=load_map(gains[number], np.dtype("<f4"), (3, *maps[2].shape)) if gains else None,
            serial=serials[number] if serials else "",
            frames=counts,
            sources=sources,
            cells=cells,
        )
    return modules, all_of(one.books for one in there)


def _cells_of(frames: Sequence[DarkFrames]) -> tuple[int, ...]:
    """Return the storage cells that the frames name, empty when they name none. Raise PedestalError when one gain lacks a cell of another."""
    if not any(one.named for one in frames):
        return ()
    known = [set(map(int, np.unique(one.cells))) for one in frames]
    every = sorted(set.union(*known))
    for number, some in enumerate(known):
        if lacking := [cell for cell in every if cell not in some]:
            raise PedestalError(
                f"dark frames: those of list {number + 1} have no storage cell {', '.join(map(str, lacking))}, others do; record each gain in all cells"
            )
    return tuple(every)


_Maps = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.uint32]]


def _sets(
    frames: Sequence[DarkFrames | None],
    number: int,
    cells: Sequence[int],
    options: PedestalOptions,
    tell: Teller,
    work: Work,
) -> tuple[_Maps, Sequence[int] | Sequence[Sequence[int]]]:
    """Return pedestal, RMS and mask of a module, and the number of frames of each gain. Where frames name storage cells, the maps have one set for
    each cell. A pixel that is bad in one set is masked."""
    made: list[_Maps] = []
    counts: list[list[int]] = []
    each: Sequence[int | None] = cells or (None,)
    for cell in each:
        given = []
        for one, files in zip(frames, options.by_gain, strict=True):
            words = None if one is None else one.modules[number]
            if words is not None and one is not None and cell is not None:
                words = words[one.cells == cell]
            given.append((words, files))
        counts.append([0 if words is None else len(words) for words, _ in given])
        name = f"module {options.module + number}" + ("" if cell is None else f" storage cell {cell}")
        made.append(_module(given, name, options.least_frames, tell, work))
    if not cells:
        return made[0], counts[0]
    mask = np.bitwise_or.reduce([one[2] for one in made])
    return (np.stack([one[0] for one in made]), np.stack([one[1] for one in made]), mask), counts


@app.command()
@with_options(PedestalOptions)
def pedestal(options: PedestalOptions, quiet: Quiet = False, as_json: AsJson = False) -> None:
    """Make a calibration file of dark runs in three gains, or of G0 alone.

    Without dark frames of G1 or G2, pixels that switch to that gain are masked in images.

    Frames come from files of `rashpa run` with raw pixels (…_master.h5), all modules of them, or from recordings of one module: .npy, headerless
    .bin, and these compressed as .zst. Outliers are left out; dead and noisy pixels are masked.
    """
    tell = Teller("calibrate pedestal", as_json, quiet)
    output = output_of(tell, options.given, options.before)
    try:
        modules, books = carried_out(tell, functools.partial(_maps, options, tell), _nothing)
        write_calibration(output, modules, options.detector, datetime.now(UTC), options.add)
    except OSError as error:
        tell.refuse(f"{error.filename or output}: {reason(error)}; give files that can be read, and room for {output}")
    except (PedestalError, CalibrationFileError, *READING_ERRORS) as error:
        tell.refuse(str(error))
    except MemoryError as error:
        tell.fail(no_memory(error))
    if lacking := [f"G{gain}" for gain, files in enumerate(options.by_gain) if not files]:
        tell.hints.append(
            f"{output}: no calibration of {', '.join(lacking)}; a pixel that switches to it is masked in that image"
        )
    tell.end(f"{output}: {len(modules)} module(s), {options.detector}", books, [output], modules=sorted(modules))


def _check_frames(frames: Sequence[int], by_gain: Sequence[Sequence[Path]], least: int) -> None:
    """Raise PedestalError when gains have fewer than `least` frames; the error names all such gains and the frames that each lacks."""
    lacking = [
        f"G{gain} ({', '.join(map(str, files))}) has {there} and lacks {least - there}"
        for gain, (there, files) in enumerate(zip(frames, by_gain, strict=True))
        if there < least
    ]
    if lacking:
        raise PedestalError(
            f"dark frames: at least {least} of each gain are needed, and {'; '.join(lacking)}; record more, or set --least-frames"
        )


def _nothing() -> None:
    """Do nothing, as the `undo` of the work: the file is written at the end, as a whole or not at all."""


def _module(
    gains: Sequence[tuple[NDArray[np.uint16] | None, Sequence[Path]]], name: str, least: int, tell: Teller, work: Work
) -> _Maps:
    found: dict[int, PedestalMap] = {}
    for gain, (words, files) in enumerate(gains):
        if words is None:
            continue
        work.begin(f"{name} G{gain}")
        what = f"{name}, G{gain} ({', '.join(map(str, files))})"
        found[gain] = one = pedestal_of(words, gain, what, least, work.is_at)
        tell.say(
            f"{name} G{gain}: {len(words)} frames, pedestal {np.nanmedian(one.pedestal):.1f} ADU, RMS "
            f"{np.nanmedian(one.rms):.2f} ADU (medians), {one.outliers} outliers left out, {np.count_nonzero(one.bad)} pixels masked"
        )
    shapes = {one.pedestal.shape for one in found.values()}
    if len(shapes) > 1:
        raise PedestalError(
            f"{name}: frames of G0, G1 and G2 have different shapes: {sorted(shapes)}; take all of them with the same settings"
        )
    mask = np.bitwise_or.reduce([one.bad for one in found.values()])
    if mask.all():
        bad = ", ".join(f"{np.count_nonzero(one.bad)} in G{gain}" for gain, one in found.items())
        raise PedestalError(
            f"{name}: every pixel would be masked ({bad} of {mask.size}); look whether the files are dark frames of the gain that they are given for"
        )
    none = np.full(mask.shape, np.nan, np.float32)
    pedestals, rms = (
        np.stack([getattr(found[gain], name) if gain in found else none for gain in range(len(gains))])
        for name in ("pedestal", "rms")
    )
    return pedestals, rms, mask


def _one_each(option: str, given: list[str] | None, modules: int) -> list[str]:
    """Return the values of an option, one for each module; an empty list when the option is not given."""
    if given and len(given) != modules:
        raise PedestalError(
            f"{option}: is given {len(given)} times, and the frames have {modules} module(s); give it once a module"
        )
    return given or []


def _sha256(path: Path) -> str:
    sha256 = hashlib.sha256()
    with open_regular(path) as file:
        while piece := file.read(_PIECE):
            sha256.update(piece)
    return sha256.hexdigest()
