# SPDX-License-Identifier: Apache-2.0
"""Limits a node independently of telegrams: folders to read and write, addresses to publish at, code to load and cards to drive. Any user with the
right to order may send a telegram, but the node reads and writes with the rights of the user that started it."""

import ipaddress
from collections.abc import Iterable
from pathlib import Path

from rashpa.control.plan.checks.dataset_check import files_of
from rashpa.control.plan.emulators import SIMULATED
from rashpa.control.runfile.dataset_spec import AnyDatasetSpec, DirectorySpec, FilesSpec
from rashpa.data.files.file_names import expanded, is_pattern, located
from rashpa.data.files.regular_file import real_path
from rashpa.data.stream.feedback import FEEDBACK_FOLDER, address_of, ring_name
from rashpa.node.engine.engine import EngineError


class Folders:
    """Allows folders and single files, with everything below them. Links and `..` are resolved before a path is checked."""

    def __init__(
        self,
        read: Iterable[Path],
        write: Iterable[Path],
        kernels: Path | None = None,
        cards: Iterable[str] = (),
        feedback: Path = FEEDBACK_FOLDER,
        publish: Iterable[str] = (),
    ) -> None:
        """Set the limits. `cards`: directories of cards, and "sim" to allow simulated cards; `feedback`: the folder of rings; `publish`: addresses at
        which sockets may publish, besides loopback."""
        self._feedback = real_path(feedback)
        self._publish = frozenset(map(ipaddress.ip_address, publish))
        named = frozenset(cards)
        self._simulates = SIMULATED in named
        self._cards = frozenset(real_path(card) for card in named - {SIMULATED})
        self._read = frozenset(real_path(path) for path in read)
        self._write = frozenset(real_path(path) for path in write)
        self._kernels = None if kernels is None else real_path(kernels)

    @property
    def has_kernels(self) -> bool:
        """Return True when the node may load kernels from outside the program."""
        return self._kernels is not None

    def kernel_file(self, name: str) -> Path:
        """Return the file with the code of a kernel. `name` is no path: loading code means running it, so the node runs only code from the one folder
        named for this. Raise EngineError that says how to allow it."""
        if self._kernels is None:
            raise EngineError(
                "config",
                f"kernel {name!r}: this node runs no code from outside; start it with --kernels FOLDER, where {name!r} lies",
            )
        if name in ("", ".", "..") or "/" in name or "\0" in name:
            raise EngineError(
                "config", f"kernel {name!r}: give the name of a file in {self._kernels}, without a folder"
            )
        try:
            path = (self._kernels / name).resolve(strict=True)
        except (OSError, RuntimeError) as error:
            why = "no such file" if isinstance(error, FileNotFoundError) else str(error)
            raise EngineError("file", f"kernel {name}: {why} in {self._kernels}; put it there") from None
        if path.parent != self._kernels:
            raise EngineError(
                "file",
                f"kernel {name}: it is a link out of {self._kernels}, to {path}; put the file itself there",
            )
        if not path.is_file():
            raise EngineError("file", f"kernel {name}: {path} is no regular file")
        return path

    def card_directory(self, name: str) -> Path | None:
        """Return the directory with the device files of a card, None for a card that this node simulates. Raise EngineError that says how to allow
        it."""
        if name == SIMULATED:
            if not self._simulates:
                raise EngineError("config", "card sim: this node simulates no card; start it with --card sim")
            return None
        try:
            path = real_path(expanded(name))
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links; a byte 0
            raise EngineError("file", f"card {name!r} is no path: {error}") from None
        if path not in self._cards and self._cards.isdisjoint(path.parents):
            known = ", ".join(sorted(map(str, self._cards))) or "none"
            raise EngineError(
                "file",
                f"card {name}: this node may drive the cards in {known}; start it with --card {path}, or name one of them",
            )
        return path

    def ring_file(self, name: str) -> Path:
        """Return the file of a ring, which is always in the folder for rings."""
        return self._feedback / ring_name(name)

    def check_publish(self, endpoint: str, what: str) -> None:
        """Raise EngineError when this node may not publish at `endpoint`, tcp://ADDRESS:PORT. An empty endpoint is always allowed. `what`: the name
        of the endpoint in the error."""
        if not endpoint:
            return
        try:
            address = ipaddress.ip_address(address_of(endpoint))
        except ValueError as error:
            raise EngineError("config", f"{what} {endpoint}: {error}") from None
        if not address.is_loopback and address not in self._publish:
            raise EngineError(
                "config",
                f"{what} {endpoint}: this node publishes on loopback alone; start it with --publish {address}, where everyone who reaches "
                "that address may read what is published",
            )

    def check_read(self, spec: AnyDatasetSpec, base: Path) -> None:
        """Raise EngineError when a file of the dataset is outside the readable folders. Relative paths start at `base`."""
        if isinstance(spec, FilesSpec):
            for name in (located(name, base) for names in spec.files for name in names):
                if is_pattern(name):  # its folder is looked into
                    _check(Path(name) if Path(name).is_dir() else Path(name).parent, self._read, "read")
        for _, path in files_of(spec.resolved(base)):
            _check(path, self._read, "read")
            if isinstance(spec, DirectorySpec) and path.is_dir():
                for entry in path.iterdir():
                    _check(entry, self._read, "read")

    @property
    def readable(self) -> tuple[Path, ...]:
        """Return the folders to which links of an HDF5 file may lead; empty when every file may be read and the dataset sets the limit."""
        return () if Path("/") in self._read else tuple(self._read)

    def check_file(self, path: Path) -> None:
        """Raise EngineError when this file may not be read."""
        _check(path, self._read, "read")

    def check_write(self, path: Path) -> None:
        """Raise EngineError when no file may be made at `path`."""
        _check(path, self._write, "write")


EVERYWHERE = Folders((Path("/"),), (Path("/"),), cards=(SIMULATED, "/"))
"""The limits of an engine in the process of its manager."""


def _check(path: Path, allowed: frozenset[Path], what: str) -> None:
    try:
        resolved = real_path(path)
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links; a byte 0
        raise EngineError("file", f"{str(path)!r} is no path: {error}") from None
    if resolved not in allowed and allowed.isdisjoint(resolved.parents):
        known = ", ".join(sorted(map(str, allowed))[:5]) or "nowhere"
        raise EngineError(
            "file",
            f"{path}: this node may {what} {'below ' if allowed else ''}{known} alone; start it with --{what} {resolved.parent}, "
            f"or name a place there",
        )
