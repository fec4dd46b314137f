#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the documentation of releases side by side: each in a folder named by its version, with a menu on every page that leads to the others.

Usage: docs_versions.py FOLDER [rashpa-VERSION-docs.tar.gz…]. Unpacks the archives into FOLDER/VERSION, and lists all versions in
FOLDER/versions.json, which the menu reads. FOLDER/index.html leads to the newest version.
"""

import argparse
import json
import re
import sys
import tarfile
from pathlib import Path

ARCHIVE = re.compile(r"rashpa-(\d+\.\d+\.\d+)-docs\.tar\.gz")
VERSION = re.compile(r"\d+\.\d+\.\d+")
INDEX = '<!doctype html><meta charset="utf-8"><title>rashpa</title><meta http-equiv="refresh" content="0; url={version}/">\n'


def unpack(archive: Path, folder: Path) -> None:
    """Unpack the pages of one release. Raise ValueError for another file."""
    named = ARCHIVE.fullmatch(archive.name)
    if not named:
        raise ValueError(f"{archive}: the name is not that of pages; give rashpa-VERSION-docs.tar.gz")
    inner = f"rashpa-{named[1]}-docs"
    with tarfile.open(archive) as pages:
        for member in pages.getmembers():
            top, _, rest = member.name.partition("/")
            if top != inner:
                raise ValueError(f"{archive}: {member.name} is not below {inner}; make the archive with make release")
            member.name = f"{named[1]}/{rest}"
            pages.extract(member, folder, filter="data")


def versions(folder: Path) -> list[str]:
    """Return the versions with pages in the folder, the newest first."""
    found = [path.name for path in folder.iterdir() if VERSION.fullmatch(path.name) and (path / "index.html").is_file()]
    return sorted(found, key=lambda name: [int(part) for part in name.split(".")], reverse=True)


def main() -> int:
    """Unpack archives, and write list and index; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("archives", nargs="*", type=Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    try:
        for archive in options.archives:
            unpack(archive, options.folder)
    except (ValueError, OSError, tarfile.TarError) as error:
        print(f"docs_versions: {error}", file=sys.stderr)
        return 2
    found = versions(options.folder)
    if not found:
        print(f"docs_versions: {options.folder}: there are no pages; give archives of make release", file=sys.stderr)
        return 2
    entries = [{"version": name, "title": name, "aliases": ["latest"] if name == found[0] else []} for name in found]
    (options.folder / "versions.json").write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")
    (options.folder / "index.html").write_text(INDEX.format(version=found[0]), encoding="utf-8")
    print(", ".join(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
