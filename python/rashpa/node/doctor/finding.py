# SPDX-License-Identifier: Apache-2.0
"""The result of one look at a machine, and the files in which a kernel tells about itself."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

State = Literal["good", "poor", "unknown"]


@dataclass(frozen=True)
class Setting:
    """Names a file of the kernel and the text that makes a finding good. It lasts until the next start of the machine."""

    path: Path
    value: str


@dataclass(frozen=True)
class Finding:
    """Tells one fact of a machine. `found` and `wanted` are values with units; `why` names the price of a poor value; `command` mends it by hand, and `settings` do
    the same without a shell. `command` and `settings` are empty where nothing is to be mended, or a person must do it."""

    subject: str
    state: State
    found: str
    wanted: str = ""
    why: str = ""
    command: str = ""
    settings: tuple[Setting, ...] = ()


@dataclass(frozen=True)
class Host:
    """Reads the files of the kernel below `processes` (/proc) and `system` (/sys). A file that is absent, or that cannot be read, gives None."""

    processes: Path = Path("/proc")
    system: Path = Path("/sys")

    def text(self, path: Path) -> str | None:
        try:
            return path.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None

    def number(self, path: Path) -> int | None:
        """Return the number with which the file begins."""
        words = (self.text(path) or "").split()
        try:
            return int(words[0]) if words else None
        except ValueError:
            return None

    def sysctl(self, name: str) -> Path:
        """Return the file of a setting with the name that sysctl(8) has for it."""
        return self.processes / "sys" / name.replace(".", "/")

    def interface(self, name: str) -> Path:
        return self.system / "class" / "net" / name


def unknown(subject: str, reason: str) -> Finding:
    """Return the finding for a fact that this machine does not report."""
    return Finding(subject, "unknown", reason)


def count(value: int, minimum: int, host: Host, setting: str, subject: str, why: str, unit: str = "") -> Finding:
    """Compare the number of a sysctl with the least good one."""
    words = f" {unit}" if unit else ""
    if value >= minimum:
        return Finding(subject, "good", f"{value:,}{words}", f"{minimum:,}{words} or more")
    command = f"sysctl -w {setting}={minimum}"
    settings = (Setting(host.sysctl(setting), str(minimum)),)
    return Finding(subject, "poor", f"{value:,}{words}", f"{minimum:,}{words} or more", why, command, settings)
