# SPDX-License-Identifier: Apache-2.0
"""Writes the origin of pixels into files of `rashpa process`."""

import datetime as dt
from pathlib import Path

import h5py

from rashpa.control.nodes.version import software_version
from rashpa.control.plan.source_plan import Merged
from rashpa.data.parts.made_hdf5 import made_hdf5
from rashpa.data.stored.source_facts import SourceFacts


def write_origins(master: Path, facts: SourceFacts, merged: Merged, source: Path) -> None:
    """Add to a complete master that it was processed, from which file, when and by which version, and the origin of its values. Raise OSError."""
    with made_hdf5(master, master) as file:
        entry = file["entry"]
        if facts.texts.get(
            "start_time"
        ):  # then that of the file is the source's, too: the time of this processing ends nothing
            entry.pop("end_time", None)
            if end := facts.texts.get("end_time"):
                entry["end_time"] = end
        process = entry.create_group("process")
        process.attrs["NX_class"] = "NXprocess"
        process["program"] = "rashpa process"
        process["version"] = software_version()
        process["date"] = dt.datetime.now(dt.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        process["sequence_index"] = 1
        note = process.create_group("source")
        note.attrs["NX_class"] = "NXnote"
        note["file_name"] = str(source)
        for origin in ("given", "read", "default"):
            names = sorted(key for key, said in merged.origins.items() if said == origin)
            note.attrs[f"{origin}_values"] = names or h5py.Empty("S1")
