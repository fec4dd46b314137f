# SPDX-License-Identifier: Apache-2.0
"""Print the licences of everything below a folder of installed packages: `python tools/release/notices.py FOLDER`.

Python packages bring their licences in their metadata. Shared libraries that a wheel took from the distribution stand in the bill of
materials that auditwheel adds to it; their licences are those of the distribution's packages. Sources that are compiled into our native
module come from packages of the Python that runs this.
"""

import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path

DOCUMENTATION = Path("/usr/share/doc")
COMPILED_IN = ("nanobind-dev", "libfmt-dev", "libhwy-dev")
"""Packages of the distribution that are compiled into libraries of ours, as far as they come from there."""
COMPILED_IN_OF_PYTHON = ("nanobind",)
"""Python packages with sources that are compiled into the native module."""
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def main() -> None:
    """Print all of it; exit with an error when a licence is missing."""
    missing = []
    for name, text in [*_python_packages(Path(sys.argv[1])), *_sources(), *_libraries(Path(sys.argv[1]))]:
        if not text.strip():
            missing.append(name)
        print(f"{'=' * 100}\n{name}\n{'=' * 100}\n{text.rstrip()}\n")
    if missing:
        sys.exit(f"notices: {', '.join(missing)}: the licence is not found; add it")


def _python_packages(folder: Path) -> Iterator[tuple[str, str]]:
    for package in sorted(distributions(path=[str(folder)]), key=lambda one: one.name.lower()):
        yield f"{package.name} {package.version} (Python package)", _licence(package)


def _sources() -> Iterator[tuple[str, str]]:
    """Yield the licences of compiled sources, and of the sources of others that these bring in a folder `ext`: the first comment of a header."""
    for name in COMPILED_IN_OF_PYTHON:
        try:
            package = distribution(name)
        except PackageNotFoundError:
            yield f"{name} (compiled in)", ""
            continue
        yield f"{name} {package.version} (compiled in)", _licence(package)
        folders = {
            file.parts[2]: file for file in package.files or () if "ext" in file.parts[1:2] and file.suffix == ".h"
        }
        for folder, header in sorted(folders.items()):
            found = _COMMENT.search(Path(str(package.locate_file(header))).read_text(errors="replace"))
            yield f"{folder} (compiled in with {name})", found[0] if found and "icense" in found[0] else ""


def _licence(package: Distribution) -> str:
    """Return the texts that a package carries, behind its metadata's licence."""
    facts = package.metadata.json
    said = str(facts.get("license_expression") or facts.get("license") or "")
    said = said or "\n".join(one for one in package.metadata.get_all("Classifier") or () if one.startswith("License"))
    texts = [
        Path(str(package.locate_file(file))).read_text(errors="replace")
        for file in package.files or ()
        if ".dist-info" in str(file) and any(word in file.name.upper() for word in ("LICEN", "COPYING", "NOTICE"))
    ]
    return "\n\n".join([said, *texts])


def _libraries(folder: Path) -> Iterator[tuple[str, str]]:
    names = set(COMPILED_IN)
    for bill in folder.glob("rashpa-*.dist-info/sboms/auditwheel.cdx.json"):
        names |= {part["name"] for part in json.loads(bill.read_text()).get("components", ()) if _is_debian(part)}
    for name in sorted(names):
        file = DOCUMENTATION / name / "copyright"
        if file.is_file():
            yield f"{name} (package of the distribution)", file.read_text(errors="replace")
        elif name not in COMPILED_IN:
            yield f"{name} (package of the distribution)", ""


def _is_debian(part: dict[str, str]) -> bool:
    return part.get("purl", "").startswith(("pkg:deb/", "pkg:dpkg/"))


if __name__ == "__main__":
    main()
