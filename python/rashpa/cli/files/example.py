# SPDX-License-Identifier: Apache-2.0
"""`rashpa example NAME`: writes a small run file, or frames, with which a page of the documentation begins."""

import importlib.util
import io
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from rashpa.cli.teller import AsJson, Quiet, Teller
from rashpa.data.base.packaged import packaged_file
from rashpa.data.files.regular_file import reason

_RUN = "rashpa run run.toml"
_HEIGHT, _WIDTH = 64, 128
_POWDER = (256, 512)
_EIGER = (512, 1028)
_GAIN_BITS = (0b00, 0b01, 0b11)
_AZIMUTHAL = re.compile(r'\[\[buffer\.kernel\]\]\nname = "azimuthal"\n(?:[^\[\n].*\n)*\n')
_WITHOUT_PYFAI = "kernel azimuthal is left out, since pyFAI is not installed; pip install pyFAI, and make the example in another folder"


@dataclass(frozen=True)
class Example:
    """Describes an example: its use, the next command to type, the files to copy, and a function that makes the other files."""

    text: str
    then: str
    copied: tuple[str, ...] = ()
    made: Callable[[], Iterator[tuple[str, bytes]]] = lambda: iter(())


def example(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The example; without it they are listed.", show_default=False)
    ] = "",
    folder: Annotated[Path, typer.Option("--output", "-o", help="Folder for the files.")] = Path(),
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write the files of a small example, which a page of the documentation begins with.

    A file that exists with other contents is not replaced; then no file is written.
    """
    tell = Teller("example", as_json, quiet)
    if not name:
        tell.answer(_list(), examples={one: EXAMPLES[one].text for one in EXAMPLES})
        return
    if name not in EXAMPLES:
        tell.refuse(f"{name}: there is no such example; take one of {', '.join(EXAMPLES)}")
    one = EXAMPLES[name]
    try:
        files = _write(dict(_contents(name)), folder)
    except ImportError:
        tell.refuse(f"{name}: its messages are made by cbor2, which is not installed; pip install 'rashpa[stream]'")
    except OSError as error:
        tell.refuse(f"--output {folder}: {reason(error)}; choose another folder")
    written = ", ".join(str(file) for file in files)
    inside = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
    lacking = "" if name != "stored" or _has_pyfai() else f"{_WITHOUT_PYFAI}\n"
    tell.answer(f"{written}\n{lacking}Next: {inside}{one.then}", files=[str(file) for file in files])


def _list() -> str:
    width = max(map(len, EXAMPLES))
    return "\n".join(f"{name:{width}}  {one.text}" for name, one in EXAMPLES.items())


def _contents(name: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of each file of an example. Without pyFAI, the run file `stored` has no kernel `azimuthal`."""
    for file in EXAMPLES[name].copied:
        content = packaged_file("examples", f"small/{name}/{file}").read_bytes()
        if name == "stored" and file == "run.toml" and not _has_pyfai():
            content = _AZIMUTHAL.sub("", content.decode()).encode()
        yield file, content
    yield from EXAMPLES[name].made()


def _has_pyfai() -> bool:
    try:
        return importlib.util.find_spec("pyFAI") is not None
    except ValueError:  # another module's place holder
        return False


def _write(files: Mapping[str, bytes], folder: Path) -> list[Path]:
    """Write the files and return their paths. Raise OSError before writing anything when one exists with other contents."""
    for name, content in files.items():
        path = folder / name
        if path.exists() and (not path.is_file() or path.read_bytes() != content):
            raise FileExistsError(f"{path} is there, with other contents, and nothing is overwritten")
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return [folder / name for name in files]


def _array(array: NDArray[Any]) -> bytes:
    """Return the bytes of a .npy file."""
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def _powder() -> Iterator[tuple[str, bytes]]:
    """Yield a file of photons: eight frames with three rings around the centre."""
    rows, columns = np.indices(_POWDER)
    radius = np.hypot(rows + 0.5 - _POWDER[0] / 2, columns + 0.5 - _POWDER[1] / 2)
    rings = sum(np.exp(-(((radius - centre) / 2.0) ** 2) / 2) for centre in (60, 100, 150))
    counts = np.random.default_rng(1).poisson(2 + 20 * rings, (8, *_POWDER))
    yield "frames.npy", _array(counts.astype(np.uint16))


