# SPDX-License-Identifier: Apache-2.0
"""`rashpa dataset`: make, describe and show the data that an emulator plays."""

import contextlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rashpa.cli.at_work import Work, carried_out
from rashpa.cli.option_fields import with_options
from rashpa.cli.teller import AsJson, OutputBefore, Quiet, Teller, output_of
from rashpa.data.base.books import DataBooks
from rashpa.data.base.value_words import said_of_value
from rashpa.data.datasets.calibration_spec import CalibrationSpec
from rashpa.data.datasets.dataset_spec import (
    AnyDatasetSpec,
    FilesSpec,
    JungfrauSpec,
    PatternSpec,
)
from rashpa.data.files.file_names import HEADERLESS, NumberingError, expanded, frame_files, in_order, without_packing

if TYPE_CHECKING:
    from rashpa.data.datasets.datasets import LoadedDataset

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Make a dataset for emulators, describe it, look at a frame.",
)


USUAL_KEV = 12.4
_SIDE = "pattern, files: pixels of a module; 0: as the files say. JUNGFRAU's 1024 × 512 when not given, for patterns and files without a header."


class Kind(StrEnum):
    """Names the kinds of dataset that `make` can make."""

    JUNGFRAU = "jungfrau"
    PATTERN = "pattern"
    FILES = "files"


class GainUnit(StrEnum):
    """Names the units of gain maps."""

    ADU_PER_KEV = "adu_per_kev"
    ADU_PER_PHOTON = "adu_per_photon"


class Pixel(StrEnum):
    """Names the pixel types of the dataset `pattern`."""

    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    INT16 = "int16"
    INT32 = "int32"
    FLOAT32 = "float32"


_KINDS = {
    **dict.fromkeys(("seed", "place", "hit_fraction", "dark_every", "spots", "background"), (Kind.JUNGFRAU,)),
    **dict.fromkeys(("frames", "modules"), (Kind.JUNGFRAU, Kind.PATTERN)),
    **dict.fromkeys(("width", "height", "pixel"), (Kind.PATTERN, Kind.FILES)),
    **dict.fromkeys(("raw", "header_bytes", "dark_frame", "pedestal", "gain", "mask", "gain_unit"), (Kind.FILES,)),
    "energy_kev": (Kind.JUNGFRAU, Kind.FILES),
}
"""The kinds that have an option; those that are not here are of all kinds."""


