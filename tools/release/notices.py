# SPDX-License-Identifier: Apache-2.0
"""Print the licences of everything below a folder of installed packages: `python tools/release/notices.py FOLDER`.

Python packages have their licences in their metadata. Shared libraries that a wheel took from the distribution are in its folder `rashpa.libs`; their
licences are those of the distribution's packages. Sources and static libraries compiled into our native module come from packages of the
distribution, of the Python that runs this, and of CUDA.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path

DOCUMENTATION = Path("/usr/share/doc")
COMMON = Path("/usr/share/common-licenses")
COMPILED_IN = ("nanobind-dev", "libfmt-dev", "libhwy-dev", "liburing-dev")
"""Packages of the distribution that are compiled into libraries of ours, as far as they come from there."""
COMPILED_IN_OF_PYTHON = ("nanobind",)
"""Python packages with sources that are compiled into the native module."""
CUDA_MARK = b"CUDA driver version is insufficient for CUDA runtime version"
"""Text of the CUDA runtime, which is linked statically."""
CUDA_NOTICE = (
    "The native module contains the CUDA runtime (libcudart_static), © NVIDIA Corporation. The CUDA Toolkit's End User License Agreement,\n"
    "Attachment A, allows its distribution with an application: https://docs.nvidia.com/cuda/eula/"
)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_HASH = re.compile(r"-[0-9a-f]{8}(?=\.)")


def main() -> None:
    """Print the licences; exit with an error when one is missing."""
    folder = Path(sys.argv[1])
    print(text_of([*_python_packages(folder), *third_parties(folder)]))


def text_of(notices: list[tuple[str, str]]) -> str:
    """Return the licences with their names; equal ones are printed once. Exit with an error when a text is missing."""
    missing = [name for name, text in notices if not text.strip()]
    if missing:
        sys.exit(f"notices: {', '.join(missing)}: the licence is not found; add it")
    names: dict[str, list[str]] = {}
    for name, text in notices:
        names.setdefault(text.rstrip(), []).append(name)
    line = "=" * 100
    return "\n".join(f"{line}\n" + "\n".join(all_of) + f"\n{line}\n{text}\n" for text, all_of in names.items())


def third_parties(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield name and licence of everything in the wheel in this folder that is not ours."""
    of_parts = [*_sources(), *_libraries(folder)]
    yield from of_parts
    yield from _common_licences("\n".join(text for _, text in of_parts))
    if any(CUDA_MARK in module.read_bytes() for module in folder.glob("rashpa/_native*.so")):
        yield "CUDA runtime (compiled in)", CUDA_NOTICE


def _common_licences(text: str) -> Iterator[tuple[str, str]]:
    """Yield the licences that package texts name by their path on a system of the distribution."""
    for name in sorted(set(re.findall(rf"{COMMON}/([A-Za-z0-9.+-]*[A-Za-z0-9])", text))):
        file = COMMON / name
        yield f"{name} (as the licences above name it)", file.read_text(errors="replace") if file.is_file() else ""


def _python_packages(folder: Path) -> Iterator[tuple[str, str]]:
    for package in sorted(distributions(path=[str(folder)]), key=lambda one: one.name.lower()):
        yield f"{package.name} {package.version} (Python package)", _licence(package)


def _sources() -> Iterator[tuple[str, str]]:
    """Yield the licences of compiled sources, and of foreign sources inside them in a folder `ext`: the first comment of a header."""
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
    for name in COMPILED_IN:
        if text := _debian_licence(name):
            yield f"{name} (package of the distribution, compiled in)", text


def _licence(package: Distribution) -> str:
    """Return the licence texts of a package, after the licence named in its metadata."""
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
    """Yield the licence of each shared library in the wheel, an empty text when no package of the distribution has it."""
    for library in sorted(folder.glob("rashpa.libs/*.so*")):
        package = package_with(library.name)
        yield f"{library.name} ({package or 'no package'} of the distribution)", _debian_licence(package)


def package_with(name: str) -> str:
    """Return the distribution's package that has a library, which a wheel may have given a hash in its name; empty without one."""
    try:
        command = ["dpkg-query", "-S", f"*/{_HASH.sub('', name)}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.partition(":")[0]


def _debian_licence(package: str) -> str:
    file = DOCUMENTATION / package / "copyright"
    return file.read_text(errors="replace") if package and file.is_file() else ""


if __name__ == "__main__":
    main()
