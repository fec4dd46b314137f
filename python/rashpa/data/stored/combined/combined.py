# SPDX-License-Identifier: Apache-2.0
"""Writes and reads a file for a run with images in several files, of several receivers or buffers. It contains no images, but links to all of them.
It stores the identity of their run, which a reader compares with the masters."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py

from rashpa.data.base.bad_file import BadFileError, blaming, is_own
from rashpa.data.files.hdf5.files import folders_of
from rashpa.data.files.hdf5.tree import Hdf5File
from rashpa.data.files.regular_file import json_of, real_path, reason
from rashpa.data.parts.made_hdf5 import made_hdf5
from rashpa.data.parts.run_parts import LEADS_TO, StoredRunError, prefix_of
from rashpa.data.stored.combined.combined_entry import write_entry, write_entry_of_one
from rashpa.data.stored.combined.combined_member import Identity, Member, identity_of, member_of

_PARTS = "rashpa_parts"
"""Attribute of the root, JSON: by entry a list of masters with their identities, and of those that are left out why."""
_ENTRY = "entry"


def combine(
    parts: Mapping[str, Sequence[Path]],
    out: Path,
    *,
    go_on: bool = False,
    run: str = "",
    follow: Iterable[Path] = (),
) -> Path:
    """Write `out` with one entry for each name. An entry has one master, or several that share its images, as members of a group do: all their frames
    in order, each once. `go_on`: leave out masters that are missing or incomplete, and list them in the file; `run`: the required id of the masters'
    run. Raise StoredRunError when masters do not belong together, or when another file has the name `out`."""
    folders = tuple(follow)
    if os.path.lexists(out) and not is_combined(out):
        raise StoredRunError(f"{out}: exists, and is no combined master; move it, or choose another name")
    left_out: dict[Path, str] = {}
    members = {name: _members(many, go_on, run, left_out, folders) for name, many in parts.items()}
    read = {name: many for name, many in members.items() if many}
    if not read:
        raise StoredRunError(f"{out}: none of its masters can be read: {'; '.join(left_out.values())}")
    check_of_one_run([one for many in read.values() for one in many])
    said = {
        name: [{"file": _relative(one.master, out), **one.identity.as_json()} for one in members[name]]
        + [{"file": _relative(path, out), "left_out": left_out[path]} for path in many if path in left_out]
        for name, many in parts.items()
    }
    try:
        with made_hdf5(out) as file:
            file.attrs[LEADS_TO] = [_relative(one.master, out) for many in read.values() for one in many]
            file.attrs[_PARTS] = json.dumps(said)
            file.attrs["NX_class"] = "NXroot"
            file.attrs["default"] = next(iter(read))
            for name, many in read.items():
                if len(many) == 1:
                    write_entry_of_one(file, name, many[0].master, _relative(many[0].master, out))
                else:
                    write_entry(file, name, many, lambda master: _relative(master, out))
            if _ENTRY not in read:
                _lead_to(file, next(iter(read)), next(iter(read.values()))[0].master)
    except OSError as error:
        raise StoredRunError(f"{out}: cannot be written ({error}); choose another folder") from error
    return out


def _members(
    masters: Sequence[Path], go_on: bool, run: str, left_out: dict[Path, str], follow: tuple[Path, ...]
) -> list[Member]:
    """Return the readable members; add the reason for each other master to `left_out`."""
    found: list[Member] = []
    for master in masters:
        try:
            member = member_of(master, follow)
            if run and member.identity.run != run:
                raise StoredRunError(f"{master}: it is of another run, {member.run_name}; move it away")
            found.append(member)
        except StoredRunError as error:
            if not go_on:
                raise
            left_out[master] = str(error)
    return found


def check_of_one_run(members: Sequence[Member]) -> None:
    """Raise StoredRunError when two masters belong to different runs, or are the same file."""
    for one, other in itertools.combinations(members, 2):
        if one.identity.run != other.identity.run:
            raise StoredRunError(
                f"{other.master}: it is of another run ({other.run_name}) than {one.master} ({one.run_name}); combine the files of one run"
            )
        same = one.identity == other.identity and one.frames.tolist() == other.frames.tolist() and one.images > 0
        if same or real_path(one.master) == real_path(other.master):
            raise StoredRunError(f"{other.master}: it is the same as {one.master}; name each file once")


def parts_of(masters: Sequence[Path], follow: Iterable[Path] = ()) -> dict[str, list[Path]]:
    """Return the entries for masters of one run; masters with the same kind of images share an entry. Raise StoredRunError."""
    folders = tuple(follow)
    members = [member_of(master, folders) for master in masters]
    check_of_one_run(members)
    kinds: dict[tuple[object, ...], list[Path]] = {}
    for member in members:
        # lists of pixels are not joined
        key = member.kind if member.form == "dense" else (member.master,)
        kinds.setdefault(key, []).append(member.master)
    if len(kinds) == 1:
        return {_ENTRY: list(masters)}
    names: dict[str, list[Path]] = {}
    for many in kinds.values():
        name = prefix_of(many[0]).name
        names[name if name not in names else f"{name}_{len(names) + 1}"] = many
    return names


def is_combined(path: Path) -> bool:
    """Return True when the file is a combined master."""
    return bool(names_in(path))


def names_in(path: Path) -> list[str]:
    """Return the names of all masters of a combined master, including missing and left-out ones; empty for another file."""
    try:
        with Hdf5File(path) as file:
            return [str(one["file"]) for many in _said_in(path, file).values() for one in many]
    except (OSError, BadFileError):
        return []


def masters_of(path: Path, follow: Iterable[Path] = ()) -> list[Path]:
    """Return the masters to which a combined master links; empty for another file. `follow`: folders in which they may be, besides its own. Raise
    StoredRunError, also when a master now belongs to another run than when the file was made."""
    return [master for many in parts_in(path, follow).values() for master in many]


def parts_in(path: Path, follow: Iterable[Path] = ()) -> dict[str, list[Path]]:
    """Return the masters of each entry of a combined master, as `masters_of` does."""
    folders = folders_of(path, follow)
    try:
        with Hdf5File(path, kind=StoredRunError, folders=folders) as file:
            return {
                name: [_checked(path, file, one, folders) for one in many if "left_out" not in one]
                for name, many in _said_in(path, file).items()
            }
    except OSError as error:
        if is_own(error):
            raise
        raise StoredRunError(f"{path}: {reason(error)}") from None


def left_out_in(path: Path) -> dict[str, str]:
    """Return the masters that a combined master has left out, with the reasons. Raise StoredRunError."""
    with Hdf5File(path, kind=StoredRunError) as file:
        said = _said_in(path, file)
    return {str(one["file"]): str(one["left_out"]) for many in said.values() for one in many if "left_out" in one}


def remake(path: Path, follow: Iterable[Path] = ()) -> Path | None:
    """Make a combined master again, from all readable masters that it was made from or had left out. Return None when none is new. Raise
    StoredRunError."""
    folders = folders_of(path, follow)
    with Hdf5File(path, kind=StoredRunError, folders=folders) as file:
        said = _said_in(path, file)
        if not any("left_out" in one for many in said.values() for one in many):
            return None
        parts = {name: [file.source(str(one["file"])) for one in many] for name, many in said.items()}
    return combine(parts, path, go_on=True, follow=follow)


def _said_in(path: Path, file: Hdf5File) -> dict[str, list[dict[str, Any]]]:
    """Return a combined master's description of its entries; for older files, only the names of masters."""
    with blaming(f"{path}: what it says of its masters cannot be read", StoredRunError, "combine them again"):
        if _PARTS in file.attrs:
            said = json_of(str(file.attrs[_PARTS]))
            return {str(name): [dict(one) for one in many if str(one["file"])] for name, many in said.items()}
        return {_ENTRY: [{"file": str(name)} for name in file.attrs.get(LEADS_TO, ())]}


