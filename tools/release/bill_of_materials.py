# SPDX-License-Identifier: Apache-2.0
"""Print the bill of materials of a release as CycloneDX JSON: `python tools/release/bill_of_materials.py FOLDER`.

cyclonedx-bom lists the Python packages below FOLDER; auditwheel lists the libraries inside our wheel. Libraries that it leaves out are added by
their packages of the distribution. Packages that are compiled into the native module and the CUDA runtime come last.
"""

import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from notices import COMPILED_IN, COMPILED_IN_OF_PYTHON, CUDA_MARK, package_with


def main() -> None:
    """Print the bill; exit with an error when a package is missing."""
    folder = Path(sys.argv[1])
    bill = _of_packages(folder)
    parts: list[dict[str, Any]] = bill["components"]
    parts += [_compiled_in(name) for name in COMPILED_IN_OF_PYTHON]
    for file in folder.glob("rashpa-*.dist-info/sboms/auditwheel.cdx.json"):
        parts += [part for part in json.loads(file.read_text())["components"] if part["name"] != "rashpa"]
    parts += list(of_distribution(folder, {part["name"] for part in parts}))
    if any(CUDA_MARK in module.read_bytes() for module in folder.glob("rashpa/_native*.so")):
        parts.append({"type": "library", "bom-ref": "cuda-runtime", "name": "CUDA runtime (libcudart_static)"})
    lacking = {one.name.lower() for one in distributions(path=[str(folder)])} - {part["name"].lower() for part in parts}
    if lacking:
        sys.exit(f"bill_of_materials: {', '.join(sorted(lacking))}: the bill lacks them")
    json.dump(bill, sys.stdout, indent=1)


def _compiled_in(name: str) -> dict[str, Any]:
    """Return the component of a package whose sources are compiled into the native module."""
    address = f"pkg:pypi/{name}@{version(name)}"
    return {
        "type": "library",
        "bom-ref": f"{address}#compiled-in",
        "name": name,
        "version": version(name),
        "purl": address,
    }


def of_distribution(folder: Path, listed: set[str]) -> Iterator[dict[str, Any]]:
    """Yield the packages whose libraries the wheel carries or that are compiled into it, and that are not listed."""
    carried = {library.name: package_with(library.name) for library in folder.glob("rashpa.libs/*.so*")}
    if unknown := sorted(name for name, package in carried.items() if not package):
        sys.exit(
            f"bill_of_materials: {', '.join(unknown)}: no package of the distribution has it; make the bill where the wheel was made"
        )
    system = platform.freedesktop_os_release()["ID"]
    for name in sorted({*carried.values(), *COMPILED_IN} - listed):
        command = ["dpkg-query", "-W", "-f", "${Version}", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:  # a package that would be compiled in, and is not installed
            continue
        address = f"pkg:deb/{system}/{name}@{quote(done.stdout, safe='')}"
        yield {"type": "library", "bom-ref": address, "name": name, "version": done.stdout, "purl": address}


def _of_packages(folder: Path) -> dict[str, Any]:
    """Return the bill of a Python installation with only the packages of the folder."""
    with tempfile.TemporaryDirectory() as place:
        python = Path(place) / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH={folder.resolve()} exec {sys.executable} -S "$@"\n')
        python.chmod(0o755)
        words = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-format", "JSON", str(python)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"bill_of_materials: {done.stderr.strip()}")
    bill: dict[str, Any] = json.loads(done.stdout)
    return bill


if __name__ == "__main__":
    main()
