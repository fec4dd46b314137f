# SPDX-License-Identifier: Apache-2.0
"""Lists the files of a tree for the checks."""

import subprocess
from collections.abc import Iterator
from pathlib import Path


def git_files(root: Path) -> Iterator[str]:
    """Yield the names, relative to `root`, of existing files that git tracks or would add."""
    listing = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],  # noqa: S607
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    yield from (name for name in listing.stdout.split("\0") if name and (root / name).is_file())