def _checked(path: Path, file: Hdf5File, said: dict[str, Any], folders: tuple[Path, ...]) -> Path:
    """Return the path of one master. Raise StoredRunError when it now belongs to another run."""
    master = file.source(str(said["file"]))
    if "run" not in said or not master.exists():
        return master
    with Hdf5File(master, kind=StoredRunError, folders=folders) as other:
        found = identity_of(other)
    if found != Identity(str(said["run"]), str(said.get("file_id", ""))):
        raise StoredRunError(
            f"{path}: it was made for another run than the one of which {master} is now; combine the files again: rashpa combine"
        )
    return master


def _lead_to(file: h5py.File, name: str, first: Path) -> None:
    """Make /entry, for programs that know no other name, with links to the members of the first entry. It has no class NXentry; otherwise programs
    that search for entries would find the first one twice."""
    entry = file.create_group(_ENTRY)
    entry.attrs["default"] = "data"
    with Hdf5File(first, kind=StoredRunError) as master:
        names = list(master["entry"])
    for member in names:
        entry[member] = h5py.SoftLink(f"/{name}/{member}")


def _relative(master: Path, out: Path) -> str:
    """Return the path of a master relative to the folder of `out`, so that the folders can be moved together."""
    return os.path.relpath(master.absolute(), out.absolute().parent)
