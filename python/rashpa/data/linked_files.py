# SPDX-License-Identifier: Apache-2.0
"""What a run's master file links to: files that lie beside it, or do not any more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py

from rashpa.data.regular_file import open_regular, reason
from rashpa.data.run_parts import RunFileError


class LinkedFiles:
    """Members of groups of a master file, wherever they lie. Every error is a RunFileError that names the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def member(self, group: h5py.Group, name: str, what: str) -> Any:
        """The dataset or group of that name; `what` it is of the run is for who has lost its file."""
        self._check(group, name)
        try:
            return group[name]
        except (KeyError, OSError) as error:
            file = self.path.parent / group.get(name, getlink=True).filename
            raise RunFileError(f"{file}: {what} of {self.path.name} cannot be opened; put it beside it") from error

    def _check(self, group: h5py.Group, name: str) -> None:
        """That the file of a link is a regular one, if it is there: HDF5 would wait for a pipe for ever."""
        link = group.get(name, getlink=True)
        if isinstance(link, h5py.ExternalLink):
            path = self.path.parent / link.filename
            try:
                open_regular(path).close()
            except FileNotFoundError:
                return
            except (OSError, ValueError) as error:
                why = reason(error) if isinstance(error, OSError) else error
                raise RunFileError(f"{path}: a part of {self.path.name}: {why}") from None
