# SPDX-License-Identifier: Apache-2.0
"""Lists the files of runs by the patterns of their names."""

import re
from pathlib import Path

MASTER = "_master.h5"
JOURNAL = "_master.journal"
"""What follows the prefix of a run in the name of its master file, and of the journal beside it."""
SERIES = r"s[0-9]{4,}_"
"""The pattern behind the prefix in the name of a series' file."""
_OURS = re.compile(rf"({SERIES})?(master\.(h5|journal)|data_[0-9]+\.(h5|raw)|(tables|accumulated|facts)\.h5)")
_BESIDE = ("peaks.cxi", "frames.h5")


def older_files(prefix: Path) -> list[Path]:
    """Return <prefix>_master.h5, <prefix>_master.journal and <prefix>_data_000001.h5 …, and those of series (<prefix>_s0001 …), sorted by name."""
    found = (path for path in prefix.parent.iterdir() if path.name.startswith(f"{prefix.name}_"))
    rest = ((path, path.name.removeprefix(f"{prefix.name}_")) for path in found)
    return sorted(path for path, what in rest if _OURS.fullmatch(what))


def leaders_of(prefix: Path) -> list[Path]:
    """Return the files in this folder that link to images of this prefix: peaks and frames beside its master, and combined masters with a name that
    its own begins with. Their links break when its files are replaced."""
    found = [path for what in _BESIDE if (path := prefix.with_name(f"{prefix.name}_{what}")).exists()]
    parts = prefix.name.split("_")
    for count in range(len(parts) - 1, 0, -1):
        path = prefix.with_name(f"{'_'.join(parts[:count])}_master.h5")
        if path.exists() and _leads_to(path, prefix):
            found.append(path)
    return found


def _leads_to(path: Path, prefix: Path) -> bool:
    from rashpa.data.stored.combined.combined import (
        names_in,  # with HDF5, which runs do not wait for where there is no such file
    )

    return any(Path(name).name.startswith(f"{prefix.name}_") for name in names_in(path))
