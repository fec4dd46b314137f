# SPDX-License-Identifier: Apache-2.0
"""Reads the products of kernels in a stored run besides images: tables, profiles, accumulations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.files.hdf5.tree import Group
from rashpa.data.parts.run_parts import StoredRunError
from rashpa.data.stored.run_facts import AccumulationFacts, ProfileFacts, TableFacts
from rashpa.data.stored.stored_facts import accumulation_facts, text_of


class StoredProducts:
    """Reads the products of one run. `group`: /entry/rashpa of its master file. Row pointers of tables are read at once, everything else on demand."""

    def __init__(self, group: Group, path: Path) -> None:
        self._group = group
        self._path = path
        self._file = path.name
        tables = group.get("tables", {})
        self._table_ptr: dict[str, NDArray[np.uint64]] = {name: tables[name]["ptr"][()] for name in tables}

    @property
    def tables(self) -> tuple[str, ...]:
        """Return the names of tables, in the order of the file."""
        return tuple(self._table_ptr)

    def table_facts(self, stored: NDArray[np.bool_]) -> dict[str, TableFacts]:
        """Return the facts of tables by name; rows of images that are not `stored` do not count."""
        found = {}
        for name, ptr in self._table_ptr.items():
            group = self._group["tables"][name]
            rows = int(np.diff(ptr.astype(np.int64))[stored].sum())
            found[name] = TableFacts(tuple(map(text_of, group.attrs["columns"])), int(group.attrs["capacity"]), rows)
        return found

    def check_table(self, name: str) -> None:
        """Raise KeyError for an unknown table."""
        if name not in self._table_ptr:
            raise KeyError(f"{self._file} has no table {name}; there are {', '.join(self._table_ptr) or 'none'}")

    def table(self, name: str, row: int) -> dict[str, NDArray[Any]]:
        """Return the rows of table `name` for the image in row `row` of the run's tables: an array for each column."""
        first, end = int(self._table_ptr[name][row]), int(self._table_ptr[name][row + 1])
        group = self._group["tables"][name]
        found = {column: group[column][first:end] for column in map(text_of, group.attrs["columns"])}
        if any(len(values) != end - first for values in found.values()):
            raise StoredRunError(f"{self._path}: table {name} holds fewer rows than the master says; copy it again")
        return found

    def profile_facts(self) -> dict[str, ProfileFacts]:
        """Return the facts of profiles, by name."""
        return {name: self._profile_facts(name) for name in self._group.get("profiles", ())}

    def _profile_facts(self, name: str) -> ProfileFacts:
        group = self._group["profiles"][name]
        axes = {axis: group[axis] for axis in map(text_of, group.attrs["axes"]) if axis != "frame_number"}
        return ProfileFacts(
            {array: text_of(group[array].attrs.get("units", "")) for array in map(text_of, group.attrs["arrays"])},
            {axis: values[()] for axis, values in axes.items()},
            {axis: text_of(values.attrs.get("units", "")) for axis, values in axes.items()},
        )

    def check_profile(self, name: str) -> None:
        """Raise KeyError for an unknown profile."""
        known = self._group.get("profiles", {})
        if name not in known:
            raise KeyError(f"{self._file} has no profile {name}; there are {', '.join(known) or 'none'}")

    def profile(self, name: str, index: int | slice) -> dict[str, NDArray[np.float64]]:
        """Return the arrays of a profile for stored images `index`."""
        group = self._group["profiles"][name]
        return {array: group[array][index] for array in map(text_of, group.attrs["arrays"])}

    def accumulation_facts(self) -> dict[str, AccumulationFacts]:
        """Return the facts of accumulations, by kernel."""
        if "accumulated" not in self._group:
            return {}
        group = self._accumulated()
        return {name: accumulation_facts(group[name]) for name in group}

    def accumulated(self, name: str, quantity: str, window: int) -> NDArray[Any]:
        """Return the quantity of kernel `name` in the stored window `window`. Raise KeyError for an unknown kernel or quantity, IndexError for an
        unknown window."""
        facts = self.accumulation_facts()
        if name not in facts:
            raise KeyError(f"{self._file} has no accumulation {name}; there are {', '.join(facts) or 'none'}")
        if quantity not in facts[name].quantities:
            raise KeyError(f"{name} has no {quantity}; there are {', '.join(facts[name].quantities)}")
        windows = len(facts[name].windows)
        if not -windows <= window < windows:
            raise IndexError(f"{name} has {windows} windows; there is no window {window}")
        values: NDArray[Any] = self._accumulated()[name][quantity][window % windows]
        return values

    def _accumulated(self) -> Group:
        found: Group = self._group["accumulated"]
        return found
