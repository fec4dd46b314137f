# SPDX-License-Identifier: Apache-2.0
"""The files that runs write, told from others by their names."""

import re
from pathlib import Path

MASTER = "_master.h5"
JOURNAL = "_master.journal"
"""What follows the prefix of a run in the name of its master file, and of the journal beside it."""
SERIES = r"s[0-9]{4,}_"
"""Of a file of a series, what follows the prefix."""
_OURS = re.compile(rf"({SERIES})?(master\.(h5|journal)|data_[0-9]+\.(h5|raw)|(tables|accumulated|facts)\.h5)")


def older_files(prefix: Path) -> list[Path]:
    """Return <prefix>_master.h5, <prefix>_master.journal and <prefix>_data_000001.h5 …, also of series (<prefix>_s0001 …), by name."""
    found = (path for path in prefix.parent.iterdir() if path.name.startswith(f"{prefix.name}_"))
    rest = ((path, path.name.removeprefix(f"{prefix.name}_")) for path in found)
    return sorted(path for path, what in rest if _OURS.fullmatch(what))