@dataclass(frozen=True)
class MakeOptions:
    """Holds the options of `rashpa dataset make`, and the datasets that they describe."""

    before: OutputBefore = None
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="The folder to write; new or empty.")
    ] = None
    kind: Annotated[
        Kind | None,
        typer.Option(
            help="JUNGFRAU raw frames of a crystal, a computed pattern, or recorded files.",
            show_default="files with --raw, jungfrau without",
        ),
    ] = None
    frames: Annotated[int, typer.Option(min=1, help="Different frames; a run repeats them.")] = 60
    modules: Annotated[int, typer.Option(min=1, help="Modules of the detector; of files as many as --raw.")] = 2
    seed: Annotated[int, typer.Option(min=0, help="jungfrau: the same seed makes the same dataset.")] = 1
    energy_kev: Annotated[
        float | None,
        typer.Option(
            help="Photon energy; of files also that of the photon in adu_per_photon. Of jungfrau, and of that photon, 12.4 when not given."
        ),
    ] = None
    place: Annotated[
        list[str] | None,
        typer.Option(
            metavar="X,Y", help="jungfrau: a module's place in the assembled image; once a module. Without: no gaps."
        ),
    ] = None
    hit_fraction: Annotated[float, typer.Option(help="jungfrau: share of hits among the frames that are not dark.")] = (
        0.3
    )
    dark_every: Annotated[
        int, typer.Option(min=0, help="jungfrau: distance from one dark frame to the next; 0: none is dark.")
    ] = 10
    spots: Annotated[int, typer.Option(min=0, help="jungfrau: Bragg spots of a hit.")] = 80
    background: Annotated[float, typer.Option(help="jungfrau: mean photons a pixel of a hit.")] = 1.0
    width: Annotated[int | None, typer.Option(min=0, help=_SIDE)] = None
    height: Annotated[int | None, typer.Option(min=0, help=_SIDE)] = None
    pixel: Annotated[Pixel, typer.Option(help="pattern, files: pixel type.")] = Pixel.UINT16
    raw: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILES",
            help="files: those of a module, a file, a folder, or a pattern such as 'm0_*.bin'; once a module.",
        ),
    ] = None
    header_bytes: Annotated[int, typer.Option(min=0, help="files: before each frame; 112: SLS receiver.")] = 0
    dark_frame: Annotated[list[int] | None, typer.Option(min=0, help="files: a frame without light; repeatable.")] = (
        None
    )
    pedestal: Annotated[
        list[str] | None,
        typer.Option(metavar="FILES", help="files: ADU of G0, G1, G2, one file or three with commas; once a module."),
    ] = None
    gain: Annotated[
        list[str] | None,
        typer.Option(metavar="FILES", help="files: like --pedestal, of the unit that --gain-unit says."),
    ] = None
    mask: Annotated[list[str] | None, typer.Option(metavar="FILE", help="files: NXmx pixel_mask; once a module.")] = (
        None
    )
    gain_unit: Annotated[GainUnit, typer.Option(help="files: of --gain.")] = GainUnit.ADU_PER_KEV

    @property
    def chosen(self) -> Kind:
        """Return the kind that `--kind` gives, or the kind that the other options imply."""
        return self.kind or (Kind.FILES if self.raw else Kind.JUNGFRAU)

    @property
    def usual_energy_kev(self) -> float:
        """Return the given photon energy in keV, or the usual one."""
        return USUAL_KEV if self.energy_kev is None else self.energy_kev

    def spec(self) -> AnyDatasetSpec:
        """Return the specification of the dataset. Raise ValueError when options are missing, contradict each other or belong to another kind."""
        for option in fields(self):
            kinds = _KINDS.get(option.name, (self.chosen,))
            if self.chosen not in kinds and getattr(self, option.name) != option.default:
                name = option.name.replace("_", "-")
                raise ValueError(
                    f"--{name}: --kind {self.chosen} has no such option; leave it out, or give --kind {' or '.join(kinds)}"
                )
        if self.chosen is Kind.PATTERN:
            return self._pattern()
        return self._files() if self.chosen is Kind.FILES else self._jungfrau()

    def calibration(self) -> CalibrationSpec | None:
        """Return the calibration files of a dataset made from files of frames, None when none are given."""
        if self.chosen is not Kind.FILES or not (self.pedestal or self.gain):
            return None
        return CalibrationSpec(
            pedestal=[_map_of(names) for names in self.pedestal or []],
            gain=[_map_of(names) for names in self.gain or []],
            mask=self.mask or [],
            gain_unit=self.gain_unit.value,
            photon_energy_kev=self.usual_energy_kev,
        )

    def _pattern(self) -> PatternSpec:
        return PatternSpec(
            kind="pattern",
            modules=self.modules,
            frames=self.frames,
            width=_side(self.width, 1024),
            height=_side(self.height, 512),
            pixel=self.pixel.value,
        )

    def _files(self) -> FilesSpec:
        if not self.raw:
            raise ValueError("--kind files: there are no frames; give --raw FILES, once a module")
        files = [_files_of(pattern) for pattern in self.raw]
        known = not any(without_packing(name).endswith(HEADERLESS) for names in files for name in names)
        return FilesSpec(
            kind="files",
            files=files,
            width=_side(self.width, 0 if known else 1024),
            height=_side(self.height, 0 if known else 512),
            pixel=self.pixel.value,
            header_bytes=self.header_bytes,
            dark_frames=self.dark_frame or [],
            energy_kev=self.energy_kev,
        )

    def _jungfrau(self) -> JungfrauSpec:
        return JungfrauSpec(
            kind="jungfrau",
            modules=self.modules,
            frames=self.frames,
            seed=self.seed,
            energy_kev=self.usual_energy_kev,
            hit_fraction=self.hit_fraction,
            dark_every=self.dark_every,
            spots=self.spots,
            background=self.background,
            places=[_place_of(text) for text in self.place or []],
        )


@app.command()
@with_options(MakeOptions)
def make(options: MakeOptions, quiet: Quiet = False, as_json: AsJson = False) -> None:
    """Make a dataset folder: frames as .npy, their calibration, and dataset.json, which says what is synthetic and how it was made."""
    tell = Teller("dataset make", as_json, quiet)
    folder = output_of(tell, options.output, options.before)
    with _refusing(tell):
        _make(tell, options.spec(), options.calibration(), folder)
        books, facts = _describe(tell, folder)
    tell.end("", books, [folder], dataset=facts)