def _modules() -> Iterator[tuple[str, bytes]]:
    """Yield headerless files of two modules, two files each with two frames, and the CrystFEL geometry of one module."""
    rows, columns = _EIGER
    random = np.random.default_rng(1)
    for module in range(2):
        for file in range(2):
            frames = random.poisson(3, (2, rows, columns)).astype(np.uint16)
            yield f"m{module}_{file}.bin", frames.tobytes()
    facts = {
        "clen": 0.15, "photon_energy": 12400, "adu_per_photon": 1, "res": 13333.3,
        "p0/min_fs": 0, "p0/max_fs": columns - 1, "p0/min_ss": 0, "p0/max_ss": rows - 1,
        "p0/fs": "-1.0x +0.0y", "p0/ss": "+0.0x -1.0y", "p0/corner_x": columns / 2, "p0/corner_y": rows / 2,
    }  # fmt: skip
    lines = [f"{key} = {value}" for key, value in facts.items()]
    yield "eiger.geom", ("\n".join(lines) + "\n").encode()


def _darks() -> Iterator[tuple[str, bytes]]:
    """Yield files of raw dark frames of a module in three gains, and of its gains in ADU/keV."""
    for gain, bits in enumerate(_GAIN_BITS):
        noise = np.random.default_rng(gain).normal(2000 + 3000 * gain, 10, (24, _HEIGHT, _WIDTH))
        yield f"g{gain}.npy", _array(noise.astype(np.uint16) | np.uint16(bits << 14))
    gains = np.array([40, -1.5, -0.1], np.float32)[:, None, None]
    yield "gains.npy", _array(gains * np.ones((3, _HEIGHT, _WIDTH), np.float32))


def _session() -> Iterator[tuple[str, bytes]]:
    """Yield the messages of a recorded session of Stream V2, with one image."""
    import cbor2

    pixels = cbor2.CBORTag(40, [[3, 4], cbor2.CBORTag(69, np.arange(12, dtype=np.uint16).tobytes())])
    messages: list[dict[str, Any]] = [
        {"type": "start", "number_of_images": 1, "channels": ["a"]},
        {"type": "image", "image_id": 0, "data": {"a": pixels}},
        {"type": "end"},
    ]
    for number, message in enumerate(messages):
        series = {"series_id": 1, "series_unique_id": "A"}
        yield f"recorded/{number:04}.cbor", cbor2.dumps(message | series)


EXAMPLES = {
    "stored": Example(
        "a run of 40 frames through most kernels, as files to read",
        _RUN,
        ("run.toml", "geometry.poni", "detector.geom"),
    ),
    "endless": Example("a run that goes on until it is stopped", _RUN, ("run.toml",)),
    "orphaned": Example("a run that goes on when its manager dies", _RUN, ("run.toml",)),
    "feedback": Example("an endless run that tells each decision by a ring", _RUN, ("run.toml",)),
    "group": Example("a long run of a group of two receivers", _RUN, ("run.toml",)),
    "powder": Example(
        "frames of a powder, and their geometry",
        "rashpa dataset info frames.npy",
        ("geometry.poni",),
        _powder,
    ),
    "modules": Example(
        "frames of two modules in files without headers, and the CrystFEL geometry of one",
        "rashpa dataset make --output eiger --kind files --width 1028 --height 512 --raw 'm0_*.bin' --raw 'm1_*.bin'",
        made=_modules,
    ),
    "darks": Example(
        "dark frames of a JUNGFRAU in three gains, and its gains",
        "rashpa calibrate pedestal --g0 g0.npy --g1 g1.npy --g2 g2.npy --gain gains.npy -o jf.h5",
        made=_darks,
    ),
    "session": Example(
        "a recorded session of Stream V2", "rashpa receive-stream recorded/ -o out/session", made=_session
    ),
}
"""The examples by name. Their files are in `examples/small`, or made here."""
