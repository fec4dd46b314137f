# SPDX-License-Identifier: Apache-2.0
"""Completes words in a shell, besides options: run files, kernels, links, units. `rashpa --install-completion` installs the completion."""

import os
from collections.abc import Iterator

from rashpa.cli.commands import members


def run_files(incomplete: str) -> list[str]:
    """Return the run files (*.toml) and folders whose names begin with `incomplete`."""
    return list(_files(incomplete, (".toml",)))


def run_files_and_commands(incomplete: str) -> list[str]:
    """Return run files and the commands of the group `run` that begin with `incomplete`."""
    return [*(name for name in members("run") if name.startswith(incomplete)), *run_files(incomplete)]


def nodes_or_run_files(incomplete: str) -> list[str]:
    """Return run files, which name nodes, and the first part of a node's URL."""
    urls = [one for one in ("http://127.0.0.1:4780", "http://127.0.0.1:4781") if one.startswith(incomplete)]
    return [*urls, *run_files(incomplete)]


def masters(incomplete: str) -> list[str]:
    """Return HDF5 files and folders that begin with `incomplete`."""
    return list(_files(incomplete, (".h5", ".nxs", ".cxi")))


def kernels(incomplete: str) -> list[str]:
    """Return the names of kernels."""
    from rashpa.control.runfile.kernels import declarations

    return [name for name in declarations() if name.startswith(incomplete)]


def links(incomplete: str) -> list[str]:
    """Return the names of links."""
    from rashpa.control.runfile.links import link_keys

    return [name for name in link_keys() if name.startswith(incomplete)]


def units(incomplete: str) -> list[str]:
    """Return the names of processing units."""
    from rashpa.control.runfile.pipeline import UNITS

    return [name for name in UNITS if name.startswith(incomplete)]


def _files(incomplete: str, endings: tuple[str, ...]) -> Iterator[str]:
    folder, name = os.path.split(incomplete)
    try:
        with os.scandir(os.path.expanduser(folder) or ".") as entries:  # noqa: PTH111 (the word stays as it is typed)
            found = sorted(
                (one.name, one.is_dir())
                for one in entries
                if one.name.startswith(name) and (one.is_dir() or one.name.lower().endswith(endings))
            )
    except OSError:
        return
    for one, is_folder in found:
        if not one.startswith(".") or name.startswith("."):
            yield os.path.join(folder, one) + ("/" if is_folder else "")  # noqa: PTH118 (the word stays as it is typed)