def _make(tell: Teller, spec: AnyDatasetSpec, calibration: CalibrationSpec | None, folder: Path) -> None:
    """Write the dataset; a failure or an interrupt leaves nothing of it behind."""
    from rashpa.data.datasets.dataset_directory import be_new
    from rashpa.data.datasets.datasets import make_folder

    be_new(folder)
    was_there = folder.exists()

    def do(work: Work) -> None:
        make_folder(spec, folder, work.begin, work.is_at, calibration)

    def undo() -> None:
        for path in folder.iterdir():
            path.unlink()
        if not was_there:
            folder.rmdir()

    try:
        carried_out(tell, do, undo)
    except BaseException:
        with contextlib.suppress(OSError):
            undo()
        raise


def _files_of(pattern: str) -> list[str]:
    """Return the file of exactly this name, or all files that match the pattern, in the order of their numbers. Raise ValueError when no file matches
    or a number is missing."""
    pattern = expanded(pattern)
    found = [name for name in frame_files(pattern) if Path(name).is_file()]
    if not found:
        raise ValueError(f"--raw {pattern}: there is no such file; give a file, a folder, or a pattern of files")
    try:
        return in_order(found)
    except NumberingError as error:
        raise ValueError(
            f"--raw {pattern}: {error}; put it there, or name the files in [dataset] files of a run file"
        ) from None


def _side(given: int | None, usual: int) -> int:
    return usual if given is None else given


def _map_of(names: str) -> str | list[str]:
    parts = names.split(",")
    return names if len(parts) == 1 else parts


def _place_of(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,7}),(\d{1,7})", text)
    if found is None:
        raise ValueError(f"--place {text}: it is no place; give x,y in pixels, such as 0,548")
    return int(found[1]), int(found[2])


@app.command()
def info(
    path: Annotated[Path, typer.Argument(metavar="DIR|FILE", help="A dataset folder, a .npy or an image file.")],
    as_json: AsJson = False,
) -> None:
    """Describe a dataset: shape, kinds of frames, value range, pixels per gain, calibration."""
    tell = Teller("dataset info", as_json)
    with _refusing(tell):
        books, facts = _describe(tell, path)
    tell.end("", books, dataset=facts)


@app.command()
def preview(
    path: Annotated[Path, typer.Argument(metavar="DIR|FILE", help="A dataset folder, a .npy or an image file.")],
    out: Annotated[Path, typer.Option("--output", "-o", help="The PNG to write.")] = Path("preview.png"),
    frame: Annotated[int, typer.Option("--frame", "-n", min=0, help="The frame to draw.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Draw one frame, all modules below each other, logarithmic; photons where the dataset has a calibration."""
    tell = Teller("dataset preview", as_json)
    with _refusing(tell):
        from rashpa.sim.preview import write_preview

        loaded = _load(path)
        if frame >= loaded.dataset.frames:
            raise ValueError(f"--frame {frame}: {path} has frames 0 to {loaded.dataset.frames - 1}; give one of these")
        write_preview(loaded, frame, out)
    tell.end(f"{out}: frame {frame} of {path}", DataBooks(1, 1, unit="frames"), [out])


def _load(path: Path) -> "LoadedDataset":
    from rashpa.sim import load_dataset

    return load_dataset(path)


def _describe(tell: Teller, path: Path) -> tuple[DataBooks, dict[str, str]]:
    """Show a dataset as a table, unless the output is JSON. Read all of its frames, and refuse the dataset when a frame cannot be read."""
    from rich.console import Console
    from rich.table import Table

    from rashpa.sim.summary import summarise

    loaded = _load(path)
    facts = summarise(loaded)

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts:
        table.add_row(name, value)
    Console(quiet=tell.as_json or tell.quiet).print(table)
    return DataBooks(loaded.dataset.frames, loaded.dataset.frames, unit="frames"), dict(facts)


@contextmanager
def _refusing(tell: Teller) -> Iterator[None]:
    """Turn bad input into one line on standard error and exit code 2. The native module is imported only inside, so that `--help` works without it."""
    try:
        yield
    except ImportError as error:
        tell.refuse(f"{error}; this command needs the compiled part of rashpa: run `make`")
    except MemoryError:
        tell.refuse("the machine has too little memory for it; use fewer frames")
    except (RuntimeError, ValueError, OSError) as error:  # the native errors are RuntimeErrors, pydantic's ValueErrors
        tell.refuse(_text_of(error))


def _text_of(error: Exception) -> str:
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        return "; ".join(
            f"--{str(item['loc'][-1]).replace('_', '-')}: {said_of_value(item)}" if item["loc"] else said_of_value(item)
            for item in error.errors(include_url=False)
        )
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}; choose another, or free some space"
    return str(error)
