# SPDX-License-Identifier: Apache-2.0
"""Put the licences of everything in a wheel into the wheel: `python tools/release/wheel_notices.py WHEEL…`.

The wheel gets the file `licenses/THIRD_PARTY.txt` beside its LICENSE, and its metadata name it. With --check the wheels stay unchanged, and a wheel
with a library without its licence is an error.
"""

import argparse
import base64
import csv
import hashlib
import io
import sys
import tempfile
import zipfile
from pathlib import Path

from notices import CUDA_MARK, text_of, third_parties

NAME = "THIRD_PARTY.txt"


def main() -> None:
    """Change the wheels, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 where a licence is missing")
    parser.add_argument("wheels", nargs="+", type=Path)
    options = parser.parse_args()
    for wheel in options.wheels:
        if not options.check:
            put_into(wheel)
        if lacking := without_licence(wheel):
            sys.exit(f"wheel_notices: {wheel}: it has no licence of {', '.join(lacking)}; make the wheel again")


def put_into(wheel: Path) -> None:
    """Replace the wheel by one with the licences."""
    with tempfile.TemporaryDirectory() as place:
        with zipfile.ZipFile(wheel) as old:
            old.extractall(place)
        text = text_of(list(third_parties(Path(place)))).encode()
    with zipfile.ZipFile(wheel) as old:
        folder = _dist_info(old)
        metadata = old.read(f"{folder}/METADATA")
        changed = {f"{folder}/METADATA": _with_file(metadata), f"{folder}/licenses/{NAME}": text}
        changed[f"{folder}/RECORD"] = _record(old.read(f"{folder}/RECORD").decode(), changed)
        new = wheel.with_suffix(".new")
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as out:
            for entry in old.infolist():
                if entry.filename in changed:
                    out.writestr(entry, changed.pop(entry.filename))
                else:
                    out.writestr(entry, old.read(entry))
            for name, content in changed.items():
                out.writestr(name, content)
    new.replace(wheel)


def without_licence(wheel: Path) -> list[str]:
    """Return the libraries of the wheel, and the CUDA runtime, that its licences do not name."""
    with zipfile.ZipFile(wheel) as file:
        try:
            text = file.read(f"{_dist_info(file)}/licenses/{NAME}").decode()
        except KeyError:
            text = ""
        carried = [Path(name).name for name in file.namelist() if name.startswith("rashpa.libs/") and ".so" in name]
        modules = [name for name in file.namelist() if name.startswith("rashpa/_native") and name.endswith(".so")]
        if any(CUDA_MARK in file.read(name) for name in modules):
            carried.append("CUDA runtime")
    return [name for name in ("nanobind", *carried) if name not in text]


def _dist_info(wheel: zipfile.ZipFile) -> str:
    return next(name.partition("/")[0] for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))


def _with_file(metadata: bytes) -> bytes:
    """Return the metadata with the file among its licences."""
    line = f"License-File: {NAME}\n".encode()
    return (
        metadata
        if line in metadata
        else metadata.replace(b"License-File: LICENSE\n", b"License-File: LICENSE\n" + line)
    )


def _record(record: str, changed: dict[str, bytes]) -> bytes:
    """Return the wheel's list of files, with sizes and checksums of changed and new ones."""
    rows = {row[0]: row for row in csv.reader(record.splitlines()) if row}
    for name, content in changed.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows[name] = [name, f"sha256={digest}", str(len(content))]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows.values())
    return out.getvalue().encode()


if __name__ == "__main__":
    main()
